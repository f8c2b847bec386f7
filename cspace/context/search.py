"""Ranked word search over the context, by reading it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cspace.context import entryfile
from cspace.context.digest import no_heading, one_line, render_skipped
from cspace.context.kinds import BY_PLURAL, SECTIONS
from cspace.context.reading import reading
from cspace.context.records import HUMAN, ROOT, Kind, Listing, Skipped
from cspace.context.store import ContextStore
from cspace.docstore.words import Term, fold, snippet_of, terms_of
from cspace.errors import CspaceError, UsageError

DEFAULT_LIMIT = 10
MAX_QUERY = 1000
SNIPPET = 160

# A title says what a text is about, so a word in it outweighs any number of mentions.
TITLE_WEIGHT = 5.0
# What holds all of the words comes before what holds some of them very often.
ALL_WEIGHT = 10.0
# BM25's constants: how soon more of the same word says no more, and how much length matters.
SATURATION = 1.2
BY_LENGTH = 0.75
# In lengths of the average text; beyond it a text is no less about its words.
MAX_LENGTH = 4.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One document that holds a word of the query.

    Attributes:
        section: direction, principles, roadmap, decisions, discoveries or findings.
        slug: for read_entry; the section's name for a human-owned file.
        snippet: one line of the text around the first match.
    """

    section: str
    slug: str
    path: str
    title: str
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class _Place:
    section: str
    slug: str
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class _Match:
    """A document that holds a term; its text is not kept, for there may be thousands."""

    place: _Place
    length: int
    in_title: tuple[bool, ...]
    in_body: tuple[int, ...]


@dataclass(slots=True)
class _Sweep:
    """What one search has read so far."""

    store: ContextStore
    terms: tuple[Term, ...]
    matches: list[_Match]
    skipped: list[Skipped]
    documents: int = 0
    characters: int = 0

    def run(self, sections: tuple[str, ...]) -> None:
        for name in (name for name in HUMAN if name in sections):
            try:
                body = self.store.read_human(name) or ""
            except CspaceError as error:
                self.skipped.append(Skipped(str(ROOT / f"{name}.md"), str(error)))
                continue
            self._count(len(body))
            self._match(_Place(name, name, str(ROOT / f"{name}.md"), name), body)
        for kind in (kind for kind in Kind if kind.plural in sections):
            self._read_records(kind)

    def _read_records(self, kind: Kind) -> None:
        with reading(self.store, kind) as records:
            for stem, document in records.documents():
                self._count(len(document))
                if self._may_match(stem, document):
                    path = str(self.store.folder(kind).path_of(stem))
                    title, body = entryfile.parse_text(kind, stem, document)
                    self._match(_Place(kind.plural, stem, path, title), body)
            self.skipped += records.skipped

    def _may_match(self, stem: str, document: bytes) -> bool:
        # With an escape a title may hold what does not stand there.
        if b"\\" in document:
            return True
        folded = fold(f"{stem}\n{document.decode('utf-8', 'replace')}")
        return any(term.needle in folded for term in self.terms)

    def _count(self, length: int) -> None:
        self.documents += 1
        self.characters += length

    def _match(self, place: _Place, body: str) -> None:
        title, text = fold(place.title), fold(body)
        in_title = tuple(bool(term.count(title)) for term in self.terms)
        in_body = tuple(term.count(text) for term in self.terms)
        if any(in_title) or any(in_body):
            self.matches.append(_Match(place, len(body), in_title, in_body))

    def ranked(self) -> list[tuple[float, _Match]]:
        """Return what matches with its score, the best first."""
        rarity = [self._rarity(at) for at in range(len(self.terms))]
        average = self.characters / max(1, self.documents)
        newest = sorted(self.matches, key=lambda match: match.place.slug, reverse=True)
        scored = [(self._score(match, rarity, average), match) for match in newest]
        return sorted(scored, key=lambda one: -one[0])

    def _rarity(self, at: int) -> float:
        holders = sum(1 for match in self.matches if match.in_title[at] or match.in_body[at])
        rarity = math.log(1 + (self.documents - holders + 0.5) / (holders + 0.5))
        return self.terms[at].weight * rarity

    def _score(self, match: _Match, rarity: list[float], average: float) -> float:
        length = min(match.length / average, MAX_LENGTH) if average else 1.0
        slow = SATURATION * (1 - BY_LENGTH + BY_LENGTH * length)
        score, found, asked = 0.0, 0.0, 0.0
        for term, rare, titled, times in zip(
            self.terms, rarity, match.in_title, match.in_body, strict=True
        ):
            score += rare * (TITLE_WEIGHT * titled + times * (SATURATION + 1) / (times + slow))
            asked += 0 if term.bonus else rare
            found += rare if not term.bonus and (titled or times) else 0
        return score * (ALL_WEIGHT if found == asked else found / asked)


def search_context(
    store: ContextStore, query: str, sections: tuple[str, ...] = (), *, limit: int = DEFAULT_LIMIT
) -> Listing[Hit]:
    """Rank what holds words of the query; "quoted words" have to stand together.

    Case and accents do not matter. In scripts without spaces any part of a text is found. What
    holds all of the words comes first, then what has them in its title, then what is mostly about
    them.

    Raises:
        UsageError: the query has no word, or is too long.
        NotFound: the store's root is missing.
    """
    if len(query) > MAX_QUERY:
        raise UsageError(
            f"query has {len(query)} characters, more than {MAX_QUERY}", hint="name a word or two"
        )
    terms = terms_of(query)
    if not terms:
        raise UsageError(f"query {query!r} has no word to look for", hint="name a word or two")
    store.check_root()
    sweep = _Sweep(store, terms, [], [])
    sweep.run(sections or SECTIONS)
    ranked = sweep.ranked()
    shown = (_hit(store, match, score, terms) for score, match in ranked[:limit])
    hits = tuple(hit for hit in shown if hit is not None)
    return Listing(hits, max(0, len(ranked) - limit), tuple(sweep.skipped))


def _hit(store: ContextStore, match: _Match, score: float, terms: tuple[Term, ...]) -> Hit | None:
    # Snippets are cut for what is shown only: they cost more than the score.
    place = match.place
    body = _body(store, place)
    if body is None:
        return None
    snippet = snippet_of(body, terms, SNIPPET)
    return Hit(place.section, place.slug, place.path, place.title, round(score, 3), snippet)


def _body(store: ContextStore, place: _Place) -> str | None:
    try:
        if place.section in HUMAN:
            return store.read_human(place.section) or ""
        return store.load_entry(BY_PLURAL[place.section], place.slug).body
    except CspaceError:
        return None  # removed since it was found


def render_hits(query: str, found: Listing[Hit]) -> str:
    """Render hits as a markdown list, best first."""
    lines = [
        f"- {hit.section}: {hit.slug} — **{one_line(hit.title)}**\n"
        f"  {no_heading(one_line(hit.snippet))}"
        for hit in found.entries
    ]
    if not lines:
        lines.append(f"Nothing holds a word of {query!r}.")
    if found.left_out:
        lines.append(f"({found.left_out} more left out: raise limit, or name more words)")
    if found.skipped:
        lines.append(render_skipped(found.skipped))
    return "\n".join(lines)
