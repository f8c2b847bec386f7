"""What goes into an index, what is asked of it, and what it answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Item:
    """One text to be found.

    Attributes:
        key: its name, unlike any other's.
        group: what it is removed with.
        title: what it is about, in a line.
        text: the rest of it.
        labels: words that it is found by, and that neither the title nor the text need to hold.
        topics: words before the title that an embedder is given too.
        facets: what filters look at, by name; a facet may have several values.
        time: seconds since 1970.
        payload: given back as it is.
    """

    key: str
    group: str
    title: str
    text: str
    payload: str
    time: float
    labels: str = ""
    facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    topics: str = ""

    @property
    def embedded(self) -> str:
        """What an embedder is given of it."""
        return embedded(self.topics, self.title, self.text)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit has to be. Filters are applied before the best are chosen, never after.

    Attributes:
        any_of: by facet, the values of which one is enough; none at all is met by nothing.
        all_of: by facet, the values that it has to have all.
        containing: by facet, a text that one of its values has in it, in any case.
        since: seconds since 1970.
    """

    any_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    all_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    containing: Mapping[str, str] = field(default_factory=dict)
    since: float | None = None

    def __bool__(self) -> bool:
        return bool(self.any_of or self.all_of or self.containing) or self.since is not None


@dataclass(frozen=True, slots=True)
class Entry:
    """What an index holds of an item, for who can read its payload."""

    key: str
    title: str
    text: str
    payload: str
    time: float


@dataclass(frozen=True, slots=True)
class Hit(Entry):
    """An item that was found, and why.

    Attributes:
        score: above 0 and at most 1, which is the best by words and by meaning both.
        lexical_rank: its place among those found by words, from 1.
        vector_rank: its place among those found by meaning, from 1.
        nearness: cosine between its meaning and the query's, from -1 to 1.
        words: the query's words that it has.
        fields: where they stand: title, text, labels.
    """

    score: float
    lexical_rank: int | None
    vector_rank: int | None
    nearness: float | None
    words: tuple[str, ...]
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What an index says of itself.

    Attributes:
        state: what was given with the last change.
        embedder: whose vectors it has; None before the first.
    """

    state: Mapping[str, str]
    embedder: str | None


def embedded(topics: str, title: str, text: str) -> str:
    """Return what an embedder is given of an item."""
    begin = f"{topics}: {title}" if topics else title
    return f"{begin}\n\n{text}" if text else begin


def digest_of(text: str) -> bytes:
    """Return by what the vector of a text is kept."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16]
