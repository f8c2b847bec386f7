"""Plans what brings lost records back, and does it. What is newer is never overwritten."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cspace import assets
from cspace.context import history
from cspace.context.history import Action, Change, Version
from cspace.context.merge import union_updates
from cspace.context.naming import EntryName, find_name, human_name
from cspace.context.records import HUMAN, Kind
from cspace.context.store import ContextStore
from cspace.docstore import frontmatter
from cspace.errors import CspaceError, NotFound

_CREATED = re.compile(rb"^created:[ \t]*(\S.*?)[ \t]*\r?$", re.MULTILINE)


class Step(StrEnum):
    """What is done to a file."""

    CREATE = "create"
    REPLACE = "replace"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Restoration:
    """One file that is to be written.

    Attributes:
        time: when the content became the newest.
        reason: for a person.
        expected: what stands there now; None for nothing.
    """

    entry: str
    step: Step
    time: datetime
    reason: str
    content: bytes = field(repr=False)
    expected: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a plan takes its knowledge from.

    Attributes:
        recorded: what happened to each entry, the oldest first.
        read: returns the content of a revision.
        present: returns what stands in an entry's place, None for nothing.
        revision_of: git's id of a content.
    """

    recorded: Mapping[str, tuple[Change, ...]]
    read: Callable[[str], bytes]
    present: Callable[[str], bytes | None]
    revision_of: Callable[[bytes], str]


def find_entry(recorded: Iterable[str], given: str) -> str:
    """Return the entry that a person means, also one that is gone; found as records always are.

    Raises:
        NotFound: nothing of that name was ever recorded.
        UsageError: several are called so.
    """
    known = frozenset(recorded)
    human = human_name(given)
    if human in known:
        return str(human)
    names = (
        EntryName(kind, entry.partition("/")[2])
        for entry in sorted(known)
        if (kind := history.kind_of(entry)) is not None
    )
    try:
        found = find_name(given, names, listed="cspace context history")
    except NotFound as error:
        raise NotFound(f"{given!r} was never recorded", hint=error.hint) from None
    return history.entry_of(found.kind, found.slug)


def plan_all(sources: Sources) -> tuple[Restoration, ...]:
    """Plan to bring back every record that was not removed on purpose, in its newest version."""
    planned = itertools.chain.from_iterable(
        _plan_newest(sources, entry, _living(sources, entry), named=False)
        for entry in sorted(sources.recorded)
    )
    return tuple(planned)


def plan_one(sources: Sources, entry: str) -> tuple[Restoration, ...]:
    """Plan to bring one entry back in its newest version, also when it was removed on purpose."""
    changes = sources.recorded[entry]
    meant = [one for one in changes if one.action in (Action.WRITTEN, Action.REMOVED)]
    versions = _living(sources, entry)
    if not versions or (meant and meant[-1].action is Action.REMOVED):
        versions = history.versions(one for one in changes if one.action is not Action.REMOVED)
    return tuple(_plan_newest(sources, entry, versions, named=True))


def _living(sources: Sources, entry: str) -> tuple[Version, ...]:
    """Return the versions of the records of one name that nobody removed on purpose."""

    def same(one: str, other: str) -> bool:
        return one == other or _is_same(sources.read(one), sources.read(other))

    return history.versions(sources.recorded[entry], same)


def plan_all_at(sources: Sources, time: datetime) -> tuple[Restoration, ...]:
    """Plan to bring back what is missing now, as it was at a time."""
    planned = []
    for entry, changes in sorted(sources.recorded.items()):
        revision = history.revision_at(changes, time)
        if revision and sources.present(entry) is None:
            content = sources.read(revision)
            living = (sources.read(one.revision) for one in _living(sources, entry))
            if any(_is_same(content, one) for one in living):
                planned.append(_create(sources, entry, Version(time, revision)))
    return tuple(planned)


def plan_one_at(sources: Sources, entry: str, time: datetime) -> tuple[Restoration, ...]:
    """Plan to put one entry back to what it was at a time.

    Raises:
        NotFound: it was not there.
    """
    changes = sources.recorded[entry]
    revision = history.revision_at(changes, time)
    if revision is None:
        raise NotFound(
            f"{entry} was not there at {time:%Y-%m-%d %H:%M:%S} UTC",
            hint=f"cspace context history {entry}",
        )
    content, now = sources.read(revision), sources.present(entry)
    if now is None:
        return (_create(sources, entry, Version(time, revision)),)
    if now == content:
        return ()
    return (Restoration(entry, Step.REPLACE, time, "as it was then", content, now),)


def _plan_newest(
    sources: Sources, entry: str, versions: tuple[Version, ...], *, named: bool
) -> Iterator[Restoration]:
    if not versions:
        return
    now = sources.present(entry)
    if entry in HUMAN:
        yield from _plan_human(sources, entry, versions, now, named=named)
        return
    if now is not None and len(versions) == 1:
        # What stands there is recorded: it is this version.
        return
    contents = {version: sources.read(version.revision) for version in versions}
    # An emptied file says nothing, so it is as good as missing.
    written = [one for one in versions if contents[one].strip()]
    if not written:
        return
    mine = now if now and now.strip() else contents[written[-1]]
    same = [one for one in written if _is_same(contents[one], mine)]
    others = [one for one in written if one not in same]
    if now is not None or named or not _is_elsewhere(sources, entry, same, contents):
        yield from _plan_record(entry, same, contents, now)
    if others:
        yield from _plan_displaced(sources, entry, others, contents)


