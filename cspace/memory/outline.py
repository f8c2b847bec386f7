"""What of a MEMORY.md is a person's: all but the lines of the marked region, which are made."""

from __future__ import annotations

from cspace.memory.index import find_lines, find_region, set_lines

# Of an index in which nobody wrote anything.
PLAIN = set_lines(b"", ())


def outline_of(document: bytes | None) -> bytes | None:
    """Return a MEMORY.md without our lines, None for none.

    Raises:
        BrokenIndex: its markers are not one pair.
    """
    if document is None:
        return None
    region = find_region(document)
    return set_lines(document, ()) if region is None else _cut(document, region.start, region.end)


def _cut(document: bytes, start: int, end: int) -> bytes:
    return document[:start] + document[end:]


def with_outline(document: bytes, outline: bytes) -> bytes:
    """Return a MEMORY.md with its own lines and another one's text around them."""
    return set_lines(outline, find_lines(document))
