"""Three versions of all memories become one: the last common one, ours and theirs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cspace.clock import parse_time
from cspace.docstore.frontmatter import parse_front_matter
from cspace.errors import CommandFailed, CspaceError
from cspace.git_commits import merge_lines
from cspace.memory.changes import stamp
from cspace.memory.entries import UPDATED, header_text
from cspace.memory.index import BrokenIndex, find_region
from cspace.memory.located import Located, parse_path
from cspace.memory.outline import PLAIN, outline_of

Files = Mapping[str, str]
Read = Callable[[str | None], bytes | None]


@dataclass(frozen=True, slots=True)
class Update:
    """What becomes of one memory, or of the text of one index.

    Attributes:
        before: what is here, None for nothing; of an index its outline.
        after: None where it goes.
    """

    located: Located
    before: bytes | None
    after: bytes | None

    @property
    def says_nothing(self) -> bool:
        """Whether it is an index that comes to be, with no word of a person's."""
        return self.located.is_index and self.before is None and self.after == PLAIN


@dataclass(frozen=True, slots=True)
class Chosen:
    """Whose version a person takes where both changed one, by names as commands show them."""

    ours: frozenset[str] = frozenset()
    theirs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The result.

    Attributes:
        conflicts: what both sides changed and nobody can merge: ours, and theirs as the after.
    """

    updates: tuple[Update, ...]
    conflicts: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """One memory three times; None where it is not there."""

    base: bytes | None
    ours: bytes | None
    theirs: bytes | None


def reconcile(base: Files, ours: Files, theirs: Files, read: Read, chosen: Chosen) -> Reconciled:
    """Merge; what one side alone changed is taken, and what both changed by its lines.

    Args:
        base, ours, theirs: blobs by path.
        read: gives a blob's bytes.

    Raises:
        BrokenIndex: an index's markers are not one pair.
    """
    updates, conflicts = [], []
    for path in sorted(theirs.keys() | ours.keys()):
        if theirs.get(path) == ours.get(path):
            continue
        located = parse_path(path)
        is_new = located is not None and located.is_index and path not in ours
        if located is None or (not is_new and theirs.get(path) == base.get(path)):
            continue
        one = Versions(*(read(side.get(path)) for side in (base, ours, theirs)))
        update, clean = _merge(located, one, chosen)
        if not clean:
            conflicts.append(update)
        elif update.before != update.after:
            updates.append(update)
    return Reconciled(tuple(updates), tuple(conflicts))


def _merge(located: Located, one: Versions, chosen: Chosen) -> tuple[Update, bool]:
    if located.is_index:
        one = _outlines(one)
    merge = _merge_texts if located.is_index else _merge_entry
    if located.is_index and one.ours is None:
        after, clean = one.theirs, True
    elif one.base in {one.ours, one.theirs}:
        after, clean = (one.theirs if one.base == one.ours else one.ours), True
    elif _names(located) & chosen.ours:
        after, clean = one.ours, True
    elif _names(located) & chosen.theirs:
        after, clean = one.theirs, True
    else:
        after, clean = merge(one)
    clean = clean and (not located.is_index or _has_region(after))
    return Update(located, one.ours, after if clean else one.theirs), clean


def _has_region(document: bytes | None) -> bool:
    """Tell whether an index is one; when both sides move the region, merging makes two."""
    try:
        return document is not None and find_region(document) is not None
    except BrokenIndex:
        return False


def _names(located: Located) -> set[str]:
    return {located.slug, located.name, located.path}


def _outlines(one: Versions) -> Versions:
    """Return the texts around our lines. Nobody removes an index: an absent one says nothing."""
    base, ours, theirs = map(outline_of, (one.base, one.ours, one.theirs))
    return Versions(base or PLAIN, ours, theirs or ours)


def _merge_entry(one: Versions) -> tuple[bytes | None, bool]:
    if one.ours is None or one.theirs is None:
        return one.theirs, False
    # Both changed the line that says when they did, which is no contradiction.
    times = [parse_time(_updated(text)) for text in (one.ours, one.theirs)]
    known = [time for time in times if time is not None]
    if len(known) == 2:
        try:
            base, ours, theirs = (
                None if text is None else stamp(text, max(known))
                for text in (one.base, one.ours, one.theirs)
            )
        except CspaceError:
            return one.theirs, False
        one = Versions(base, ours, theirs)
    return _merge_texts(one)


def _updated(content: bytes) -> str:
    return header_text(parse_front_matter(content), UPDATED)


def _merge_texts(one: Versions) -> tuple[bytes | None, bool]:
    if one.ours == one.theirs:
        return one.ours, True
    try:
        return merge_lines(one.base or b"", one.ours or b"", one.theirs or b"")
    except CommandFailed:
        return one.theirs, False  # no texts


def iter_problems(conflicts: tuple[Update, ...]) -> Iterator[str]:
    """Name what both sides changed."""
    for one in conflicts:
        if one.before is None:
            yield f"{one.located.name} (removed here, changed there)"
        elif one.after is None:
            yield f"{one.located.name} (changed here, removed there)"
        else:
            yield one.located.name
