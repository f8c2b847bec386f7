"""Which texts of many are most about the words of a query."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cspace.docstore.words import Term, fold, terms_of
from cspace.errors import UsageError

MAX_QUERY = 1000

# A title says what a text is about, so a word in it outweighs any number of mentions.
TITLE_WEIGHT = 5.0
# What holds all of the words comes before what holds some of them very often.
ALL_WEIGHT = 10.0
# BM25's constants: how soon more of the same word says no more, and how much length matters.
SATURATION = 1.2
BY_LENGTH = 0.75
# In lengths of the average text; beyond it a text is no less about its words.
MAX_LENGTH = 4.0

Place = TypeVar("Place")


def parse_query(query: str) -> tuple[Term, ...]:
    """Return what a query asks for.

    Raises:
        UsageError: it has no word, or is too long.
    """
    if len(query) > MAX_QUERY:
        raise UsageError(
            f"query has {len(query)} characters, more than {MAX_QUERY}", hint="name a word or two"
        )
    terms = terms_of(query)
    if not terms:
        raise UsageError(f"query {query!r} has no word to look for", hint="name a word or two")
    return terms


@dataclass(frozen=True, slots=True)
class Match(Generic[Place]):
    """A text that holds a term; it is not kept itself, for there may be thousands."""

    place: Place
    length: int
    in_title: tuple[bool, ...]
    in_body: tuple[int, ...]


@dataclass(slots=True)
class Ranking(Generic[Place]):
    """What one search has seen so far: every text is counted, and those with a term are kept."""

    terms: tuple[Term, ...]
    matches: list[Match[Place]] = field(default_factory=list)
    documents: int = 0
    characters: int = 0

    def count(self, length: int) -> None:
        """Count a text, whether it is looked at or not."""
        self.documents += 1
        self.characters += length

    def may_match(self, text: str) -> bool:
        """Tell cheaply whether a text can have a term at all."""
        folded = fold(text)
        return any(term.needle in folded for term in self.terms)

    def look(self, place: Place, title: str, body: str) -> None:
        """Keep the place of a text that has a term."""
        folded_title, text = fold(title), fold(body)
        in_title = tuple(bool(term.count(folded_title)) for term in self.terms)
        in_body = tuple(term.count(text) for term in self.terms)
        if any(in_title) or any(in_body):
            self.matches.append(Match(place, len(body), in_title, in_body))

    def ranked(self) -> list[tuple[float, Match[Place]]]:
        """Return what matches with its score, the best first; equals as they stand in matches."""
        rarity = [self._rarity(at) for at in range(len(self.terms))]
        average = self.characters / max(1, self.documents)
        scored = [(self._score(match, rarity, average), match) for match in self.matches]
        return sorted(scored, key=lambda one: -one[0])

    def _rarity(self, at: int) -> float:
        holders = sum(1 for match in self.matches if match.in_title[at] or match.in_body[at])
        rarity = math.log(1 + (self.documents - holders + 0.5) / (holders + 0.5))
        return self.terms[at].weight * rarity

    def _score(self, match: Match[Place], rarity: list[float], average: float) -> float:
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
