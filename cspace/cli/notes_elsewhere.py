"""What commands of `cspace notes` say of memories that are not where one looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cspace.cli import render
from cspace.cli.notes_show import count_memories
from cspace.errors import CspaceError

if TYPE_CHECKING:  # `cspace --help` has no use for what git and records need
    from cspace.notes.census import Tally
    from cspace.notes.memory import Memory
    from cspace.notes.namespaces import Namespace
    from cspace.notes.remote import Offer
    from cspace.notes.store import NotesStore

_MOST_NAMED = 10
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
        render.note(f"{offer.remote} has memories that are not here ({names}): {offer.command}")


def note_broken(store: NotesStore) -> bool:
    """Name the refs that can not be read; return whether there are some."""
    broken = store.broken()
    for one in broken:
        render.note(f"{one.ref} is no commit of notes, and is left out: git show {one.ref}")
    return bool(broken)


def mend(store: NotesStore) -> tuple[Memory, ...]:
    """Bring back what a plain `git notes append` took away; where nobody may write, say that."""
    try:
        return store.mend()
    except CspaceError as error:
        render.note(f"what a git notes command may have overwritten was not looked for: {error}")
        return ()


def name_restored(restored: Iterable[Memory]) -> list[str]:
    """Return what JSON says of memories that are back."""
    return [one.reference for one in restored]


def note_restored(restored: Sequence[Memory]) -> None:
    """Say which memories are back."""
    if restored:
        more = len(restored) - _MOST_NAMED
        named = ", ".join(name_restored(restored[:_MOST_NAMED]))
        rest = f" and {more} more" if more > 0 else ""
        many = count_memories(len(restored))
        render.note(f"{many} that a git notes command had overwritten came back: {named}{rest}")


def note_unreached(census: Mapping[Namespace, Tally]) -> None:
    """Warn of orphaned memories, with what brings them back; and say what is shown once."""
    if copies := sum(tally.copies for tally in census.values()):
        many = count_memories(copies)
        render.note(f"{many} on old commits stand on reached ones too: counted, and listed once")
    orphaned = {one: tally.orphaned for one, tally in census.items() if tally.orphaned}
    if orphaned:
        many = count_memories(sum(orphaned.values()))
        names = ", ".join(f"{one} {count}" for one, count in orphaned.items())
        render.note(f"{many} on commits that history does not reach ({names}): cspace notes rescue")
