"""Records that a person takes out of the store: all are looked at before the first one goes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from cspace.context.naming import EntryName, get_entry_name
from cspace.context.records import Info
from cspace.context.store import ContextStore
from cspace.errors import CspaceError, UsageError

_OURS = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Kept:
    """A record that could not be removed, and why."""

    path: str
    error: CspaceError


@dataclass(frozen=True, slots=True)
class Removal:
    """What came of it: paths relative to the root, and what is still there."""

    removed: tuple[str, ...]
    kept: tuple[Kept, ...]


def plan_removal(store: ContextStore, given: Iterable[str]) -> tuple[Info, ...]:
    """Return the records that whole slugs name, each once.

    Raises:
        NotFound: one of them does not exist.
        UsageError: a slug stands for records of several kinds, the name is not of a form that
            cspace writes, or this is an instance, where nothing is removed.
    """
    if store.origin.instance is not None:
        raise UsageError(
            "records are removed by people, on the host: not inside an instance",
            hint="on the host: cspace context rm ENTRY",
        )
    names = dict.fromkeys(get_entry_name(store.root, one, whole=True) for one in given)
    return tuple(_info(store, name) for name in names)


def _info(store: ContextStore, name: EntryName) -> Info:
    info = store.load_entry(name.kind, name.slug).info
    if not _OURS.fullmatch(name.slug):
        raise UsageError(
            f"{info.path!r} has a name that cspace does not write",
            hint=f"remove it yourself: rm -- {shlex.quote(str(store.root / info.path))}",
        )
    return info


def remove_planned(store: ContextStore, planned: tuple[Info, ...]) -> Removal:
    """Remove what was planned; where one can not be removed, the others are."""
    removed, kept = [], []
    for info in planned:
        try:
            removed.append(store.remove_entry(info.kind, info.slug))
        except CspaceError as error:
            kept.append(Kept(info.path, error))
    return Removal(tuple(removed), tuple(kept))
