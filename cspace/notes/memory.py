"""A record with the commit that it stands on, and what later records say of it."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from cspace.notes.forgetting import removed_ids
from cspace.notes.namespaces import Namespace
from cspace.notes.note import Note
from cspace.notes.record import RESOLUTION, TOMBSTONE, Record

SHORT_COMMIT, SHORT_ID = 7, 4
Status = Literal["open", "resolved"]
_RESOLVED = frozenset({"resolved", "closed", "done", "fixed"})


@dataclass(frozen=True, slots=True)
class Memory:
    """What is shown and found.

    Attributes:
        commit: the full id of the commit.
        reference: `decisions:1a2b3c4`, with `/<id's start>` where the commit has several there.
        status: None where nothing is to be resolved.
        resolution: the text that resolved it.
    """

    record: Record
    commit: str
    reference: str
    status: Status | None = None
    resolution: str | None = None
    resolved_at: datetime | None = None

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def namespace(self) -> Namespace:
        return self.record.namespace


def settle(namespace: Namespace, commit: str, note: Note) -> tuple[Memory, ...]:
    """Return a note's memories in the order in which they stand.

    Without removed ones; resolutions and tombstones are folded in, and are none themselves.
    """
    removed = removed_ids(note.records)
    living: dict[str, Record] = {}
    resolutions: dict[str, Record] = {}
    for record in note.records:
        if record.id in removed or record.type == TOMBSTONE:
            continue
        if record.type != RESOLUTION:
            living.setdefault(record.id, record)
        elif record.of is not None:
            before = resolutions.get(record.of, record)
            resolutions[record.of] = max(before, record, key=_age)
    ordered = sorted(living)
    memories = (remember(record, commit, ordered) for record in living.values())
    if not namespace.has_status:
        return tuple(memories)
    return tuple(_status(memory, resolutions) for memory in memories)


def remember(record: Record, commit: str, ordered: Sequence[str]) -> Memory:
    """Return a record's memory, open where it can be resolved.

    Args:
        ordered: the ids of all records on that commit, sorted.
    """
    place = f"{record.namespace}:{commit[:SHORT_COMMIT]}"
    reference = f"{place}/{_short(record.id, ordered)}" if len(ordered) > 1 else place
    return Memory(record, commit, reference, "open" if record.namespace.has_status else None)


def _status(memory: Memory, resolutions: Mapping[str, Record]) -> Memory:
    record = memory.record
    if said := resolutions.get(record.id):
        return replace(memory, status="resolved", resolution=said.body, resolved_at=said.timestamp)
    if (record.status or "").lower() in _RESOLVED:
        return replace(
            memory, status="resolved", resolution=record.resolution,
            resolved_at=record.resolved_at,
        )  # fmt: skip
    return memory


def _age(record: Record) -> tuple[datetime, str]:
    return record.timestamp, record.id


def _short(one: str, ordered: Sequence[str]) -> str:
    """Return an id's shortest start that no other id has."""
    at = bisect.bisect_left(ordered, one)
    near = (
        *ordered[max(0, at - 1) : at],
        *(other for other in ordered[at : at + 2] if other != one),
    )
    return one[: max(SHORT_ID, 1 + max((_shared(one, other) for other in near), default=0))]


def _shared(one: str, other: str) -> int:
    return next(
        (at for at, marks in enumerate(zip(one, other, strict=True)) if len({*marks}) > 1), 0
    )
