"""MEMORY.md: one line for each memory in a marked region; the text around it is a person's.

Rule for the markers: each stands alone on its line, and one inside of a code block is text. There
is one pair of them, or none, and then a region is added at the end. Anything else is refused,
because nobody can tell which lines are ours.
"""

from __future__ import annotations

import bisect
import re
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass

from cspace.docstore.frontmatter import BOM
from cspace.docstore.sections import list_fenced
from cspace.errors import CspaceError
from cspace.memory.entries import plain_line

BEGIN = b"<!-- cspace:index:begin -->"
END = b"<!-- cspace:index:end -->"
# How many lines a reader of every session should have to read.
BUDGET = 150

_MARKER = re.compile(
    rb"^(?:\xef\xbb\xbf)?[ \t]*(?:(" + re.escape(BEGIN) + rb")|" + re.escape(END) + rb")[ \t]*\r?$",
    re.MULTILINE,
)
_LABEL = re.compile(r"([\\\[\]])")


class BrokenIndex(CspaceError):
    """The markers in a MEMORY.md do not say which lines are ours."""


@dataclass(frozen=True, slots=True)
class Region:
    """Where our lines stand in a document, markers excluded."""

    start: int
    end: int


def find_region(document: bytes) -> Region | None:
    """Find our lines, None where there are none.

    Raises:
        BrokenIndex: the markers are not one pair.
    """
    found = list(_MARKER.finditer(document))
    if not found:
        return None
    if len(found) != 2 or not found[0][1] or found[1][1] or _is_fenced(document, found):
        found = _outside_code(document, found)
    if not found:
        return None
    if len(found) != 2 or not found[0][1] or found[1][1]:
        lines = ", ".join(str(document.count(b"\n", 0, one.start()) + 1) for one in found[:5])
        raise BrokenIndex(
            f"MEMORY.md has markers of cspace that are not one pair, in line {lines}",
            hint="leave one begin and one end in it, or none, then: cspace memory reindex",
        )
    return Region(_next_line(document, found[0].end()), found[1].start())


def _next_line(document: bytes, position: int) -> int:
    end = document.find(b"\n", position)
    return len(document) if end < 0 else end + 1


def _is_fenced(document: bytes, pair: list[re.Match[bytes]]) -> bool:
    """Tell whether a pair may stand in a code block. Our own lines, which are many, open none."""
    outside = document[: pair[0].start()], document[pair[1].end() :]
    return any(b"```" in part or b"~~~" in part for part in outside)


def _outside_code(document: bytes, found: list[re.Match[bytes]]) -> list[re.Match[bytes]]:
    # Latin-1: every byte is a character, so places stay what they are.
    blocks = list_fenced(document.decode("latin-1"))
    starts = [block.start for block in blocks]

    def is_text(one: re.Match[bytes]) -> bool:
        at = bisect.bisect(starts, one.start()) - 1
        return at >= 0 and one.start() < blocks[at].end

    return [one for one in found if not is_text(one)]


def _prefix(name: str, target: str) -> bytes:
    label = _LABEL.sub(r"\\\1", name)
    return f"- [{label}]({urllib.parse.quote(target, safe='/')})".encode("utf-8", "replace")


def entry_prefix(slug: str) -> bytes:
    """Return what a memory's line begins with, and no other's does."""
    return _prefix(slug, f"{slug}.md")


def scope_prefix(scope: str) -> bytes:
    """Return what a scope's line in the root's own index begins with."""
    return _prefix(scope, f"{scope}/MEMORY.md")


def dump_line(prefix: bytes, description: str) -> bytes:
    """Write a line without its end."""
    text = plain_line(description)
    return prefix + (f": {text}".encode("utf-8", "replace") if text else b"")


def set_line(document: bytes, prefix: bytes, line: bytes | None) -> bytes | None:
    """Return document with the one line that begins with prefix replaced, added or removed.

    Every other byte stays. None where there is no region: it is to be made anew.

    Raises:
        BrokenIndex: the markers are not one pair.
    """
    region = find_region(document)
    if region is None:
        return None
    lines = document[region.start : region.end].splitlines(keepends=True)
    kept = [one for one in lines if not _is_line_of(one, prefix)]
    if line is not None:
        kept.insert(bisect.bisect(kept, line), line + _ending(document, region))
    return document[: region.start] + b"".join(kept) + document[region.end :]


def set_lines(document: bytes, lines: Iterable[bytes]) -> bytes:
    """Return document with all our lines made anew; the region is added where there is none.

    Raises:
        BrokenIndex: the markers are not one pair.
    """
    region = find_region(document)
    if region is None:
        document, region = _with_region(document)
    ending = _ending(document, region)
    written = b"".join(line + ending for line in sorted(lines))
    return document[: region.start] + written + document[region.end :]


def _with_region(document: bytes) -> tuple[bytes, Region]:
    ending = b"\r\n" if b"\r\n" in document else b"\n"
    text = document.removeprefix(BOM)
    if text and not text.endswith(b"\n"):
        document += ending
    if text and not text.endswith((b"\n\n", b"\n\r\n")):
        document += ending
    start = len(document) + len(BEGIN) + len(ending)
    return document + BEGIN + ending + END + ending, Region(start, start)


def _ending(document: bytes, region: Region) -> bytes:
    return b"\r\n" if document.endswith(b"\r\n", 0, region.start) else b"\n"


def _is_line_of(line: bytes, prefix: bytes) -> bool:
    return line.startswith(prefix) and line[len(prefix) : len(prefix) + 1] in b":\r\n"


def find_lines(document: bytes) -> tuple[bytes, ...]:
    """Return our lines without their ends; none where there is no region.

    Raises:
        BrokenIndex: the markers are not one pair.
    """
    region = find_region(document)
    if region is None:
        return ()
    return tuple(document[region.start : region.end].splitlines())
