"""The set union of notes.

Records are one where their ids are. Paragraphs of what is no record are one where their bytes are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cspace.notes.forgetting import drop_forgotten, without_forgotten
from cspace.notes.namespaces import Namespace
from cspace.notes.note import Note, parse_note, write_note
from cspace.notes.record import Record

_EMPTY_LINES = re.compile(rb"\r?\n(?:[ \t]*\r?\n)+")


def merge_notes(namespace: Namespace, *contents: bytes) -> bytes:
    """Return a note with every record, and every stray paragraph, of all contents.

    Of a record that a tombstone of one of them names, no byte is left. The order of contents does
    not matter, and a merge with what is in the result changes nothing.
    A content that holds all there is, is the result as it stands.
    """
    different = sorted({drop_forgotten(namespace, one) for one in contents if one})
    if len(different) < 2:
        return b"".join(different)
    notes = {content: parse_note(namespace, content) for content in different}
    records = _unite(
        without_forgotten(record for note in notes.values() for record in note.records)
    )
    stray = {part for note in notes.values() for part in _paragraphs(note)}
    for content, note in notes.items():
        if _unite(note.records) == records and _paragraphs(note) >= stray:
            return content
    ordered = sorted(records.values(), key=_order)
    return write_note(sorted(stray), (record.source for record in ordered))


def _unite(records: Iterable[Record]) -> dict[str, Record]:
    """Return one record for each id: the one that its writer left, of several the oldest."""
    united: dict[str, Record] = {}
    for record in sorted(records, key=_order):
        united.setdefault(record.id, record)
    return united


def _order(record: Record) -> tuple[bool, float, str, bytes]:
    # Those whose text is their writer's come first: what follows them can not hide them.
    return record.edited, record.timestamp.timestamp(), record.id, record.source


def _paragraphs(note: Note) -> set[bytes]:
    return {part for text in note.stray for part in _EMPTY_LINES.split(text) if part}
