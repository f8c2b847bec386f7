"""A commit's note in one namespace: the records in it, and what else somebody wrote there."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.notes.namespaces import Namespace
from cspace.notes.record import Record


@dataclass(frozen=True, slots=True)
class Note:
    """What a blob holds: records in the order in which they stand, and bytes that are none."""

    records: tuple[Record, ...]
    stray: tuple[bytes, ...] = ()


def parse_note(namespace: Namespace, content: bytes) -> Note:
    """Read a note, whoever wrote it; never fails."""
    raise NotImplementedError
