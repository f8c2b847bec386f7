"""Takes one commit of the memory's history back, by a new one."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.errors import Conflict, NotFound, UsageError
from cspace.memory.applying import apply_updates, check_still, is_still
from cspace.memory.keeping import Done, Keeper, parse_done
from cspace.memory.located import parse_path
from cspace.memory.outline import outline_of
from cspace.memory.reconcile import Update
from cspace.memory.repository import Repository


@dataclass(frozen=True, slots=True)
class Undo:
    """What taking a commit back changes.

    Attributes:
        head: the newest commit when it was planned.
    """

    commit: str
    subject: str
    head: str
    updates: tuple[Update, ...]


def plan_undo(keeper: Keeper, revision: str | None) -> Undo:
    """Plan to take a commit back: the newest one, unless another is named.

    Raises:
        NotFound: there is no such commit.
        UsageError: it is the first one, or changed no memory.
        Conflict: something that it changed was changed since.
    """
    repository = keeper.repository
    with repository.locked(keeper.store.by):
        head = keeper.settle()
    commit = repository.resolve(revision or "HEAD")
    if head is None or commit is None:
        raise NotFound(
            f"the history has no commit {(revision or 'yet')[:60]!a}", hint="cspace memory history"
        )
    parent = repository.resolve(f"{commit}^1")
    if parent is None:
        raise UsageError(
            f"{commit[:12]} is the first commit: before it nothing was kept",
            hint="cspace memory history",
        )
    updates = _updates(repository, parent, commit)
    if not updates:
        raise UsageError(f"{commit[:12]} changed no memory", hint="cspace memory history")
    changed = [one.located.name for one in updates if not is_still(keeper.store, one)]
    if changed:
        raise Conflict(
            f"changed since {commit[:12]}: {', '.join(changed)}",
            hint=f"take that back first: cspace memory history {changed[0].rpartition('/')[2]}",
        )
    message = repository.git("log", "-1", "--format=%B", "--no-show-signature", commit).text
    return Undo(commit, parse_done(message).subject, head, updates)


def _updates(repository: Repository, parent: str, commit: str) -> tuple[Update, ...]:
    before, after = repository.list_files(parent), repository.list_files(commit)
    found = []
    with repository.reader() as read:
        for path in sorted(before.keys() | after.keys()):
            located = parse_path(path)
            if located is None or before.get(path) == after.get(path):
                continue
            now, then = read(after.get(path)), read(before.get(path))
            if located.is_index:
                now, then = outline_of(now), outline_of(then)
            # Nobody removes an index.
            if now != then and not (located.is_index and None in (now, then)):
                found.append(Update(located, now, then))
    return tuple(found)


def apply_undo(keeper: Keeper, undo: Undo) -> str:
    """Write the older versions, and return the new commit.

    Raises:
        Conflict: a memory was changed since it was planned.
    """
    repository, by = keeper.repository, keeper.store.by
    with repository.locked(by):
        if repository.head() != undo.head:
            raise Conflict(
                "a memory was changed meanwhile: nothing was taken back",
                hint=f"cspace memory undo {undo.commit[:12]}",
            )
        check_still(keeper.store, undo.updates)
        settled = not repository.has_unkept
        repository.mark_unkept()
        apply_updates(keeper.store, undo.updates, "undo", keeper.report)
        done = Done(f"Undo: {undo.subject}"[:200], "undo", by)
        keeper.commit(done, *(one.located for one in undo.updates))
        if settled:
            repository.clear_unkept()
        return repository.head() or ""
