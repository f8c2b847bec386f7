"""Memories that are shown once, though they stand on an old commit and on what this has become."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from cspace.errors import CommandFailed
from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace
from cspace.notes.orphans import place_memories

Anchor = tuple[Namespace, str, str]


def anchor_of(memory: Memory) -> Anchor:
    """Return what tells a memory apart from the same one on another commit."""
    return memory.namespace, memory.id, memory.commit


def find_copies(repository: Path, memories: Iterable[Memory]) -> frozenset[Anchor]:
    """Return those that nothing reaches, where one of the others is the same and reached.

    Asks git only where a memory stands on several commits.
    """
    same = defaultdict[tuple[Namespace, str], list[Memory]](list)
    for one in memories:
        same[one.namespace, one.id].append(one)
    several = [one for each in same.values() if len({m.commit for m in each}) > 1 for one in each]
    if not several:
        return frozenset()
    try:
        placed = place_memories(repository, several)
    except CommandFailed:  # a ref is broken: then all are shown
        return frozenset()
    return frozenset(anchor_of(one.memory) for one in placed if one.is_copy)


def without_copies(repository: Path, memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Return the memories without those of `find_copies`."""
    known = tuple(memories)
    hidden = find_copies(repository, known)
    return tuple(one for one in known if anchor_of(one) not in hidden) if hidden else known
