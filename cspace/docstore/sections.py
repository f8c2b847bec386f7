"""A document's body as sections: `## <Name>` in a fixed order, with texts that can hold anything.

A line of an author's text that could be taken for structure gets a backslash, which markdown shows
as the plain line, and loses it again on reading. Where a body was written without that care, the
longest run of headings in the fixed order counts.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

# Every character that some reader takes for the end of a line.
BREAKS = "\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


class Span(NamedTuple):
    """Where a text stands, framing excluded."""

    start: int
    end: int


class _Chain(NamedTuple):
    """Headings in order, compared by what makes them believable."""

    length: int
    doubts: int
    starts: tuple[int, ...]
    headings: tuple[re.Match[str], ...]


@dataclass(frozen=True)
class Layout:
    """The sections of one kind of document.

    Attributes:
        names: the headings, in their order.
        guarded: a pattern for the rest of a `### ` line that is structure too; "" for none.
        listing: the section that is made of such lines. Its text is handed over and back as it
            stands, and a heading that one of them follows is preferred.
    """

    names: tuple[str, ...]
    guarded: str = ""
    listing: str = ""

    @cached_property
    def _heading(self) -> re.Pattern[str]:
        return re.compile(rf"^## ({'|'.join(self.names)})[ \t]*\r?(?:\n|\Z)", re.MULTILINE)

    @cached_property
    def _structure(self) -> re.Pattern[str]:
        # Wider than what we read as a heading: other readers are laxer. Possessive: giving back
        # spaces one by one would take hours on a line of a million.
        names = rf"\#\#[ \t]+(?:{'|'.join(self.names)})[ \t]*+\#*+[ \t]*+(?=[{BREAKS}]|\Z)"
        guarded = rf"|\#\#\#[ \t]+(?:{self.guarded})" if self.guarded else ""
        return re.compile(
            rf"((?:\A|(?<=[{BREAKS}]))[ ]{{0,3}})(\\*)(?={names}{guarded})", re.IGNORECASE
        )

    def escape(self, text: str) -> str:
        """Return text with a backslash before every line that could be taken for structure."""
        # Looking for a substring takes no time, and the pattern some.
        return self._structure.sub(r"\1\\\2", text) if "##" in text else text

    def unescape(self, text: str) -> str:
        """Return what `escape` was given."""
        if "\\" not in text:
            return text
        return self._structure.sub(lambda line: line[1] + line[2][1:], text)

    def render(self, texts: Mapping[str, str]) -> str:
        """Write every section, in order; one that texts does not name is empty."""
        written = {
            name: text if name == self.listing else self.escape(text)
            for name, text in texts.items()
        }
        return "\n".join(
            f"## {name}\n{written[name]}\n" if written.get(name) else f"## {name}\n"
            for name in self.names
        )

    def parse(self, body: str) -> dict[str, str]:
        """Return the texts of the sections that body has, as they were given to `render`."""
        found = {name: body[slice(*span)] for name, span in self.locate(body).items()}
        return {
            name: text if name == self.listing else self.unescape(text)
            for name, text in found.items()
        }

    def locate(self, body: str) -> dict[str, Span]:
        """Return where the text of each section stands, still escaped."""
        headings = self._best_chain(body)
        ends = [heading.start() for heading in headings[1:]]
        found = {
            heading[1]: unframed(body, heading.end(), end, crlf=heading[0].endswith("\r\n"))
            for heading, end in zip(headings, ends, strict=False)
        }
        if headings:
            last = headings[-1]
            crlf = last[0].endswith("\r\n")
            found[last[1]] = unframed(body, last.end(), len(body), crlf=crlf, last=True)
        return found

    def _best_chain(self, body: str) -> tuple[re.Match[str], ...]:
        headings = tuple(self._heading.finditer(body))
        places = [self.names.index(heading[1]) for heading in headings]
        if all(place < following for place, following in itertools.pairwise(places)):
            return headings  # no other chain is as long
        fenced = list_fenced(body)
        best: dict[int, _Chain] = {}
        for heading in headings:
            place = self.names.index(heading[1])
            block = bisect.bisect(fenced, (heading.start(),)) - 1
            doubt = block >= 0 and heading.start() < fenced[block].end
            unlikely = heading[1] == self.listing and not self._starts_listing(body, heading.end())
            before = max(
                (best[p] for p in best if p < place), default=_Chain(0, 0, (), ()), key=_believable
            )
            chain = _Chain(
                before.length + 1,
                before.doubts + doubt + unlikely,
                (*before.starts, heading.start()),
                (*before.headings, heading),
            )
            best[place] = max(chain, best.get(place, chain), key=_believable)
        return max(best.values(), key=_believable).headings if best else ()

    def _starts_listing(self, body: str, position: int) -> bool:
        return re.compile(rf"\s*### (?:{self.guarded})").match(body, position) is not None


def _believable(chain: _Chain) -> tuple[int, int, tuple[int, ...]]:
    return chain.length, -chain.doubts, tuple(-start for start in chain.starts)


def list_fenced(body: str) -> list[Span]:
    """Return the code blocks that are closed; an open fence hides nothing."""
    blocks: list[Span] = []
    opened: re.Match[str] | None = None
    for fence in FENCE.finditer(body):
        if opened is None:
            opened = fence
        elif fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1]):
            blocks.append(Span(opened.start(), fence.end()))
            opened = None
    return blocks


def unframed(body: str, start: int, end: int, *, crlf: bool, last: bool = False) -> Span:
    """Return the span without the line end that closes a text and the empty line that follows it.

    Args:
        crlf: whether the line before start ended so; then line ends of both kinds are framing.
        last: nothing follows the text, so no empty line belongs to its framing.
    """
    endings = ("\r\n", "\n") if crlf else ("\n",)
    for _ in range(1 if last else 2):
        for ending in endings:
            if end - len(ending) >= start and body.endswith(ending, start, end):
                end -= len(ending)
                break
    return Span(start, end)
