"""A record with the commit that it stands on, and what later records say of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cspace.notes.namespaces import Namespace
from cspace.notes.note import Note
from cspace.notes.record import Record

Status = Literal["open", "resolved"]


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
    raise NotImplementedError
