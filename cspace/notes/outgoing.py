"""Looks for secrets in notes before they go where everybody gets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cspace.leaks.scan import Leak, scan
from cspace.notes.memory import SHORT_COMMIT, SHORT_ID
from cspace.notes.namespaces import Namespace
from cspace.notes.note import Note, parse_note
from cspace.notes.secrets import find_leaks as leaks_of
from cspace.notes.union import Union


@dataclass(frozen=True, slots=True)
class Leaked:
    """A suspected secret in a record, or in what is none; holds no part of it.

    Attributes:
        reference: of the record; only its commit's where it stands beside records.
        leak: counted from the record's header on.
    """

    namespace: Namespace
    reference: str
    leak: Leak

    def __str__(self) -> str:
        return f"{self.reference}: {self.leak}"


def find_leaks(union: Union) -> Iterator[Leaked]:
    """Yield what looks like a secret in what the other side does not have yet."""
    for one in union.outgoing:
        known = parse_note(union.namespace, one.theirs)
        yield from scan_note(union.namespace, one.commit, one.merged, known)


def scan_note(
    namespace: Namespace, commit: str, content: bytes, known: Note | None = None
) -> Iterator[Leaked]:
    """Yield what looks like a secret in a note.

    Args:
        known: what needs no look.
    """
    place = f"{namespace}:{commit[:SHORT_COMMIT]}"
    note = parse_note(namespace, content)
    ids = {one.id for one in known.records} if known else set()
    stray = set(known.stray) if known else set()
    for record in note.records:
        if record.id not in ids:
            reference = f"{place}/{record.id[:SHORT_ID]}"
            yield from (Leaked(namespace, reference, leak) for _, leak in leaks_of(record))
    for part in note.stray:
        if part not in stray:
            text = part.decode("utf-8", "replace")
            yield from (Leaked(namespace, place, leak) for leak in scan(text))
