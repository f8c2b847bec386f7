"""Puts notes of one side into the other: by set, so that nothing is lost on either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace import git_notes
from cspace.git_notes_tree import NotesTree
from cspace.notes.merge import merge_notes
from cspace.notes.namespaces import Namespace
from cspace.notes.note import parse_note
from cspace.notes.store import NotesStore
from cspace.notes.writing import exclusive, until_done


@dataclass(frozen=True, slots=True)
class Note:
    """A commit's note on two sides and what it becomes; empty where a side has none."""

    commit: str
    ours: bytes
    theirs: bytes
    merged: bytes


@dataclass(frozen=True, slots=True)
class Union:
    """The notes in which two sides of a namespace differ."""

    namespace: Namespace
    notes: tuple[Note, ...]

    @property
    def incoming(self) -> dict[str, bytes]:
        """The notes that change on our side."""
        return {one.commit: one.merged for one in self.notes if one.merged != one.ours}

    @property
    def outgoing(self) -> tuple[Note, ...]:
        """The notes that change on theirs."""
        return tuple(one for one in self.notes if one.merged != one.theirs)

    @property
    def received(self) -> int:
        """How many records are new on our side."""
        return sum(len(self._ids(one.merged) - self._ids(one.ours)) for one in self.notes)

    @property
    def sent(self) -> int:
        """How many records are new on theirs."""
        return sum(len(self._ids(one.merged) - self._ids(one.theirs)) for one in self.notes)

    def _ids(self, content: bytes) -> frozenset[str]:
        return frozenset(one.id for one in parse_note(self.namespace, content).records)


def unite(repository: Path, namespace: Namespace, ours: str | None, theirs: str | None) -> Union:
    """Merge two notes commits in memory; nothing is written."""
    here, there = (list_notes(repository, tip) for tip in (ours, theirs))
    differing = sorted(one for one in here.keys() | there.keys() if here.get(one) != there.get(one))
    blobs = {side[one] for one in differing for side in (here, there) if one in side}
    contents = dict(git_notes.read_notes(repository, sorted(blobs)))
    return Union(namespace, tuple(_merged(namespace, differing, here, there, contents)))


def _merged(
    namespace: Namespace,
    commits: list[str],
    here: Mapping[str, str],
    there: Mapping[str, str],
    contents: Mapping[str, bytes],
) -> Iterator[Note]:
    for one in commits:
        ours, theirs = (contents.get(side.get(one, ""), b"") for side in (here, there))
        yield Note(one, ours, theirs, merge_notes(namespace, ours, theirs))


def add_notes(
    store: NotesStore, namespace: Namespace, additions: Mapping[str, bytes]
) -> tuple[str, ...]:
    """Merge these notes into the namespace's, and return the commits on which one changed.

    Raises:
        Conflict: somebody else keeps moving the ref.
    """
    changed: dict[str, bytes] = {}

    def plan(notes: NotesTree) -> Mapping[str, bytes | None]:
        changed.clear()
        for one, new in additions.items():
            before = notes.read(one) or b""
            after = merge_notes(namespace, before, new)
            if after != before:
                changed[one] = after
        return dict(changed)

    if additions:
        with exclusive(store.place, store.by, store.owner):
            until_done(
                lambda: git_notes.change_notes(store.repository, namespace.ref, plan, store.now())
            )
    return tuple(sorted(changed))


def list_notes(repository: Path, tip: str | None) -> dict[str, str]:
    """Return the blob of each annotated object; none where there is no such namespace."""
    return git_notes.list_notes(repository, tip) if tip else {}
