"""One order of two: by words and by meaning, by the ranks in each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

# How much less a second place counts than a first: of `1 / (DAMPING + rank)`.
DAMPING = 20.0
BY_WORDS = 1.0
BY_MEANING = 1.0


def fuse(
    lexical: Iterable[int], near: Iterable[int] | None, unknown: Collection[int]
) -> list[tuple[int, float]]:
    """Return items with a score above 0 and at most 1, the best first.

    Scores do not hang on how many words a query has, nor on which model compared the meaning, so
    they can be compared between queries. 1 is the first by words and by meaning both.

    Args:
        near: None where there was no meaning to look for.
        unknown: items whose meaning is not known yet: they are taken to be as near as their words.
    """
    by_words = ranks(lexical)
    if near is None:
        return [(item, _share(rank)) for item, rank in by_words.items()]
    by_meaning = ranks(near) | {item: by_words[item] for item in unknown if item in by_words}
    scores = {item: _joined(item, by_words, by_meaning) for item in {**by_words, **by_meaning}}
    return sorted(scores.items(), key=lambda one: -one[1])


def ranks(items: Iterable[int]) -> dict[int, int]:
    """Return each item's place, from 1."""
    return {item: rank for rank, item in enumerate(items, start=1)}


def _joined(item: int, by_words: Mapping[int, int], by_meaning: Mapping[int, int]) -> float:
    words = BY_WORDS * _share(by_words.get(item))
    return (words + BY_MEANING * _share(by_meaning.get(item))) / (BY_WORDS + BY_MEANING)


def _share(rank: int | None) -> float:
    return 0.0 if rank is None else (DAMPING + 1) / (DAMPING + rank)
