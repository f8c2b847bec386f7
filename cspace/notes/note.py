"""A commit's note in one namespace: the records in it, and what else somebody wrote there.

A body may hold anything, whole records too. So it is not a body's text that says where it ends,
but the id in its header: the end is where the hash of the text before it is that id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cspace.clock import parse_time
from cspace.docstore.frontmatter import FrontMatter, parse_front_matter
from cspace.notes.namespaces import Namespace
from cspace.notes.record import ID_LENGTH, Record, head_of, identity

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Without an empty line, or the fence of the next record could close what is no header. Nothing of
# it is possessive: such a group that is captured finds nothing in Python 3.11.2, Debian 12's.
_HEADER = re.compile(
    rb"^---[ \t]*\r?\n((?:(?!---[ \t]*\r?$)(?![ \t\r]*$)[^\n]*\n)+)(?=---[ \t]*\r?(\n|\Z))",
    re.MULTILINE,
)
_REQUIRED = tuple(
    re.compile(rb"^%b[ \t]*:" % key, re.MULTILINE) for key in (b"type", b"timestamp", b"summary")
)
_ID = re.compile(rf"[0-9a-f]{{{ID_LENGTH}}}")
_NOTHING = frozenset({"", "null", "~"})
# What a note may cost to read, in bytes to hash: somebody can write one in which no hash is right.
_MOST_HASHED = 1 << 25
_COST_OF_A_LINE = 100


@dataclass(frozen=True, slots=True)
class Note:
    """What a blob holds: records in the order in which they stand, and bytes that are none."""

    records: tuple[Record, ...]
    stray: tuple[bytes, ...] = ()


@dataclass(slots=True)
class _Reading:
    namespace: Namespace
    content: bytes
    records: list[Record] = field(default_factory=list)
    stray: list[bytes] = field(default_factory=list)
    hashed: int = 0

    def read_all(self) -> None:
        at = 0
        while header := self._next_header(at):
            self._pass_over(at, header.start())
            at = self._read(header)
        self._pass_over(at, len(self.content))

    def _next_header(self, at: int) -> re.Match[bytes] | None:
        while found := _HEADER.search(self.content, at):
            if all(key.search(found[1]) for key in _REQUIRED):
                return found
            at = found.end()
        return None

    def _pass_over(self, start: int, end: int) -> None:
        if text := self.content[start:end].strip(b"\r\n"):
            self.stray.append(text)

    def _read(self, header: re.Match[bytes]) -> int:
        """Take up the record of a header, and return where it ends."""
        fence = self.content.find(b"\n", header.end()) + 1 or len(self.content)
        front = parse_front_matter(self.content[header.start() : fence])
        fields = _Fields(self.namespace, front)
        start = fence + self.content.startswith(b"\n", fence)
        following = self._next_header(fence)
        cut = following.start() if following else len(self.content)
        end = self._find_end(fields, start, cut)
        if end is not None:
            source = self.content[header.start() : end] + b"\n"
            self.records.append(fields.record(self.content[start:end], source))
            return min(end + 1, len(self.content))
        source = self.content[header.start() : cut].rstrip(b"\r\n") + b"\n"
        self.records.append(fields.record(self.content[start:cut].strip(b"\r\n"), source))
        return cut

    def _find_end(self, fields: _Fields, start: int, likely: int) -> int | None:
        """Return where the body ends whose hash is the id, None where there is no such place.

        Args:
            likely: where it ends, or an empty line follows and then another record, as a rule.
        """
        if fields.claimed is None:
            return None
        text = head_of(self.namespace, fields.type, fields.spec, fields.summary)
        for end in (likely - 1, likely - 2):
            if end >= start and self.content.startswith(b"\n", end):
                whole = text.copy()
                whole.update(self.content[start:end])
                self.hashed += end - start
                if whole.hexdigest()[:ID_LENGTH] == fields.claimed:
                    return end
        return self._search_end(text, start, fields.claimed)

    def _search_end(self, text: hashlib._Hash, at: int, claimed: str) -> int | None:
        """Try every end of a line, with the hash of what stands before the body."""
        while self.hashed < _MOST_HASHED:
            found = self.content.find(b"\n", at)
            end = found if found >= 0 else len(self.content)
            self.hashed += end - at + _COST_OF_A_LINE
            text.update(self.content[at:end])
            if text.hexdigest()[:ID_LENGTH] == claimed:
                return end
            if found < 0:
                return None
            text.update(b"\n")
            at = end + 1
        return None


@dataclass(slots=True)
class _Fields:
    """A header's fields, leniently: older tools left the id out, and wrote null for nothing."""

    namespace: Namespace
    front: FrontMatter
    claimed: str | None = None
    type: str = ""
    summary: str = ""
    spec: str | None = None

    def __post_init__(self) -> None:
        claimed = self.front.text("id") or ""
        self.claimed = claimed if _ID.fullmatch(claimed) else None
        self.type = self.front.text("type") or self.namespace.type
        self.summary = self._text("summary") or ""
        self.spec = self._text("spec")

    def record(self, body: bytes, source: bytes) -> Record:
        text = body.decode("utf-8", "surrogateescape")
        one = identity(self.namespace, self.type, self.spec, self.summary, text)
        line = self._text("line") or ""
        return Record(
            namespace=self.namespace, id=one, type=self.type,
            timestamp=self._time("timestamp") or _EPOCH,
            summary=self.summary, body=text, spec=self.spec, phase=self._text("phase"),
            tags=self.front.texts("tags"), severity=self._text("severity"),
            category=self._text("category"), file=self._text("file"),
            line=int(line) if re.fullmatch("[0-9]{1,9}", line) else None,
            of=self._text("of"), status=self._text("status"),
            resolution=self._text("resolution"), resolved_at=self._time("resolved_at"),
            source=source, edited=self.claimed not in (None, one),
        )  # fmt: skip

    def _text(self, key: str) -> str | None:
        if self.claimed is not None or key not in self.front.values:
            return self.front.text(key)
        value = self.front.prose(key)
        return None if value in _NOTHING else value

    def _time(self, key: str) -> datetime | None:
        value = self.front.text(key)
        return parse_time(value) if value else None


def parse_note(namespace: Namespace, content: bytes) -> Note:
    """Read a note, whoever wrote it; never fails."""
    reading = _Reading(namespace, content)
    reading.read_all()
    return Note(tuple(reading.records), tuple(reading.stray))


def write_note(stray: Iterable[bytes], records: Iterable[bytes]) -> bytes:
    """Return a note of what is no record, and of records' bytes, an empty line between each two."""
    return b"\n".join((*(part + b"\n" for part in stray), *records))


def append_record(content: bytes, record: bytes) -> bytes:
    """Add a record's bytes to a note, of which every byte stays."""
    if not content:
        return record
    return content + (b"\n" if content.endswith(b"\n") else b"\n\n") + record
