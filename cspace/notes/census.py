"""What git holds of a repository's memories, namespace by namespace, by one reading of it."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.notes.memory import Memory, settle
from cspace.notes.namespaces import Namespace
from cspace.notes.orphans import count_copies, count_orphans, place_memories
from cspace.notes.store import NotesStore


@dataclass(frozen=True, slots=True)
class Tally:
    """What git holds of a namespace.

    Attributes:
        commits: how many objects have a note.
        stray: notes in which somebody else's bytes stand too.
        edited: memories that were changed after they were written.
        orphaned: memories that stand only on commits that history does not reach.
        copies: memories on such commits that stand on a reached one, too.
    """

    commits: int = 0
    memories: int = 0
    stray: int = 0
    edited: int = 0
    orphaned: int = 0
    copies: int = 0


def take_census(store: NotesStore) -> dict[Namespace, Tally]:
    """Count what each namespace that has notes holds, by git itself."""
    memories: dict[Namespace, list[Memory]] = {}
    notes: dict[Namespace, tuple[int, int]] = {}
    for namespace in store.tips():
        found, commits, stray = list[Memory](), 0, 0
        for commit, note in store.iter_notes(namespace):
            found += settle(namespace, commit, note)
            commits, stray = commits + 1, stray + bool(note.stray)
        memories[namespace], notes[namespace] = found, (commits, stray)
    everything = (one for found in memories.values() for one in found)
    placed = place_memories(store.repository, everything)
    orphaned, copies = count_orphans(placed), count_copies(placed)
    return {
        one: Tally(
            commits=notes[one][0],
            memories=len(found),
            stray=notes[one][1],
            edited=sum(memory.record.edited for memory in found),
            orphaned=orphaned.get(one, 0),
            copies=copies.get(one, 0),
        )
        for one, found in memories.items()
    }
