"""Which memories hold the words of a query, on which lines, and which are most likely about it.

Every file is read at every search: nothing is derived from the files, so nothing can be stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cspace.docstore.frontmatter import find_front_matter, parse_front_matter
from cspace.docstore.opened import SUFFIX, Opened, Skipped, UnreadableDocument, show_path
from cspace.docstore.ranking import Match, Ranking, parse_query
from cspace.docstore.words import Term, find_lines
from cspace.errors import CspaceError
from cspace.memory.entries import TYPE, header_text, summary_of
from cspace.memory.place import Place, find_place
from cspace.memory.scopes import Scope
from cspace.memory.store import MemoryStore
from cspace.paths import INDEX

DEFAULT_LIMIT = 10
# Characters that are shown of a line, around the word.
WIDTH = 160
# What cspace writes into every header, and what is no text of anybody.
_OURS = re.compile(
    r"^(?:name|description|metadata)[ \t]*:|^[ \t]*(?:type|updated_at)[ \t]*:.*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that holds a word of the query.

    Attributes:
        type: as it is written, any text; empty where there is none.
        score: comparable within one search only.
        lines: number, from 1, and text, cut, of every line that holds a word; none where only the
            slug holds it.
    """

    scope: Scope
    slug: str
    type: str
    description: str
    score: float
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found, the best first; of equals, in the order of the scopes.

    Attributes:
        left_out: how many more memories there are than limit allowed.
        skipped: what could not be read, with its scope.
    """

    hits: tuple[Hit, ...]
    left_out: int
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    scope: Scope
    slug: str


@dataclass(slots=True)
class _Sweep:
    """What one search has read so far."""

    ranking: Ranking[_Found]
    type: str | None
    skipped: list[Skipped] = field(default_factory=list)

    def read(self, scope: Scope, place: Place) -> None:
        with place.opened() as directory:
            for slug, content in self._documents(scope, directory):
                self.ranking.count(len(content))
                if self._may_match(slug, content):
                    self._look(_Found(scope, slug), content)

    def _documents(self, scope: Scope, directory: Opened) -> Iterator[tuple[str, bytes]]:
        for slug in sorted(set(directory.list_stems()) - {INDEX.stem}):
            try:
                yield slug, directory.read(slug).content
            except FileNotFoundError:
                continue  # removed meanwhile
            except UnreadableDocument as error:
                path = show_path(scope.relative / f"{slug}{SUFFIX}")
                self.skipped.append(Skipped(path, str(error).rpartition(": ")[2]))

    def _may_match(self, slug: str, content: bytes) -> bool:
        # With an escape a description may hold what does not stand there.
        if b"\\" in content:
            return True
        return self.ranking.may_match(f"{slug}\n{content.decode('utf-8', 'replace')}")

    def _look(self, found: _Found, content: bytes) -> None:
        if self.type is not None and _header_text(content, TYPE) != self.type:
            return
        written, body = _parts(content)
        title = f"{found.slug}\n{written}"
        if "\\" in written:
            title += f"\n{_header_text(content, 'description')}"
        self.ranking.look(found, title, body)


def search_memory(
    store: MemoryStore,
    scopes: Sequence[Scope],
    query: str,
    *,
    limit: int = DEFAULT_LIMIT,
    type: str | None = None,  # noqa: A002  as the header and the option call it
) -> Hits:
    """Rank the memories that hold words of the query; "quoted words" have to stand together.

    Case and accents do not matter. What holds all of the words comes first, then what has them in
    its slug, name or description, then what is mostly about them. Of several scopes one that can
    not be read is skipped.

    Args:
        scopes: where to look; their order decides between equals.
        type: leaves out the memories of any other.

    Raises:
        UsageError: the query has no word, or is too long.
        CspaceError: the only scope can not be read.
    """
    sweep = _Sweep(Ranking(parse_query(query)), type)
    places: dict[Scope, Place] = {}
    for scope in dict.fromkeys(scopes):
        try:
            places[scope] = find_place(store.root, scope)
            sweep.read(scope, places[scope])
        except CspaceError as error:
            if len(scopes) == 1:
                raise
            sweep.skipped.append(Skipped(str(scope), str(error)))
    ranked = sweep.ranking.ranked()
    terms = sweep.ranking.terms
    shown = (
        _hit(places[match.place.scope], match, score, terms) for score, match in ranked[:limit]
    )
    hits = tuple(hit for hit in shown if hit is not None)
    return Hits(hits, max(0, len(ranked) - limit), tuple(sweep.skipped))


def _hit(place: Place, match: Match[_Found], score: float, terms: tuple[Term, ...]) -> Hit | None:
    # Lines are looked for in what is shown only: they cost more than the score.
    found = match.place
    try:
        with place.opened() as directory:
            content = directory.read(found.slug).content
    except (FileNotFoundError, CspaceError):
        return None  # gone since it was found
    return Hit(
        scope=found.scope,
        slug=found.slug,
        type=_header_text(content, TYPE),
        description=summary_of(content),
        score=round(score, 3),
        lines=_lines(content, terms),
    )


def _header_text(content: bytes, key: str) -> str:
    return header_text(parse_front_matter(content), key)


def _parts(content: bytes) -> tuple[str, str]:
    """Return what somebody wrote into the header, and the text after it.

    The header is not parsed: that takes longer than all else, and a search may do it ten thousand
    times.
    """
    start, end, body = find_front_matter(content)
    written = _OURS.sub("", content[start:end].decode("utf-8", "replace"))
    return written, content[body:].decode("utf-8", "replace")


def _lines(content: bytes, terms: tuple[Term, ...]) -> tuple[tuple[int, str], ...]:
    """Return the lines of the file that hold a word, with their numbers."""
    start, end, body = find_front_matter(content)
    written, text = _parts(content)
    if start == body:
        return find_lines(text, terms, WIDTH)
    # The keys of a header are not searched, but shown.
    header = dict(enumerate(content[start:end].decode("utf-8", "replace").split("\n"), 2))
    whole = {number: " ".join(line.split()) for number, line in header.items()}
    return tuple(
        (number, found if len(whole.get(number, found)) > WIDTH else whole.get(number) or found)
        for number, found in find_lines(f"\n{written}\n{text}", terms, WIDTH)
    )
