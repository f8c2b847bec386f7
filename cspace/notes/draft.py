"""What somebody wants to capture, before it is a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from cspace.errors import UsageError
from cspace.notes.namespaces import Namespace
from cspace.notes.record import RESOLUTION, TOMBSTONE, Record, encode, identity

SEVERITIES = ("critical", "high", "medium", "low")
CATEGORIES = ("security", "performance", "architecture", "quality", "tests", "documentation")
MAX_SUMMARY, MAX_WORD, MAX_FILE = 100, 100, 1024
MAX_TAGS = 32
MAX_BODY = 256 * 1024
_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Draft:
    """The fields of a record to be; `check_draft` tells what is wrong with them."""

    namespace: Namespace
    summary: str
    body: str
    type: str | None = None
    spec: str | None = None
    phase: str | None = None
    tags: tuple[str, ...] = ()
    severity: str | None = None
    category: str | None = None
    file: str | None = None
    line: int | None = None

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each field that somebody wrote."""
        for name in ("summary", "body", "type", "spec", "phase", "severity", "category", "file"):
            if text := getattr(self, name):
                yield name, text
        for tag in self.tags:
            yield "tag", tag

    def record(self, at: datetime) -> Record:
        """Return the record that it becomes; it has been checked."""
        type_ = self.type or self.namespace.type
        return Record(
            namespace=self.namespace, type=type_, timestamp=at.replace(microsecond=0),
            id=identity(self.namespace, type_, self.spec, self.summary, self.body),
            summary=self.summary, body=self.body, spec=self.spec, phase=self.phase,
            tags=tuple(dict.fromkeys(self.tags)), severity=self.severity, category=self.category,
            file=self.file, line=self.line,
        )  # fmt: skip


def check_draft(draft: Draft) -> None:
    """Refuse what no record can hold.

    Raises:
        UsageError: names the field, its value and what to do.
    """
    _check_line("summary", draft.summary, MAX_SUMMARY)
    _check_type(draft.type)
    for name in ("spec", "phase"):
        if (value := getattr(draft, name)) is not None:
            _check_line(name, value, MAX_WORD)
    if len(draft.tags) > MAX_TAGS:
        raise UsageError(f"tags: {len(draft.tags)} of them", hint=f"use at most {MAX_TAGS}")
    for tag in draft.tags:
        _check_line("tag", tag, MAX_WORD)
    check_body(draft.body)
    _check_review(draft)


def check_body(body: str) -> None:
    """Refuse a body that is too long.

    Raises:
        UsageError: it is.
    """
    if (size := len(encode(body))) > MAX_BODY:
        raise UsageError(
            f"body: {size} bytes, more than {MAX_BODY}",
            hint="keep what matters, and name the file where the rest is",
        )


def _check_line(name: str, value: str, limit: int) -> None:
    """Refuse what is no plain line of a header."""
    if not value.strip():
        raise UsageError(f"{name} {value!r}: it is empty", hint=f"say it in a few words: {name}")
    if value != value.strip():
        raise UsageError(f"{name} {value!r}: it starts or ends with a space", hint="remove it")
    odd = next((mark for mark in value if not mark.isprintable()), None)
    if odd is not None:
        raise UsageError(
            f"{name} {value!r}: it holds {odd!r}", hint="write one line of printable text"
        )
    if len(value) > limit:
        raise UsageError(
            f"{name} {value!r}: {len(value)} characters, more than {limit}",
            hint="shorten it; the body takes the rest",
        )


def _check_type(value: str | None) -> None:
    if value is None:
        return
    if not _TYPE.fullmatch(value):
        raise UsageError(
            f"type {value!r}: it is no plain word", hint="use small letters, digits, _ and -"
        )
    if value in (RESOLUTION, TOMBSTONE):
        command = "resolve" if value == RESOLUTION else "forget"
        raise UsageError(
            f"type {value!r}: it is written by another command", hint=f"cspace notes {command}"
        )


def _check_review(draft: Draft) -> None:
    for name in ("severity", "category", "file", "line"):
        if getattr(draft, name) is not None and draft.namespace is not Namespace.REVIEWS:
            raise UsageError(
                f"{name} {getattr(draft, name)!r}: only a review finding has it",
                hint=f"capture it in {Namespace.REVIEWS.value}, or leave {name} out",
            )
    for name, known in (("severity", SEVERITIES), ("category", CATEGORIES)):
        if (value := getattr(draft, name)) is not None and value not in known:
            raise UsageError(f"{name} {value!r}: unknown", hint=f"use one of: {', '.join(known)}")
    if draft.file is not None:
        _check_line("file", draft.file, MAX_FILE)
    if draft.line is not None and not 0 < draft.line < 10**9:
        raise UsageError(f"line {draft.line}: there is no such line", hint="count from 1")
