"""One record of a commit's note: its fields, its id, and how it is written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from cspace.docstore.frontmatter import Value, dump_front_matter
from cspace.notes.namespaces import Namespace

RESOLUTION, TOMBSTONE = "resolution", "tombstone"
ID_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Record:
    """An entry of a note. It never changes: what is said of it later is a record of its own.

    Attributes:
        id: what `identity` makes of it; who changes its text makes another record.
        body: any bytes, as text with surrogates in place of what is no UTF-8.
        of: the record that this one resolves or removes.
        status, resolution, resolved_at: as older tools wrote them into the record itself.
        source: its bytes as they stand, with one final line break.
        edited: somebody changed it after it was written: it claims another id than it has.
    """

    namespace: Namespace
    id: str
    type: str
    timestamp: datetime
    summary: str
    body: str
    spec: str | None = None
    phase: str | None = None
    tags: tuple[str, ...] = ()
    severity: str | None = None
    category: str | None = None
    file: str | None = None
    line: int | None = None
    of: str | None = None
    status: str | None = None
    resolution: str | None = None
    resolved_at: datetime | None = None
    source: bytes = b""
    edited: bool = False


def encode(text: str) -> bytes:
    """Return the bytes that a text stands for; any other stray surrogate is written as it is."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def identity(namespace: str, type_: str, spec: str | None, summary: str, body: str) -> str:
    """Return a record's id, which its commit and its time have no part in.

    It is the first 16 hex digits of the SHA-256 of namespace, type, spec, summary and body in this
    order, a NUL after each of the first four. None of these four can hold a NUL, so that no two
    different records are the same bytes. No spec is an empty one.
    """
    return head_of(namespace, type_, spec, summary, encode(body)).hexdigest()[:ID_LENGTH]


def head_of(
    namespace: str, type_: str, spec: str | None, summary: str, body: bytes = b""
) -> hashlib._Hash:
    """Return the hash of an id, to which more of a body can be added."""
    head = "".join(f"{one}\0" for one in (namespace, type_, spec or "", summary))
    return hashlib.sha256(encode(head) + body)


def format_time(time: datetime) -> str:
    """Write a time as records hold it: UTC, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def dump_record(record: Record) -> bytes:
    """Return a record's bytes: as they stand where it was read, else header, blank line and body.

    Ends with a line break that is not the body's.
    """
    if record.source:
        return record.source
    pairs: list[tuple[str, Value]] = [("id", record.id), ("type", record.type)]
    for key in ("of", "spec", "phase"):
        pairs += _pair(key, getattr(record, key))
    pairs += [("timestamp", record.timestamp.astimezone(UTC).replace(microsecond=0))]
    pairs += [("tags", record.tags)] if record.tags else []
    for key in ("severity", "category", "file"):
        pairs += _pair(key, getattr(record, key))
    pairs += [("line", str(record.line))] if record.line is not None else []
    pairs += [("summary", record.summary)]
    return dump_front_matter(pairs).encode("utf-8") + b"\n" + encode(record.body) + b"\n"


def _pair(key: str, value: str | None) -> list[tuple[str, Value]]:
    return [(key, value)] if value is not None else []
