"""One order of two: by words and by meaning, by the ranks in each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

# How much less a second place counts than a first: of `1 / (DAMPING + rank)`.
DAMPING = 10.0


def fuse(
    told: Mapping[int, float], near: Iterable[int] | None, unknown: Collection[int]
) -> list[tuple[int, float]]:
    """Return items with a score above 0 and at most 1, the best first.

    Scores hang neither on how many words a query has nor on which model compared the meaning, so
    they can be compared between queries. 1 is the first by words, with all of them, and by meaning.
    A place by words counts as much as the words tell: the first of those that share one common word
    with a question is mere chance.

    Args:
        told: by words, the best first: which share of what the query asks for an item has.
        near: by meaning, the best first; None where there was none to look for.
        unknown: items whose meaning is not known yet: they are taken to be as near as their words.
    """
    places = ranks(told)
    if near is None:
        return [(item, _share(rank)) for item, rank in places.items()]
    by_words = {item: told[item] * _share(rank) for item, rank in places.items()}
    by_meaning = {item: _share(rank) for item, rank in ranks(near).items()}
    by_meaning |= {item: by_words[item] for item in unknown if item in by_words}
    scores = {
        item: (by_words.get(item, 0.0) + by_meaning.get(item, 0.0)) / 2
        for item in {**by_words, **by_meaning}
    }
    return sorted(scores.items(), key=lambda one: -one[1])


def ranks(items: Iterable[int]) -> dict[int, int]:
    """Return each item's place, from 1."""
    return {item: rank for rank, item in enumerate(items, start=1)}


def _share(rank: int) -> float:
    return (DAMPING + 1) / (DAMPING + rank)
