"""A finding's updates as the bytes that stand in its file, to compare and to unite them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from cspace.context.entryfile import UPDATE_HEADING
from cspace.context.records import LAYOUTS, UPDATES, Kind


@dataclass(frozen=True, slots=True)
class Block:
    """One update: what its heading says, and its text from there to the next, framing excluded."""

    time: str
    author: str
    status: str
    text: str

    @property
    def heading(self) -> tuple[str, str, str]:
        """What tells updates apart as long as nobody writes two in one second."""
        return self.time, self.author, self.status


@dataclass(frozen=True, slots=True)
class History:
    """A finding's file, divided before its first update; with surrogates for what is not UTF-8."""

    head: str
    blocks: tuple[Block, ...]


def parse_history(document: bytes) -> History:
    """Divide a finding's file; one without a section of updates has none."""
    text = document.decode("utf-8", "surrogateescape")
    span = LAYOUTS[Kind.FINDING].locate(text).get(UPDATES)
    found = list(UPDATE_HEADING.finditer(text, span.start)) if span else []
    if not found:
        return History(text, ())
    ends = [*(one.start() for one in found[1:]), len(text)]
    blocks = tuple(
        Block(one[1], one[2], one[3], _unframed(text[one.start() : end], last=end == len(text)))
        for one, end in zip(found, ends, strict=True)
    )
    return History(text[: found[0].start()], blocks)


def lacks(present: History, recorded: Iterable[History]) -> tuple[Block, ...]:
    """Return the updates that a recorded version has and the present one has not, by time.

    One whose note was edited since is there: it stands under the same heading.
    """
    have = Counter(present.blocks)
    headings = Counter(block.heading for block in present.blocks)
    missing: list[Block] = []
    for version in recorded:
        wanted = Counter(version.blocks)
        under = Counter(block.heading for block in version.blocks)
        for block in version.blocks:
            if wanted[block] > have[block] and under[block.heading] > headings[block.heading]:
                have[block] += 1
                headings[block.heading] += 1
                missing.append(block)
    return tuple(sorted(missing, key=lambda block: block.time))


def unite(present: History, missing: Iterable[Block]) -> bytes:
    """Return the file with the missing updates where their time puts them; the others stay."""
    blocks = list(present.blocks)
    for block in missing:
        later = (place for place, one in enumerate(blocks) if one.time > block.time)
        blocks.insert(next(later, len(blocks)), block)
    body = "\n".join(f"{block.text}\n" for block in blocks)
    return (present.head + body).encode("utf-8", "surrogateescape")


def _unframed(text: str, *, last: bool) -> str:
    """Drop the line end that closes a block, and the empty line before the next one."""
    for _ in range(1 if last else 2):
        text = text.removesuffix("\n")
    return text
