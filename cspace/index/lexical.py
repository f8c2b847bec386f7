"""Which items have the words of a query: the rarer the word and the shorter the item the better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from cspace.index.database import FIELDS
from cspace.index.words import Asked, prefixes_of

# A title says what an item is about; labels are few and exact.
_WEIGHTS = "4.0, 1.0, 2.0"
# Items that are scored at most, those with the rarest words first: a word of every second item
# tells none of them apart, and 100,000 scores take 70 ms.
MAX_SCORED = 4_000
# As many of a word's are counted: so common is it that more makes no difference.
_MAX_COUNTED = 20_000


@dataclass(frozen=True, slots=True)
class Standing:
    """The words of a query that an item has, and the fields where they stand."""

    words: tuple[str, ...]
    fields: tuple[str, ...]


NONE = Standing((), ())


@dataclass(frozen=True, slots=True)
class Found:
    """What a search by words found.

    Attributes:
        asked: what was looked for in the end, of a query's words those that some item has.
        items: those that have some of it, the best first.
        weights: by phrase, how much of what the query asks for it is: rare words are most of it,
            those that no item has too. All together are 1.
    """

    asked: tuple[Asked, ...] = ()
    items: tuple[int, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)


def find(db: apsw.Connection, asked: tuple[Asked, ...], limit: int, *, filtered: bool) -> Found:
    """Return the items that have some of what was asked for.

    Where no item has any of the words, those count that begin as they do.
    """
    for tried in (asked, prefixes_of(asked)):
        counts = _counts(db, tried)
        telling = _telling(tried, counts)
        if telling and (items := _ranked(db, telling, limit, filtered=filtered)):
            return Found(telling, tuple(items), _weights(db, tried, counts))
    return Found()


def told(db: apsw.Connection, found: Found) -> dict[int, float]:
    """Return for each item, the best first, which share of what the query asks for it has."""
    if not found.items:
        return {}
    shares = {
        item: sum(found.weights[found.asked[int(pair.partition(":")[0])].phrase] for pair in pairs)
        for item, pairs in _stands(db, found.asked, found.items)
    }
    return {item: shares[item] for item in found.items}


def explain(
    db: apsw.Connection, asked: tuple[Asked, ...], items: Iterable[int]
) -> dict[int, Standing]:
    """Return for each item that has one which words it has."""
    if not asked:
        return {}
    return {item: _named(asked, pairs) for item, pairs in _stands(db, asked, items)}


def _stands(
    db: apsw.Connection, asked: tuple[Asked, ...], items: Iterable[int]
) -> Iterator[tuple[int, list[str]]]:
    """Give for each item `number of the phrase:fields` of those which it has."""
    # Each phrase is asked for by its number: a function of the search itself says where it stands.
    db.register_fts5_function("standing", _standing)
    marks = ",".join(str(one) for one in items)
    # The plus, as in `_ranked`: a hundred searches take longer than one that finds them all.
    sql = f"select rowid, standing(words) from words where words match ? and +rowid in ({marks})"  # noqa: S608  numbers
    for item, said in db.execute(sql, (_any(asked),)):
        yield item, said.split(" ")


def _counts(db: apsw.Connection, asked: tuple[Asked, ...]) -> list[int]:
    """Return how many items have each of what was asked for."""
    capped = f"select 1 from words where words match ? limit {_MAX_COUNTED}"  # noqa: S608  a number
    sql = f"select count(*) from ({capped})"  # noqa: S608  see above
    return [db.execute(sql, (one.phrase,)).get for one in asked]


def _weights(
    db: apsw.Connection, asked: tuple[Asked, ...], counts: Sequence[int]
) -> dict[str, float]:
    whole = db.execute("select count(*) from items").get
    # As BM25 weighs words.
    rarity = [math.log(1 + (whole - count + 0.5) / (count + 0.5)) for count in counts]
    return {one.phrase: each / sum(rarity) for one, each in zip(asked, rarity, strict=True)}


def _telling(asked: tuple[Asked, ...], counts: Sequence[int]) -> tuple[Asked, ...]:
    """Leave out words that no item has, and the most common ones of many."""
    kept: list[int] = []
    scored = 0
    for count, at in sorted((count, at) for at, count in enumerate(counts)):
        if count and (not kept or scored + count <= MAX_SCORED):
            kept.append(at)
            scored += count
    return tuple(asked[at] for at in sorted(kept))


def _ranked(
    db: apsw.Connection, asked: tuple[Asked, ...], limit: int, *, filtered: bool
) -> list[int]:
    # The plus keeps SQLite from a search of its own for each item that is allowed.
    only = "and +rowid in (select item from temp.allowed)" if filtered else ""
    sql = f"select rowid, bm25(words, {_WEIGHTS}) as s from words where words match ? {only}"  # noqa: S608  no value is in it
    return [
        item
        for item, _ in db.execute(f"{sql} order by s, rowid desc limit ?", (_any(asked), limit))
    ]


def _any(asked: tuple[Asked, ...]) -> str:
    return " OR ".join(one.phrase for one in asked)


def _standing(api: apsw.FTS5ExtensionApi, *_: object) -> str:
    columns = (api.phrase_columns(at) for at in range(api.phrase_count))
    return " ".join(
        f"{at}:{','.join(map(str, where))}" for at, where in enumerate(columns) if len(where)
    )


def _named(asked: tuple[Asked, ...], stands: list[str]) -> Standing:
    pairs = [one.split(":") for one in stands]
    fields = {int(column) for _, columns in pairs for column in columns.split(",")}
    words = dict.fromkeys(asked[int(at)].shown for at, _ in pairs)
    return Standing(tuple(words), tuple(FIELDS[at] for at in sorted(fields)))
