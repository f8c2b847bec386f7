"""Brings memories of rewritten commits to those that these have become; by copy, on demand.

The old note stays: other clones have it as well, and a set union would bring it back. A tombstone
there would kill the memory for good where somebody goes back to the old commit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from cspace import git, git_history, git_notes
from cspace.errors import Conflict, NotFound, UsageError
from cspace.notes.forgetting import without_forgotten
from cspace.notes.namespaces import Namespace
from cspace.notes.note import append_record, parse_note
from cspace.notes.orphans import Placed, Standing, place_memories
from cspace.notes.record import RESOLUTION, TOMBSTONE
from cspace.notes.rewritten import load_rewritten
from cspace.notes.store import NotesStore
from cspace.notes.successors import NOT_FOUND, Found, Kind, find_successors
from cspace.notes.union import add_notes, list_notes

_GONE = Found(None, "git has thrown the commit away, and with it what it changed", ())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A commit that an orphan may have become."""

    commit: str
    subject: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """Where the memories of one orphaned commit could go.

    Attributes:
        kind: how the commit was rewritten; None where nobody knows.
        why: the evidence, or why there is none.
        candidates: with more than one nothing is moved, a person chooses.
        memories: their references.
    """

    commit: str
    kind: Kind | None
    why: str
    candidates: tuple[Candidate, ...]
    memories: tuple[str, ...]

    @property
    def target(self) -> str | None:
        """The one commit to which they go; None where there is none, or no one."""
        return self.candidates[0].commit if len(self.candidates) == 1 else None


@dataclass(frozen=True, slots=True)
class Rescued:
    """Memories that stand on a reached commit now, by the references that they had."""

    commit: str
    target: str
    memories: tuple[str, ...]


def plan_rescue(store: NotesStore) -> tuple[Proposal, ...]:
    """Propose where the memories of each orphaned commit go; changes nothing."""
    orphans = [
        one for one in place_memories(store.repository, store.iter_memories()) if one.is_orphan
    ]
    here = {one.memory.commit for one in orphans if one.standing is Standing.ORPHANED}
    found = find_successors(load_rewritten(store.repository, here)) if here else {}
    by_commit = defaultdict(list)
    for one in orphans:
        by_commit[one.memory.commit].append(one)
    return tuple(
        _proposal(commit, several, found.get(commit, NOT_FOUND if commit in here else _GONE))
        for commit, several in sorted(by_commit.items())
    )


def choose_rescue(store: NotesStore, commit: str, target: str) -> Proposal:
    """Propose what a person chose: the memories of a commit, by its id's start, go to another.

    Raises:
        NotFound: no memory stands on such a commit, or there is no such target.
        Conflict: several commits begin so.
        UsageError: the target is itself the commit, or history reaches it.
    """
    memories = [one for one in store.iter_memories() if one.commit.startswith(commit.lower())]
    commits = sorted({one.commit for one in memories})
    if not commits:
        raise NotFound(f"no memory stands on commit {commit!r}", hint="cspace notes rescue")
    if len(commits) > 1:
        raise Conflict(f"commit {commit!r}: several begin so", hint=f"one of {', '.join(commits)}")
    resolved = git.resolve(store.repository, target)
    if resolved is None:
        raise NotFound(f"there is no commit {target!r}", hint="git log --oneline")
    if resolved == commits[0]:
        raise UsageError(f"{target!r} is the commit on which they stand", hint="name another one")
    placed = place_memories(store.repository, memories)
    if placed[0].standing is Standing.REACHED:
        raise UsageError(
            f"commit {commit!r} is no orphan: history reaches it", hint="cspace notes rescue"
        )
    anchor = git_history.read_commits(store.repository, [resolved])[resolved]
    return _proposal(commits[0], placed, Found(Kind.CHOSEN, "you chose it", (anchor,)))


def apply_rescue(store: NotesStore, proposals: Iterable[Proposal]) -> tuple[Rescued, ...]:
    """Copy the memories of each proposal that has one target; repeated, it changes nothing more.

    What was forgotten on the target stays so.
    """
    wanted = [(one, one.target) for one in proposals if one.target is not None]
    changed: set[str] = set()
    for namespace, tip in store.tips().items():
        additions: dict[str, bytes] = {}
        notes = list_notes(store.repository, tip)
        contents = dict(
            git_notes.read_notes(
                store.repository,
                sorted({notes[one.commit] for one, _ in wanted if one.commit in notes}),
            )
        )
        for one, target in wanted:
            content = contents.get(notes.get(one.commit, ""), b"")
            for record in _living(namespace, content):
                additions[target] = append_record(additions.get(target, b""), record)
        changed |= set(add_notes(store, namespace, additions))
    return tuple(
        Rescued(one.commit, target, one.memories) for one, target in wanted if target in changed
    )


def _living(namespace: Namespace, content: bytes) -> tuple[bytes, ...]:
    """Return the records of a note that were not removed, and what resolves them.

    A tombstone stays behind: on its new commit somebody may have captured that very text anew.
    """
    records = without_forgotten(parse_note(namespace, content).records)
    living = {one.id for one in records if one.type not in (RESOLUTION, TOMBSTONE)}
    return tuple(
        one.source
        for one in records
        if one.id in living or (one.type == RESOLUTION and one.of in living)
    )


def _proposal(commit: str, orphans: Iterable[Placed], found: Found) -> Proposal:
    candidates = tuple(
        Candidate(one.id, one.subject.decode("utf-8", "replace")) for one in found.candidates
    )
    references = tuple(one.memory.reference for one in orphans)
    return Proposal(commit, found.kind, found.why, candidates, references)
