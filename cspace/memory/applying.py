"""Puts versions of memories in their places that a person was shown: a remote's, or older ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from cspace.errors import Conflict
from cspace.events import Event, Report, State, ignore
from cspace.memory.changes import check_size, revision_of
from cspace.memory.diff import Diff, render_diff
from cspace.memory.located import read_located
from cspace.memory.log import LogLine, open_log
from cspace.memory.outline import outline_of, with_outline
from cspace.memory.place import Place, find_place
from cspace.memory.reconcile import Update
from cspace.memory.scopes import Scope
from cspace.memory.store import MemoryStore
from cspace.memory.writing import locked


def show_update(update: Update) -> Diff:
    """Compare what is there with what is to be there."""
    return render_diff(update.before, update.after, update.located.path)


def check_still(store: MemoryStore, updates: Iterable[Update]) -> None:
    """Refuse when something is not what was planned with, before anything is written.

    Raises:
        Conflict: it was changed since.
    """
    for one in updates:
        if not is_still(store, one):
            raise Conflict(
                f"{one.located.name} was changed meanwhile: nothing was written",
                hint="the same command again",
            )


def is_still(store: MemoryStore, one: Update) -> bool:
    """Tell whether what an update was planned with is there."""
    present = read_located(store, one.located)
    return (outline_of(present) if one.located.is_index else present) == one.before


def apply_updates(
    store: MemoryStore, updates: Iterable[Update], operation: str, report: Report = ignore
) -> None:
    """Write memories first, then the texts of indexes.

    Args:
        operation: what the log calls it: undo, sync.

    Raises:
        Conflict: one was changed since it was read; what came before it is written.
    """
    ordered = sorted(updates, key=lambda one: (one.located.is_index, one.located.path))
    entries = [one for one in ordered if not one.located.is_index]
    done = 0
    for scope, some in itertools.groupby(entries, key=lambda one: one.located.scope):
        assert scope is not None  # noqa: S101  only an index has none
        for _ in _write(store, scope, list(some), operation):
            done += 1
            report(Event("memory", "write", State.ADVANCED, done=done, total=len(entries)))
    for one in ordered[len(entries) :]:
        _set_outline(store, one)


def _write(
    store: MemoryStore, scope: Scope, updates: list[Update], operation: str
) -> Iterator[None]:
    """Write a scope's memories, and their lines once: each by itself would read all lines."""
    for one in updates:
        check_size(one.after or b"")
    store.point_to(scope)
    place = find_place(store.root, scope)
    hold = locked(place, place.relative, by=store.by, owner=store.owner, create=True)
    with hold as held, open_log(store.root, store.owner) as log:
        changes = [(one.located.slug, one.after, revision_of(one.before)) for one in updates]
        for (slug, after, before), _ in zip(changes, held.put_all(changes), strict=True):
            now, revision = store.now(), revision_of(after)
            log.append(LogLine(now, operation, str(scope), slug, store.by, before, revision))
            yield


def _set_outline(store: MemoryStore, one: Update) -> None:
    outline = one.after
    if outline is None:
        return

    def change(document: bytes) -> bytes:
        if document and one.before is not None and outline_of(document) != one.before:
            raise Conflict(
                f"{one.located.path} was changed meanwhile", hint="the same command again"
            )
        return with_outline(document, outline)

    if one.located.scope is not None:
        store.point_to(one.located.scope)
    place = _place(store, one.located.scope)
    with locked(place, place.relative, by=store.by, owner=store.owner, create=True) as held:
        held.rewrite(change)


def _place(store: MemoryStore, scope: Scope | None) -> Place:
    return Place(store.root, PurePosixPath()) if scope is None else find_place(store.root, scope)
