"""Which memories are listed, and the number that each has in the order of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is listed.

    Attributes:
        namespaces: empty for all.
        tags: a memory has to have all of them.
        since: when the record was made.
        status: open or resolved.
        limit: the newest so many; None for all.
    """

    namespaces: tuple[Namespace, ...] = ()
    spec: str | None = None
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    status: str | None = None
    limit: int | None = None

    def covers(self, memory: Memory) -> bool:
        """Tell whether a memory is one of those, whatever the limit."""
        record = memory.record
        return (
            (not self.namespaces or record.namespace in self.namespaces)
            and self.spec in (None, record.spec)
            and set(self.tags) <= set(record.tags)
            and (self.since is None or record.timestamp >= self.since)
            and self.status in (None, memory.status)
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A memory with its number, which is for reading only: it is kept nowhere and changes."""

    number: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class Listed:
    """What was asked for, the oldest first.

    Attributes:
        left_out: how many older ones the limit leaves out; the numbers count them.
    """

    rows: tuple[Row, ...]
    left_out: int


def list_memories(memories: Iterable[Memory], wanted: Wanted) -> Listed:
    """Choose the memories that are wanted, and number them by time."""
    found = sorted(filter(wanted.covers, memories), key=_order)
    left_out = 0 if wanted.limit is None else max(0, len(found) - wanted.limit)
    return number_memories(found[left_out:], left_out)


def number_memories(memories: Iterable[Memory], left_out: int) -> Listed:
    """Number memories that are in order, of which so many older ones were left out."""
    rows = tuple(Row(number, one) for number, one in enumerate(memories, start=left_out + 1))
    return Listed(rows, left_out)


def _order(memory: Memory) -> tuple[datetime, str, str, str]:
    # Of one time, in the order of their keys in an index.
    record = memory.record
    return (record.timestamp, str(record.namespace), memory.commit, record.id)
