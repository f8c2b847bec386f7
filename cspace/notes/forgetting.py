"""What a tombstone leaves of the record that it names: nothing. A note keeps the tombstone alone.

So a text that somebody forgot is in no note any more; git's history of the notes still has it.
"""

from __future__ import annotations

from collections.abc import Iterable

from cspace.notes.namespaces import Namespace
from cspace.notes.note import parse_note, write_note
from cspace.notes.record import RESOLUTION, TOMBSTONE, Record


def removed_ids(records: Iterable[Record]) -> frozenset[str]:
    """Return the ids that tombstones name."""
    return frozenset(one.of for one in records if one.type == TOMBSTONE and one.of)


def without_forgotten(
    records: Iterable[Record], also: frozenset[str] = frozenset()
) -> tuple[Record, ...]:
    """Return records without those that a tombstone among them names, and what resolved these.

    Tombstones stay, whatever names them: what was forgotten does not come back.

    Args:
        also: ids that were forgotten elsewhere.
    """
    known = tuple(records)
    removed = removed_ids(known) | also
    return tuple(one for one in known if not _is_killed(one, removed))


def drop_forgotten(
    namespace: Namespace, content: bytes, also: frozenset[str] = frozenset()
) -> bytes:
    """Return a note without the bytes of forgotten records; all others stay.

    Where there are none it is the same, and costs no more than a look for the word.
    """
    if not also and TOMBSTONE.encode() not in content:
        return content
    note = parse_note(namespace, content)
    kept = without_forgotten(note.records, also)
    if len(kept) == len(note.records):
        return content
    return write_note(note.stray, (one.source for one in kept))


def _is_killed(record: Record, removed: frozenset[str]) -> bool:
    if record.type == TOMBSTONE:
        return False
    return record.id in removed or (record.type == RESOLUTION and record.of in removed)
