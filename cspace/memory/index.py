"""MEMORY.md: one line for each memory in a marked region; the text around it is a person's.

Rule for the markers: each stands alone on its line, and one inside of a code block is text. There
is one pair of them, or none, and then a region is added at the end. Anything else is refused,
because nobody can tell which lines are ours.
"""

from __future__ import annotations

import bisect
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from cspace.docstore.frontmatter import BOM
from cspace.docstore.sections import list_fenced
from cspace.errors import CspaceError
from cspace.memory.entries import plain_line

BEGIN = b"<!-- cspace:index:begin -->"
END = b"<!-- cspace:index:end -->"
# How many lines a reader of every session should have to read.
BUDGET = 150

_OPENS = b"<!-- cspace:index:"
_LABEL = re.compile(r"([\\\[\]])")
_LINE = re.compile(rb"^- \[(?:\\.|[^\\\]])*\]\(([^()\s]*)\)(?=:|\r?\n)", re.MULTILINE)


class BrokenIndex(CspaceError):
    """The markers in a MEMORY.md do not say which lines are ours."""


@dataclass(frozen=True, slots=True)
class Region:
    """Where our lines stand in a document, markers excluded."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Marker:
    """A marker's line, with its end."""

    start: int
    end: int
    begins: bool


def find_region(document: bytes) -> Region | None:
    """Find our lines, None where there are none. Costs what finding a few bytes does.

    Raises:
        BrokenIndex: the markers are not one pair.
    """
    found = list(_iter_markers(document))
    if not found:
        return None
    if not _is_pair(found) or _may_be_fenced(document, found):
        found = _outside_code(document, found)
    if not found:
        return None
    if not _is_pair(found):
        lines = ", ".join(str(document.count(b"\n", 0, one.start) + 1) for one in found[:5])
        raise BrokenIndex(
            f"the markers of cspace are not one pair, in line {lines}",
            hint="leave one begin and one end, or none, then: cspace memory reindex --all",
        )
    return Region(found[0].end, found[1].start)


def _iter_markers(document: bytes) -> Iterator[_Marker]:
    at = document.find(_OPENS)
    while at >= 0:
        start = document.rfind(b"\n", 0, at) + 1
        end = _line_end(document, at)
        text = document[start:end].removeprefix(BOM).strip(b" \t\r\n")
        if text in (BEGIN, END):
            yield _Marker(start, end, text == BEGIN)
        at = document.find(_OPENS, end)


def _line_end(document: bytes, position: int) -> int:
    end = document.find(b"\n", position)
    return len(document) if end < 0 else end + 1


def _is_pair(found: list[_Marker]) -> bool:
    return [one.begins for one in found] == [True, False]


def _may_be_fenced(document: bytes, pair: list[_Marker]) -> bool:
    """Tell whether a pair may stand in a code block. Our own lines, which are many, open none."""
    outside = document[: pair[0].start], document[pair[1].end :]
    return any(b"```" in part or b"~~~" in part for part in outside)


def _outside_code(document: bytes, found: list[_Marker]) -> list[_Marker]:
    # Latin-1: every byte is a character, so places stay what they are.
    blocks = list_fenced(document.decode("latin-1"))
    starts = [block.start for block in blocks]

    def is_text(one: _Marker) -> bool:
        at = bisect.bisect(starts, one.start) - 1
        return at >= 0 and one.start < blocks[at].end

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
    found = list(_iter_lines_of(document, prefix, region))
    written = b"" if line is None else line + _ending(document, region)
    if not found:
        at = _place_of(document, region, written)
        return document[:at] + written + document[at:]
    # The first is replaced, and a second one, which nobody needs, goes.
    for start, end in reversed(found[1:]):
        document = document[:start] + document[end:]
    return document[: found[0][0]] + written + document[found[0][1] :]


def _iter_lines_of(document: bytes, prefix: bytes, region: Region) -> Iterator[tuple[int, int]]:
    at = document.find(prefix, region.start, region.end)
    while at >= 0:
        end = _line_end(document, at)
        alone = at == region.start or document[at - 1 : at] == b"\n"
        if alone and document[at + len(prefix) : at + len(prefix) + 1] in b":\r\n":
            yield at, end
        at = document.find(prefix, end, region.end)


def _place_of(document: bytes, region: Region, line: bytes) -> int:
    """Return where a line belongs among sorted ones."""
    low, high = region.start, region.end
    while low < high:
        middle = (low + high) // 2
        start = max(low, document.rfind(b"\n", low, middle) + 1)
        end = _line_end(document, start)
        if document[start:end] <= line:
            low = end
        else:
            high = start
    return low


def has_twin(document: bytes, prefix: bytes) -> bool:
    """Tell whether a line is of a name that differs from prefix's in case only."""
    region = find_region(document)
    if region is None:
        return False
    lower = document.lower()
    found = sum(1 for _ in _iter_lines_of(lower, prefix.lower(), region))
    return found > sum(1 for _ in _iter_lines_of(document, prefix, region))


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


def keep_lines(document: bytes, is_kept: Callable[[str], bool]) -> bytes:
    """Return document without our lines of which the target, as `testing.md`, is not kept.

    Raises:
        BrokenIndex: the markers are not one pair.
    """
    region = find_region(document)
    if region is None:
        return document
    ours = document[region.start : region.end]
    odd = {target for target in _LINE.findall(ours) if not is_kept(_unquote(target))}
    if not odd:
        return document
    found = ((line, _LINE.match(line)) for line in ours.splitlines(keepends=True))
    kept = (line for line, one in found if one is None or one[1] not in odd)
    return document[: region.start] + b"".join(kept) + document[region.end :]


def _unquote(target: bytes) -> str:
    return urllib.parse.unquote_to_bytes(target).decode("utf-8", "replace")


def find_lines(document: bytes) -> tuple[bytes, ...]:
    """Return our lines without their ends; none where there is no region.

    Raises:
        BrokenIndex: the markers are not one pair.
    """
    region = find_region(document)
    if region is None:
        return ()
    return tuple(document[region.start : region.end].splitlines())
