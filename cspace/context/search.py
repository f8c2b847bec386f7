"""Ranked word search over the context, by reading it."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass

from cspace.context.digest import SECTIONS, one_line, render_skipped
from cspace.context.listing import newest
from cspace.context.records import HUMAN, ROOT, Kind, Listing, Skipped
from cspace.context.store import ContextStore
from cspace.errors import CspaceError, UsageError

DEFAULT_LIMIT = 10
TITLE_WEIGHT = 5.0
PHRASE_WEIGHT = 3.0
SNIPPET = 160

_TERM = re.compile(r'"([^"]+)"|(\S+)')
_WORD = re.compile(r"\w+")


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
class _Text:
    section: str
    slug: str
    path: str
    title: str
    body: str


def search_context(
    store: ContextStore, query: str, sections: tuple[str, ...] = (), *, limit: int = DEFAULT_LIMIT
) -> Listing[Hit]:
    """Rank what holds words of the query; "quoted words" have to stand together.

    Case and accents do not matter. A document that holds more of the query's words comes first.

    Raises:
        UsageError: the query has no word.
        NotFound: the store's root is missing.
    """
    terms = tuple(
        folded for term in _TERM.finditer(query) if (folded := _words(term[1] or term[2]))
    )
    if not terms:
        raise UsageError(f"query {query!r} has no word to look for", hint="name a word or two")
    store.check_root()
    texts, skipped = _collect(store, sections or SECTIONS)
    scored = [(score, text) for text in texts if (score := _score(text, terms))]
    scored.sort(key=lambda one: -one[0])
    # Snippets are cut for what is shown only: they cost more than the score.
    hits = tuple(_hit(text, score, terms) for score, text in scored[:limit])
    return Listing(hits, max(0, len(scored) - limit), skipped)


def _collect(
    store: ContextStore, sections: tuple[str, ...]
) -> tuple[list[_Text], tuple[Skipped, ...]]:
    texts: list[_Text] = []
    skipped: list[Skipped] = []
    for name in (name for name in HUMAN if name in sections):
        path = str(ROOT / f"{name}.md")
        try:
            body = store.read_human(name)
        except CspaceError as error:
            skipped.append(Skipped(path, str(error)))
            continue
        texts.append(_Text(name, name, path, name, body or ""))
    for kind in (kind for kind in Kind if kind.plural in sections):
        found = newest(store, kind, accept=lambda _info: True, limit=1 << 30)
        texts += [
            _Text(kind.plural, one.info.slug, one.info.path, one.info.title, one.body)
            for one in found.entries
        ]
        skipped += found.skipped
    return texts, tuple(skipped)


def _score(text: _Text, terms: tuple[tuple[str, ...], ...]) -> float:
    title, body = _words(text.title), _words(text.body)
    score, found = 0.0, 0
    for term in terms:
        weight = PHRASE_WEIGHT if len(term) > 1 else 1.0
        in_title, in_body = _count(term, title), _count(term, body)
        found += bool(in_title or in_body)
        score += weight * (TITLE_WEIGHT * min(in_title, 1) + math.log1p(in_body))
    # All of the words beat many of one word.
    return score * found / len(terms)


def _hit(text: _Text, score: float, terms: tuple[tuple[str, ...], ...]) -> Hit:
    snippet = _snippet(text.body, terms)
    return Hit(text.section, text.slug, text.path, text.title, round(score, 3), snippet)


def _count(term: tuple[str, ...], words: tuple[str, ...]) -> int:
    if len(term) == 1:
        return words.count(term[0])
    size = len(term)
    return sum(words[at : at + size] == term for at in range(len(words) - size + 1))


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(_folded(text)))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(mark for mark in decomposed if not unicodedata.combining(mark))


def _snippet(body: str, terms: tuple[tuple[str, ...], ...]) -> str:
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    wanted = {word for term in terms for word in term}
    best = max(lines, key=lambda line: len(wanted.intersection(_words(line))), default="")
    if len(best) <= SNIPPET:
        return best
    found = (word.start() for word in _WORD.finditer(best) if wanted.intersection(_words(word[0])))
    first = next(found, 0)
    start = max(0, first - SNIPPET // 3)
    return f"{'…' if start else ''}{best[start : start + SNIPPET].strip()}…"


def render_hits(query: str, found: Listing[Hit]) -> str:
    """Render hits as a markdown list, best first."""
    lines = [
        f"- {hit.section}: {hit.slug} — **{one_line(hit.title)}**\n  {one_line(hit.snippet)}"
        for hit in found.entries
    ]
    if not lines:
        lines.append(f"Nothing holds a word of {query!r}.")
    if found.left_out:
        lines.append(f"({found.left_out} more left out: raise limit, or name more words)")
    if found.skipped:
        lines.append(render_skipped(found.skipped))
    return "\n".join(lines)
