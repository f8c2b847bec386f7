"""What git holds of notes, as items of an index: all of it, or what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace.errors import CspaceError
from cspace.git import git
from cspace.git_notes import changed_notes, list_notes, read_notes
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
    """Read every note.

    Raises:
        Unreadable: git itself lists more.
    """
    notes = {namespace: list_notes(repository, tip) for namespace, tip in tips.items()}
    for namespace, found in notes.items():
        _check_listed(repository, namespace, tips[namespace], len(found))
    return Reading((), _items(repository, notes))


def read_changes(repository: Path, old: Tips, new: Tips) -> Reading:
    """Read the notes that differ.

    Raises:
        CommandFailed: what the old ones were is not there any more.
        Unreadable: a note can not be read.
    """
    gone: list[str] = []
    notes: dict[Namespace, Mapping[str, str]] = {}
    for namespace in (*old, *(one for one in new if one not in old)):
        changed = _changed(repository, old.get(namespace), new.get(namespace))
        gone += [group_of(namespace, commit) for commit in changed]
        notes[namespace] = {commit: blob for commit, blob in changed.items() if blob}
    return Reading(tuple(gone), _items(repository, notes))


def read_memories(repository: Path, namespace: Namespace, tip: str) -> dict[str, Memory]:
    """Return every memory of a namespace by its key."""
    notes = {namespace: list_notes(repository, tip)}
    return dict(_memories(repository, notes))


def _changed(repository: Path, old: str | None, new: str | None) -> Mapping[str, str | None]:
    if old == new:
        return {}
    if old is None:
        return dict(list_notes(repository, str(new)))
    if new is None:
        return dict.fromkeys(list_notes(repository, old))
    return changed_notes(repository, old, new)


def _check_listed(repository: Path, namespace: Namespace, tip: str, found: int) -> None:
    """Compare with git's own reading of a notes tree, which has its own rules of fan-out."""
    listed = git(repository, "notes", f"--ref={namespace.ref}", "list").stdout.count(b"\n")
    now = git(repository, "rev-parse", "--verify", "--quiet", namespace.ref, ok=(0, 1)).text
    if now == tip and found < listed:
        raise Unreadable(
            f"{namespace.ref}: {found} of the {listed} notes that git lists were found",
            hint="the index stays as it was; look at the notes: git fsck",
        )


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
