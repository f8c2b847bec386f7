"""Puts versions of memories in their places that a person was shown: a remote's, or older ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from cspace.errors import Conflict
from cspace.memory.changes import Change, Operation, revision_of
from cspace.memory.diff import Diff, render_diff
from cspace.memory.outline import outline_of, with_outline
from cspace.memory.place import Place, find_place
from cspace.memory.reconcile import Update
from cspace.memory.scopes import Scope
from cspace.memory.store import MemoryStore
from cspace.memory.writing import locked


def show_update(update: Update) -> Diff:
    """Compare what is there with what is to be there."""
    return render_diff(update.before, update.after, update.located.path)


def apply_updates(store: MemoryStore, updates: Iterable[Update]) -> None:
    """Write memories first, then the texts of indexes.

    Raises:
        Conflict: one was changed since it was read; what came before it is written.
    """
    later = []
    for one in updates:
        if one.located.is_index:
            later.append(one)
        else:
            _write(store, one)
    for one in later:
        _set_outline(store, one)


def _write(store: MemoryStore, one: Update) -> None:
    scope = one.located.scope
    assert scope is not None  # noqa: S101  only an index has none
    operation = Operation.OVERWRITE if one.before is not None else Operation.CREATE
    operation = Operation.REMOVE if one.after is None else operation
    change = Change(scope, one.located.slug, operation)
    store.write(change, one.after, revision_of(one.before))


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