def _is_same(content: bytes, other: bytes) -> bool:
    """Tell whether two contents are versions of one record, and not two records of one name."""
    ours, theirs = _created(content), _created(other)
    return not ours or not theirs or ours == theirs


def _created(content: bytes) -> bytes:
    # By the bytes: a header that can not be parsed any more still says when it was made.
    found = _CREATED.search(content[: frontmatter.MAX_BYTES].partition(b"\n---")[0])
    return found[1] if found else b""


def _plan_human(
    sources: Sources,
    entry: str,
    versions: tuple[Version, ...],
    now: bytes | None,
    *,
    named: bool,
) -> Iterator[Restoration]:
    template = assets.template(f"{entry}.md").encode()
    # Whatever command ran first seeded a missing one: it says nothing, so it is as good as missing.
    written = [one for one in versions if one.revision != sources.revision_of(template)]
    if not written:
        return
    if now is None:
        yield _create(sources, entry, written[-1])
    elif now == template or named:
        content = sources.read(written[-1].revision)
        if content != now:
            step = Step.CREATE if now == template else Step.REPLACE
            yield Restoration(entry, step, written[-1].time, "newest version", content, now)


def _plan_record(
    entry: str,
    versions: list[Version],
    contents: Mapping[Version, bytes],
    now: bytes | None,
) -> Iterator[Restoration]:
    if not versions:
        return
    newest = versions[-1]
    emptied = now is not None and not now.strip()
    went_back = now is not None and now != contents[newest] and now in contents.values()
    content = contents[newest] if now is None or emptied or went_back else now
    if history.kind_of(entry) is Kind.FINDING:
        content = _united(content, [contents[one] for one in versions])
    if now is None:
        yield Restoration(entry, Step.CREATE, newest.time, "it is missing", content)
    elif content != now:
        step, reason = Step.UPDATE, "it lacks updates"
        if emptied or went_back:
            step, reason = Step.REPLACE, "it was emptied" if emptied else "it went back"
        yield Restoration(entry, step, newest.time, reason, content, now)


def _united(content: bytes, versions: list[bytes]) -> bytes:
    """Return a finding with the updates that it lacks; as it is, where a person has to join them.

    The history still has every version then.
    """
    try:
        return union_updates(content, *versions, by_heading=True)
    except CspaceError:
        return content


def _plan_displaced(
    sources: Sources, entry: str, versions: list[Version], contents: Mapping[Version, bytes]
) -> Iterator[Restoration]:
    """Plan other names for records whose name another one took after they were lost."""
    taken: set[str] = set()
    while versions:
        newest = versions[-1]
        same = [one for one in versions if _is_same(contents[one], contents[newest])]
        versions = [one for one in versions if one not in same]
        if not _is_elsewhere(sources, entry, same, contents):
            name = _free_name(sources, entry, taken)
            taken.add(name)
            for one in _plan_record(entry, same, contents, None):
                reason = f"another record is called {entry} now"
                yield Restoration(name, Step.CREATE, one.time, reason, one.content)


def _is_elsewhere(
    sources: Sources, entry: str, versions: list[Version], contents: Mapping[Version, bytes]
) -> bool:
    """Tell whether all that a record's versions say was once restored under another name."""
    wanted = [contents[one] for one in versions]
    restored = {
        change.revision
        for name, changes in sources.recorded.items()
        if name.startswith(f"{entry}-")
        for change in changes
        if change.action is Action.WRITTEN and change.instance is None
    }
    for content in map(sources.read, restored):
        if content == wanted[-1] or (
            history.kind_of(entry) is Kind.FINDING
            and _created(content)
            and _is_same(content, wanted[-1])
            and _united(content, wanted) == content
        ):
            return True
    return False


def _free_name(sources: Sources, entry: str, taken: set[str]) -> str:
    names = (f"{entry}-{number}" for number in itertools.count(2))
    return next(
        name
        for name in names
        if name not in taken and name not in sources.recorded and sources.present(name) is None
    )


def _create(sources: Sources, entry: str, version: Version) -> Restoration:
    content = sources.read(version.revision)
    return Restoration(entry, Step.CREATE, version.time, "it is missing", content)


def apply_restoration(store: ContextStore, one: Restoration) -> None:
    """Write one file, if what stands there is still what the plan saw.

    Raises:
        Conflict: it was changed meanwhile; it stays as it is.
        CspaceError: something else stands in its place.
    """
    kind = history.kind_of(one.entry)
    if kind is not None:
        store.put_entry(kind, one.entry.partition("/")[2], one.content, one.expected)
        return
    store.human_folder().put(one.entry, one.content, one.expected)
