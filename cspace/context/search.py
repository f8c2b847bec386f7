"""Ranked word search over the context, by reading it."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.context import entryfile
from cspace.context.digest import no_heading, one_line, render_skipped
from cspace.context.kinds import BY_PLURAL, SECTIONS
from cspace.context.reading import reading
from cspace.context.records import HUMAN, ROOT, Kind, Listing
from cspace.context.store import ContextStore
from cspace.docstore.opened import Skipped
from cspace.docstore.ranking import Match, Ranking, parse_query
from cspace.docstore.words import Term, snippet_of
from cspace.errors import CspaceError

DEFAULT_LIMIT = 10
SNIPPET = 160


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


@dataclass(slots=True)
class _Sweep:
    """What one search has read so far."""

    store: ContextStore
    ranking: Ranking[_Place]
    skipped: list[Skipped]

    def run(self, sections: tuple[str, ...]) -> None:
        for name in (name for name in HUMAN if name in sections):
            try:
                body = self.store.read_human(name) or ""
            except CspaceError as error:
                self.skipped.append(Skipped(str(ROOT / f"{name}.md"), str(error)))
                continue
            self.ranking.count(len(body))
            self.ranking.look(_Place(name, name, str(ROOT / f"{name}.md"), name), name, body)
        for kind in (kind for kind in Kind if kind.plural in sections):
            self._read_records(kind)
        # Of what is equally good the newest comes first.
        self.ranking.matches.sort(key=lambda match: match.place.slug, reverse=True)

    def _read_records(self, kind: Kind) -> None:
        with reading(self.store, kind) as records:
            for stem, document in records.documents():
                self.ranking.count(len(document))
                if self._may_match(stem, document):
                    path = str(self.store.folder(kind).path_of(stem))
                    title, body = entryfile.parse_text(kind, stem, document)
                    self.ranking.look(_Place(kind.plural, stem, path, title), title, body)
            self.skipped += records.skipped

    def _may_match(self, stem: str, document: bytes) -> bool:
        # With an escape a title may hold what does not stand there.
        if b"\\" in document:
            return True
        return self.ranking.may_match(f"{stem}\n{document.decode('utf-8', 'replace')}")


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
    terms = parse_query(query)
    store.check_root()
    sweep = _Sweep(store, Ranking(terms), [])
    sweep.run(sections or SECTIONS)
    ranked = sweep.ranking.ranked()
    shown = (_hit(store, match, score, terms) for score, match in ranked[:limit])
    hits = tuple(hit for hit in shown if hit is not None)
    return Listing(hits, max(0, len(ranked) - limit), tuple(sweep.skipped))


def _hit(
    store: ContextStore, match: Match[_Place], score: float, terms: tuple[Term, ...]
) -> Hit | None:
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
