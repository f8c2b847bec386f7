"""What commands of `cspace notes` say of memories that are not where one looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cspace.cli import render
from cspace.cli.notes_show import count_memories

if TYPE_CHECKING:  # `cspace --help` has no use for what git and records need
    from cspace.notes.census import Tally
    from cspace.notes.namespaces import Namespace
    from cspace.notes.remote import Offer
    from cspace.notes.store import NotesStore

EMPTY = 'no memories of commits here; keep one: cspace notes capture decisions --summary "Why ..."'


def describe_empty(store: NotesStore) -> str:
    """Say that nothing is here, and how to look at a remote; asks nobody."""
    from cspace.notes.remote import hint_where_none  # noqa: PLC0415  only what it is needed for

    command = hint_where_none(store.repository)
    return f"{EMPTY}; get those of a remote: {command}" if command else EMPTY


def show_offer(offer: Offer | None) -> None:
    """Tell of memories that a remote has."""
    if offer:
        names = ", ".join(offer.namespaces)
        render.note(f"{offer.remote} has memories of commits ({names}): {offer.command}")


def note_orphaned(census: Mapping[Namespace, Tally]) -> None:
    """Warn of orphaned memories, with what brings them back."""
    orphaned = {one: tally.orphaned for one, tally in census.items() if tally.orphaned}
    if orphaned:
        many = count_memories(sum(orphaned.values()))
        names = ", ".join(f"{one} {count}" for one, count in orphaned.items())
        render.note(f"{many} on commits that history does not reach ({names}): cspace notes rescue")
