"""A finding's file in the parts that a merge moves, none of which loses a byte."""

from __future__ import annotations

import datetime
import itertools
from dataclasses import dataclass

from cspace.clock import parse_time
from cspace.context.entryfile import UPDATE_HEADING
from cspace.context.records import LAYOUTS, UPDATES, Kind
from cspace.docstore import frontmatter
from cspace.docstore.sections import unframed


@dataclass(frozen=True, slots=True)
class Block:
    """One update as it stands in a file.

    Attributes:
        text: its heading and its note.
        framing: what follows until the next block or the end.
        last: whether it ended its file, where framing is another.
        key: heading and note, without what ends their lines.
    """

    time: datetime.datetime
    author: str
    status: str
    text: str
    framing: str
    last: bool
    ending: str
    key: tuple[str, str]

    @property
    def heading(self) -> tuple[datetime.datetime, str, str]:
        """What tells updates apart as long as nobody writes two in one second."""
        return self.time, self.author, self.status

    def framed(self, *, last: bool, ending: str) -> str:
        """Return its text with what has to follow it in another place.

        Args:
            last: whether nothing follows.
            ending: the line end that closes a file.
        """
        if last == self.last:
            return self.text + self.framing
        return self.text + (ending if last else self.ending * 2)


@dataclass(frozen=True, slots=True)
class Header:
    """A front matter: its fences, and its lines between them."""

    opening: bytes
    lines: bytes
    closing: bytes


@dataclass(frozen=True, slots=True)
class Parts:
    """A finding's file.

    Attributes:
        body: what stands between the front matter and the first update; bytes that are not UTF-8
            are lone surrogates.
        ending: the line end that closes the file.
    """

    header: Header
    body: str
    blocks: tuple[Block, ...]
    ending: str

    def document(self, blocks: tuple[Block, ...], ending: str) -> bytes:
        """Return the file with other updates."""
        last = len(blocks) - 1
        body = self.body
        if blocks and not self.blocks and body:
            body = self._opened()
        text = "".join(
            block.framed(last=place == last, ending=ending) for place, block in enumerate(blocks)
        )
        header = self.header
        whole = (body + text).encode("utf-8", "surrogateescape")
        return header.opening + header.lines + header.closing + whole

    def _opened(self) -> str:
        """Return the body with a section that updates can follow."""
        body = self.body if self.body.endswith("\n") else f"{self.body}\n"
        known = UPDATES in LAYOUTS[Kind.FINDING].locate(body)
        return f"{body}\n" if known else f"{body}\n## {UPDATES}\n\n"


def parse_parts(document: bytes) -> Parts:
    """Divide a finding's file, whoever wrote it; together the parts are the file."""
    found = frontmatter.parse_front_matter(document)
    header = Header(
        document[: found.start],
        document[found.start : found.end],
        document[found.end : found.body],
    )
    body = document[found.body :].decode("utf-8", "surrogateescape")
    span = LAYOUTS[Kind.FINDING].locate(body).get(UPDATES)
    if span is None:
        return Parts(header, body, (), "\n")
    ending = "\r\n" if body.endswith("\r\n", 0, span.start) else "\n"
    headings = [
        (heading, time)
        for heading in UPDATE_HEADING.finditer(body, span.start)
        if (time := parse_time(heading[1]))
    ]
    blocks = []
    for (heading, time), following in itertools.zip_longest(headings, headings[1:]):
        until = following[0].start() if following else len(body)
        own = "\r\n" if heading[0].endswith("\r\n") else "\n"
        end = max(heading.end(), span.end)
        if following:
            end = unframed(body, heading.end(), until, crlf=own == "\r\n").end
        blocks.append(
            Block(
                time=time,
                author=heading[2],
                status=heading[3],
                text=body[heading.start() : end],
                framing=body[end:until],
                last=following is None,
                ending=own,
                key=(heading[0].rstrip(), body[heading.end() : end]),
            )
        )
    first = headings[0][0].start() if headings else len(body)
    return Parts(header, body[:first], tuple(blocks), ending)
