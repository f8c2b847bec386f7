"""What git holds of notes, as items of an index: all of it, or what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace.errors import CspaceError
from cspace.git import git
from cspace.git_notes import changed_notes, list_notes, read_notes
from cspace.git_objects import object_sizes, object_types
from cspace.index.model import Item
from cspace.notes.anchors import authors_of
from cspace.notes.catalogued import FORMAT, group_of, item_of, keyed
from cspace.notes.memory import Memory, settle
from cspace.notes.namespaces import Namespace
from cspace.notes.note import parse_note

Tips = Mapping[Namespace, str]


class Unreadable(CspaceError):
    """Git lists notes that can not be read: an index of the rest would hide them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an index has to take in.

    Attributes:
        groups: what of it goes first.
        items: what comes in, lazily.
    """

    groups: tuple[str, ...]
    items: Iterator[Item]


def state_of(tips: Tips) -> dict[str, str]:
    """Return by what an index says that it was made from these notes."""
    return {"format": FORMAT} | {namespace.value: tip for namespace, tip in tips.items()}


def tips_of(state: Mapping[str, str]) -> dict[Namespace, str]:
    """Return what an index of our format was made from."""
    return {one: state[one.value] for one in Namespace if one.value in state}


def read_all(repository: Path, tips: Tips) -> Reading:
    """Read every note; the items raise Unreadable where one can not be read."""
    notes = {one: _listed(repository, one, tip) for one, tip in tips.items()}
    return Reading((), _items(repository, notes))


def read_changes(repository: Path, old: Tips, new: Tips) -> Reading:
    """Read the notes that differ; the items raise Unreadable where one can not be read.

    Raises:
        CommandFailed: what the old ones were is not there any more.
    """
    gone: list[str] = []
    notes: dict[Namespace, Mapping[str, str]] = {}
    for namespace in (*old, *(one for one in new if one not in old)):
        changed = _changed(repository, old.get(namespace), new.get(namespace))
        gone += [group_of(namespace, commit) for commit in changed]
        notes[namespace] = {commit: blob for commit, blob in changed.items() if blob}
    return Reading(tuple(gone), _items(repository, notes))


def weigh_changes(repository: Path, old: Tips, new: Tips) -> tuple[int, int]:
    """Count the notes that `read_changes` would read or take out, and the bytes that it would read.

    Raises:
        CommandFailed: what the old ones were is not there any more.
    """
    each = [_changed(repository, old.get(one), new.get(one)) for one in {*old, *new}]
    blobs = {blob for changed in each for blob in changed.values() if blob}
    return sum(map(len, each)), sum(object_sizes(repository, blobs).values())


def read_memories(repository: Path, namespace: Namespace, tip: str) -> dict[str, Memory]:
    """Return every memory of a namespace by its key."""
    notes = {namespace: _listed(repository, namespace, tip)}
    return dict(_memories(repository, notes))


def _changed(repository: Path, old: str | None, new: str | None) -> Mapping[str, str | None]:
    if old == new:
        return {}
    if old is None:
        return dict(list_notes(repository, str(new)))
    if new is None:
        return dict.fromkeys(list_notes(repository, old))
    return changed_notes(repository, old, new)


def _listed(repository: Path, namespace: Namespace, tip: str) -> dict[str, str]:
    """Return all notes of a namespace, by our reading of the tree and by git's own.

    Should they differ, no note is left out: who counts by himself calls a wrong count consistent.
    """
    said = git(repository, "notes", f"--ref={namespace.ref}", "list", ok=(0, 1)).text
    pairs = (line.split(" ") for line in said.splitlines())
    known = list_notes(repository, tip)
    new = {pair[1]: pair[0] for pair in pairs if len(pair) == 2 and pair[1] not in known}
    kinds = object_types(repository, new.values()) if new else {}
    return known | {commit: blob for commit, blob in new.items() if kinds.get(blob) == "blob"}


def _items(repository: Path, notes: Mapping[Namespace, Mapping[str, str]]) -> Iterator[Item]:
    commits = {commit for found in notes.values() for commit in found}
    authors = authors_of(repository, sorted(commits))
    for key, memory in _memories(repository, notes):
        yield item_of(key, memory, authors.get(memory.commit))


def _memories(
    repository: Path, notes: Mapping[Namespace, Mapping[str, str]]
) -> Iterator[tuple[str, Memory]]:
    """Read all blobs at once, each once: one note may stand on many commits."""
    for namespace, found in notes.items():
        anchors: dict[str, list[str]] = {}
        for commit, blob in found.items():
            anchors.setdefault(blob, []).append(commit)
        missing = set(anchors)
        for blob, content in read_notes(repository, anchors):
            missing.discard(blob)
            note = parse_note(namespace, content)
            for commit in anchors[blob]:
                yield from keyed(settle(namespace, commit, note))
        if missing:
            raise Unreadable(
                f"{namespace.ref}: {len(missing)} notes can not be read, {min(missing)} is one",
                hint="the index stays as it was; look at what git has: git fsck",
            )
