"""Keeps what looks like a secret out of notes, which everybody gets who fetches them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cspace.errors import UsageError
from cspace.leaks.scan import Leak, scan
from cspace.notes.record import Record

# What readers are shown of a header; YAML may write any character of it as an escape.
_SHOWN = (
    "summary",
    "spec",
    "phase",
    "type",
    "severity",
    "category",
    "file",
    "status",
    "resolution",
)


class LeakFound(UsageError):
    """A text looks like a secret; it is not repeated.

    Attributes:
        leaks: the field of each, and where in it.
    """

    def __init__(self, leaks: tuple[tuple[str, Leak], ...]) -> None:
        places = "; ".join(f"{field}: {leak}" for field, leak in leaks)
        super().__init__(
            f"what looks like a secret was not captured: {places}",
            hint="take it out; if it is none, capture it with --allow-secret",
        )
        self.leaks = leaks


def refuse_leaks(texts: Iterable[tuple[str, str]]) -> None:
    """Refuse texts, each with its field's name, that hold a secret.

    Raises:
        LeakFound: at least one does.
    """
    leaks = tuple((field, leak) for field, text in texts for leak in scan(text))
    if leaks:
        raise LeakFound(leaks)


def find_leaks(record: Record) -> Iterator[tuple[str, Leak]]:
    """Yield what looks like a secret in a record that somebody else wrote.

    First in its bytes as they stand, with an empty name; then in the fields that say something else
    than stands there, with the field's name, counted from the field's beginning.
    """
    source = record.source.decode("utf-8", "surrogateescape")
    yield from (("", leak) for leak in scan(source))
    shown = [(name, getattr(record, name)) for name in _SHOWN]
    for name, value in (*shown, *(("tag", tag) for tag in record.tags)):
        if value and value not in source:
            yield from ((name, leak) for leak in scan(value))
