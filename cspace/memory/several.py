"""Reads of several scopes: all that matches, each with its scope, and nothing merged.

Of several scopes one that can not be read is skipped; the only one is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from cspace.docstore.opened import Skipped
from cspace.errors import CspaceError, NotFound
from cspace.memory.entries import Entries, Entry
from cspace.memory.place import Place, find_place
from cspace.memory.scopes import Scope, shown
from cspace.memory.store import MemoryStore
from cspace.paths import INDEX

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Matches:
    """The memories of one slug, in the order of the scopes."""

    memories: tuple[tuple[Scope, bytes], ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class Indexes:
    """Files that are called MEMORY.md, each with its path below the root."""

    files: tuple[tuple[str, bytes], ...]
    skipped: tuple[Skipped, ...]


def list_several(
    store: MemoryStore,
    scopes: Sequence[Scope],
    *,
    type: str | None = None,  # noqa: A002
) -> Entries:
    """List the memories of scopes, in their order.

    Args:
        type: leaves out the memories of any other.

    Raises:
        CspaceError: the only scope can not be read.
    """
    found, errors = _each(scopes, lambda scope: store.list_entries(scope, type=type))
    _raise_only(scopes, errors)
    entries: list[Entry] = []
    skipped = list(_skipped(errors))
    for scope, one in found:
        entries.extend(one.entries)
        skipped.extend(Skipped(f"{scope}/{each.path}", each.reason) for each in one.skipped)
    return Entries(tuple(entries), tuple(skipped))


def read_several(store: MemoryStore, scopes: Sequence[Scope], slug: str) -> Matches:
    """Read the memories that have a slug; what can not be read is an error where nothing else is.

    Raises:
        NotFound: no scope has one; the hint names one that does, or the nearest.
        UsageError: it can not be a name.
        CspaceError: the only one can not be read.
    """
    if len(scopes) == 1:
        return Matches(((scopes[0], store.read(scopes[0], slug)),), ())
    found, errors = _each(scopes, lambda scope: store.find(scope, slug))
    present = tuple((scope, content) for scope, content in found if content is not None)
    if not present:
        raise errors[0][1] if errors else _absent(store, scopes, slug)
    return Matches(present, _skipped(errors))


def read_indexes(store: MemoryStore, scopes: Sequence[Scope], *, top: bool) -> Indexes:
    """Read the MEMORY.md of scopes.

    Args:
        top: the one beside the scopes, first.

    Raises:
        NotFound: there is none.
        CspaceError: the only one can not be read.
    """
    found, errors = _each(scopes, lambda scope: _index(find_place(store.root, scope)))
    _raise_only(scopes, errors)
    named = [(f"{scope}/{INDEX}", content) for scope, content in found]
    if top:
        named.insert(0, (str(INDEX), _index(Place(store.root, PurePosixPath()))))
    present = tuple((name, content) for name, content in named if content is not None)
    if not present:
        raise NotFound(f"no {INDEX} in {names_of(scopes)}", hint="cspace memory list")
    return Indexes(present, _skipped(errors))


def _index(place: Place) -> bytes | None:
    with place.opened() as opened:
        try:
            return opened.read(INDEX.stem).content
        except FileNotFoundError:
            return None


def names_of(scopes: Sequence[Scope]) -> str:
    """Write scopes for a message."""
    return ", ".join(map(str, scopes)) or "any scope"


def _absent(store: MemoryStore, scopes: Sequence[Scope], slug: str) -> NotFound:
    rest = [scope for scope in store.present_scopes() if scope not in scopes]
    others = [scope for scope, found in _each(rest, lambda one: store.find(one, slug))[0] if found]
    hint = f"it is in {others[0]}: --scope {others[0]}" if others else "cspace memory list --all"
    return NotFound(f"no memory {shown(slug)} in {names_of(scopes)}", hint=hint)


def _each(
    scopes: Sequence[Scope], read: Callable[[Scope], T]
) -> tuple[list[tuple[Scope, T]], list[tuple[Scope, CspaceError]]]:
    found: list[tuple[Scope, T]] = []
    errors: list[tuple[Scope, CspaceError]] = []
    for scope in scopes:
        try:
            found.append((scope, read(scope)))
        except CspaceError as error:
            errors.append((scope, error))
    return found, errors


def _raise_only(scopes: Sequence[Scope], errors: Sequence[tuple[Scope, CspaceError]]) -> None:
    if errors and len(scopes) == 1:
        raise errors[0][1]


def _skipped(errors: Sequence[tuple[Scope, CspaceError]]) -> tuple[Skipped, ...]:
    return tuple(Skipped(str(scope), str(error)) for scope, error in errors)
