"""Which memories stand on commits that history does not reach any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cspace import git, git_history, git_objects
from cspace.errors import CommandFailed
from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace


class Standing(StrEnum):
    """How a memory's commit stands to what history reaches.

    What counts is a branch, a tag, a remote branch and a work tree's HEAD; a reflog does not.
    """

    REACHED = "reached"
    ORPHANED = "orphaned"  # here, and nothing reaches it
    GONE = "gone"  # not here any more: git has thrown it away, or it never was here
    UNKNOWN = "unknown"  # behind the cut of a shallow clone, or maybe so


@dataclass(frozen=True, slots=True)
class Placed:
    """A memory and how its commit stands.

    Attributes:
        is_rescued: the same memory stands on a reached commit, too.
    """

    memory: Memory
    standing: Standing
    is_rescued: bool

    @property
    def is_orphan(self) -> bool:
        """Whether nothing that history reaches leads to this memory."""
        return self.standing in (Standing.ORPHANED, Standing.GONE) and not self.is_rescued

    @property
    def is_copy(self) -> bool:
        """Whether history reaches the same memory, and not this one."""
        return self.standing in (Standing.ORPHANED, Standing.GONE) and self.is_rescued


def place_memories(repository: Path, memories: Iterable[Memory]) -> tuple[Placed, ...]:
    """Say of each memory how its commit stands; asks git three times, however many there are."""
    known = tuple(memories)
    standings = observe_standings(repository, {one.commit for one in known})
    reached = {
        (one.namespace, one.id) for one in known if standings[one.commit] is Standing.REACHED
    }
    return tuple(
        Placed(
            one,
            standing := standings[one.commit],
            standing is not Standing.REACHED and (one.namespace, one.id) in reached,
        )
        for one in known
    )


def count_orphans(placed: Iterable[Placed]) -> dict[Namespace, int]:
    """Count the orphans of each namespace that has some."""
    return _count(one for one in placed if one.is_orphan)


def count_copies(placed: Iterable[Placed]) -> dict[Namespace, int]:
    """Count what stands on a reached commit too, of each namespace that has some."""
    return _count(one for one in placed if one.is_copy)


def _count(placed: Iterable[Placed]) -> dict[Namespace, int]:
    counted = Counter(one.memory.namespace for one in placed)
    return {namespace: counted[namespace] for namespace in Namespace if counted[namespace]}


def observe_standings(repository: Path, commits: Iterable[str]) -> dict[str, Standing]:
    """Say of each commit how it stands.

    Objects of another kind count as reached: who annotates a file means no history.
    """
    asked = sorted(commits)
    here = git_objects.object_sizes(repository, asked)
    lost = frozenset(
        git_history.list_unreachable(repository, (one for one in asked if one in here))
    )
    missing = lost | (frozenset(asked) - here.keys())
    behind = _behind_cuts(repository, missing)
    found = dict.fromkeys(asked, Standing.REACHED)
    for one in missing & found.keys():
        if one in behind:
            found[one] = Standing.UNKNOWN
        else:
            found[one] = Standing.ORPHANED if one in here else Standing.GONE
    return found


def _behind_cuts(repository: Path, missing: frozenset[str]) -> frozenset[str]:
    """Return which of these a shallow repository can not judge.

    What is absent may be behind the cut; so may be what an older, deeper fetch has left: what the
    commits at the cut name as their parents, and whatever those reach here.
    """
    cuts = git.list_cuts(repository) if missing else ()
    if not cuts:
        return frozenset()
    parents = git_history.list_parents(repository, cuts)
    here = git_objects.object_sizes(repository, missing | parents)
    try:
        older = git_history.list_unreachable(repository, (one for one in parents if one in here))
    except CommandFailed:
        return missing  # cut once more, at a place that git has forgotten
    return frozenset(one for one in missing if one not in here or one in older)
