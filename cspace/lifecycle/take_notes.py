"""Takes the commit notes that came out of a workspace into the host's.

Memories are united as a set, one by one; what looks like a secret stays where it is. An agent wrote
all of it, so the host's notes never have its commits among their parents: those would bring along
what was held back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cspace import git, git_objects
from cspace.clock import Clock, utc_now
from cspace.errors import Conflict, CspaceError, expected
from cspace.git_foreign_notes import iter_notes
from cspace.git_import import blob_reader, find_place
from cspace.git_notes import list_notes, write_notes
from cspace.instance.notes_merge import BUSY, merge_notes
from cspace.leaks.scan import scan
from cspace.notes.forgetting import without_forgotten
from cspace.notes.memory import settle
from cspace.notes.merge import merge_notes as unite
from cspace.notes.namespaces import PREFIX, Namespace
from cspace.notes.note import Note, parse_note
from cspace.notes.record import dump_record
from cspace.notes.secrets import find_leaks
from cspace.notes.writing import exclusive, until_done
from cspace.owner import account_name, find_owner

# Of one instance; more than anybody reads.
MOST_BYTES = 256 << 20
MOST_SAID = 10
ABBREVIATED = 12


def take_notes(repository: Path, prefix: str, now: Clock = utc_now) -> tuple[str, ...]:
    """Merge each notes ref that a workspace's repository had into the host's of that name.

    Repeated, it changes nothing more, and says again what it holds back. What can not be merged
    stays where it is, and a teardown goes on.

    Args:
        prefix: what the refs that came out of the workspace are below, with the final slash.

    Returns:
        What a person should know, one sentence each.
    """
    ours = {prefix + one.ref: one for one in Namespace}
    there = git.list_refs(repository, prefix)
    odd = tuple(name for name in there if name not in ours and _is_among_ours(name, prefix))
    but = (*(one.ref for one in Namespace), *(name.removeprefix(prefix) for name in odd))
    notices = (*merge_notes(repository, prefix, but), *(_is_none(name, prefix) for name in odd))
    found = {name: one for name, one in there.items() if name in ours}
    if not found:
        return notices
    try:
        with exclusive(find_place(repository), account_name(), find_owner()):
            each = [_try(repository, ours[name], name, one, now()) for name, one in found.items()]
    except (CspaceError, OSError) as error:
        return (*notices, *(_not_merged(ours[name], name, error) for name in found))
    return (*notices, *(said for many in each for said in many))


def _is_among_ours(name: str, prefix: str) -> bool:
    """Whether a ref is where ours are: one below or above ours would keep ours from being made."""
    ref = f"{name.removeprefix(prefix)}/"
    return ref.startswith(PREFIX) or PREFIX.startswith(ref)


def _is_none(name: str, prefix: str) -> str:
    return f"{name.removeprefix(prefix)} was not merged, and is at {name}: it is none of ours"


def _try(
    repository: Path, namespace: Namespace, name: str, theirs: str, at: datetime
) -> tuple[str, ...]:
    """Unite one namespace, or say why not."""
    try:
        if namespace.ref in git.notes_in_merge(repository):
            raise Conflict(BUSY)
        return tuple(_take(repository, namespace, name, theirs, at))
    except (CspaceError, OSError) as error:
        return (_not_merged(namespace, name, error),)


def _not_merged(namespace: Namespace, name: str, error: CspaceError | OSError) -> str:
    reason = str(expected(error)).strip().splitlines()[-1].strip()
    return f"{namespace.ref} was not merged, and is at {name}: {reason}"


@dataclass(slots=True)
class _Taken:
    """What is taken of one namespace, and what is to be said of it.

    Attributes:
        changes: the new bytes of a note by its commit.
        held: memories that look like they hold a secret, with where.
        forgotten: memories of the host that somebody removed there.
    """

    changes: dict[str, bytes] = field(default_factory=dict)
    held: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)


def _take(
    repository: Path, namespace: Namespace, name: str, theirs: str, at: datetime
) -> Iterator[str]:
    """Unite one namespace; yield what is to be said.

    Raises:
        CspaceError: the commit does not hold notes, or too many; or somebody keeps moving the ref.
    """
    sure = dict(iter_notes(repository, theirs))
    taken = _Taken()

    def change() -> None:
        nonlocal taken
        mine = git.list_refs(repository, namespace.ref).get(namespace.ref)
        taken = _unite(repository, namespace, sure, list_notes(repository, mine) if mine else {})
        write_notes(repository, namespace.ref, mine, taken.changes, at)

    until_done(change)
    yield from _say(taken, name)


def _unite(
    repository: Path, namespace: Namespace, theirs: Mapping[str, str], mine: Mapping[str, str]
) -> _Taken:
    differing = {commit: one for commit, one in theirs.items() if mine.get(commit) != one}
    sizes = git_objects.object_sizes(repository, set(differing.values()))
    # One note may stand on many commits, and is read for each.
    size = sum(sizes.get(one, 0) for one in differing.values())
    if size > MOST_BYTES:
        raise CspaceError(f"{size} bytes of it are new, more than {MOST_BYTES}")
    taken = _Taken()
    with blob_reader(repository) as blobs:
        for commit, blob in differing.items():
            before = blobs.read(mine[commit]) if commit in mine else None
            _unite_one(taken, namespace, commit, before or b"", blobs.read(blob) or b"")
    return taken


def _unite_one(
    taken: _Taken, namespace: Namespace, commit: str, mine: bytes, theirs: bytes
) -> None:
    here, there = parse_note(namespace, mine), parse_note(namespace, theirs)
    wanted = list(_clean(taken, namespace, commit, here, there))
    merged = unite(namespace, mine, *wanted) if wanted else mine
    if merged != mine:
        taken.changes[commit] = merged
        left = {one.id for one in settle(namespace, commit, parse_note(namespace, merged))}
        before = settle(namespace, commit, here)
        taken.forgotten += [one.reference for one in before if one.id not in left]


def _clean(
    taken: _Taken, namespace: Namespace, commit: str, here: Note, there: Note
) -> Iterator[bytes]:
    """Yield the bytes of each part of a note that the host has not, and that holds no secret.

    Without what is forgotten on either side: nobody has to look at it any more.
    """
    known = {record.id for record in here.records}
    place = f"{namespace}:{commit[:ABBREVIATED]}"
    for record in without_forgotten((*here.records, *there.records)):
        if record.id not in known:
            if said := next(find_leaks(record), None):
                field_, leak = said
                taken.held.append(f"{place}/{record.id}: {f'{field_}: ' if field_ else ''}{leak}")
            else:
                yield dump_record(record)
    for stray in there.stray:
        if stray not in here.stray:
            if leaks := scan(stray.decode("utf-8", "surrogateescape")):
                taken.held.append(f"{place}: {leaks[0]}")
            else:
                yield stray


def _say(taken: _Taken, name: str) -> Iterator[str]:
    for one in taken.held[:MOST_SAID]:
        yield f"not merged, for it looks like a secret, and left at {name}: {one}"
    if len(taken.held) > MOST_SAID:
        yield f"{len(taken.held) - MOST_SAID} more like that were left at {name}"
    if taken.forgotten:
        more = len(taken.forgotten) - MOST_SAID
        said = ", ".join(taken.forgotten[:MOST_SAID]) + (f" and {more} more" if more > 0 else "")
        yield f"memories that were forgotten there, and so here too: {said}"
