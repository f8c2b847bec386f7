"""An index in one SQLite file: texts by their words, and by their meaning."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from cspace.index import database, fusion, lexical, nearest, vectors
from cspace.index.allowed import allow
from cspace.index.database import BrokenIndex, translated
from cspace.index.items import add_items, remove_group
from cspace.index.model import Entry, Filters, Hit, Item, Kept
from cspace.index.signs import Signs
from cspace.index.words import Asked, asked_of

# As many of each order are fused; more than anybody is shown.
DEPTH = 100
_ENTRY = "key, title, text, payload, time"
# So near at least must be what shares no word with a query. With the default model no answer of
# bench/recall_set is farther, at whatever place; texts on two subjects have 0.0 to 0.2.
LEAST_NEARNESS = 0.12


@dataclass(slots=True)
class Index:
    """An open index. What it says is derived: it may be deleted at any time.

    Any of its functions raises BrokenIndex where the file turns out to be damaged, and Conflict
    where another process writes it for too long.

    Attributes:
        path: None for one in memory.
    """

    path: Path | None
    db: apsw.Connection
    _file: tuple[int, int] = (0, 0)
    _compares: bool = False
    _signs: Signs = field(default_factory=Signs)

    @classmethod
    def open(cls, path: Path, *, to_change: bool = False) -> Index:
        """Open an index that is there.

        Raises:
            BrokenIndex: it is missing, of another version, or damaged.
            ReadOnlyIndex: it is to be changed, and can not be.
        """
        found = _identity(path)
        return cls(path, database.connect(path, to_change=to_change), found)

    def is_in_place(self) -> bool:
        """Tell whether the file at its path is still the one that was opened."""
        return self.path is None or self._file == _identity(self.path)

    @classmethod
    def create(cls, path: Path | None) -> Index:
        """Create an empty index where nothing is; in memory without a path."""
        return cls(path, database.create(path))

    def close(self) -> None:
        """Close it; nothing can be asked of it any more."""
        self.db.close()

    def kept(self) -> Kept:
        """Return what it was made from, and by which embedder."""
        with translated(self.path):
            said = dict(self.db.execute("select key, value from meta"))
        try:
            return Kept(json.loads(said.get("state", "{}")), said.get("embedder"))
        except ValueError as error:
            raise BrokenIndex(f"{self.path}: {error}", hint="cspace notes reindex") from error

    def apply(
        self, removed: Iterable[str], items: Iterable[Item], state: Mapping[str, str]
    ) -> None:
        """Remove the items of some groups, add others, and keep state: all of it or nothing.

        A vector stays, though its text goes: should it come back, it is not embedded again.
        """
        with translated(self.path), self.db:
            self._signs.forget()
            for group in removed:
                remove_group(self.db, group)
            add_items(self.db, items)
            row = ("state", json.dumps(dict(state), sort_keys=True))
            self.db.execute("insert or replace into meta values(?, ?)", row)

    def count(self, facet: str) -> dict[str, int]:
        """Return how many items have each value of a facet."""
        sql = (
            "select value, count(*) from labels join facets on label = labels.id"
            " where name = ? group by value order by value"
        )
        with translated(self.path):
            return dict(self.db.execute(sql, (facet,)))

    def keys(self, facet: str, value: str) -> frozenset[str]:
        """Return the keys of the items that have a value of a facet."""
        sql = (
            "select key from items where id in (select item from facets where label ="
            " (select id from labels where name = ? and value = ?))"
        )
        with translated(self.path):
            return frozenset(key for (key,) in self.db.execute(sql, (facet, value)))

    def damage(self) -> str:
        """Return what SQLite finds wrong with the file, by reading all of it; empty for nothing."""
        with translated(self.path):
            said = [str(line) for (line,) in self.db.execute("pragma integrity_check(3)")]
        return "" if said == ["ok"] else "; ".join(said)

    def count_missing(self) -> int:
        """Return how many texts no vector stands for."""
        sql = "select count(distinct digest) from items where vector is null"
        with translated(self.path):
            return int(self.db.execute(sql).get)

    def missing_vectors(self, limit: int) -> dict[bytes, str]:
        """Return the newest texts without a vector, by their digest."""
        with translated(self.path):
            return vectors.missing_vectors(self.db, limit)

    def expect(self, embedder: str) -> None:
        """Let go of the vectors of any other embedder: they can not be compared with its."""
        with translated(self.path), self.db:
            self._signs.forget()
            vectors.expect(self.db, embedder)

    def put_vectors(self, embedder: str, found: Mapping[bytes, bytes]) -> None:
        """Keep vectors (float32, little endian, normalised) by the digest of their text."""
        if found:
            self._load()
            with translated(self.path), self.db:
                self._signs.forget()
                vectors.put_vectors(self.db, embedder, found)

    def take_vectors(self, path: Path) -> None:
        """Take over from another index what it has of vectors for our texts.

        Raises:
            BrokenIndex: it is damaged; nothing was taken.
        """
        with translated(path):
            self.db.execute("attach ? as old", (str(path.parent.resolve() / path.name),))
            try:
                with self.db:
                    self._signs.forget()
                    vectors.take_vectors(self.db)
            finally:
                self.db.execute("detach old")

    def newest(
        self, filters: Filters, limit: int | None, without: Iterable[str] = ()
    ) -> tuple[int, tuple[Entry, ...]]:
        """Return how many items filters let through, and the newest of them, the oldest first.

        Of one time, they are in the order of their keys.

        Args:
            without: keys of items that do not count.
        """
        with translated(self.path), self.db:
            allowed = allow(self.db, filters)
            only = "where key not in (select value from json_each(?1))"
            only += "" if allowed is None else " and id in (select item from temp.allowed)"
            left = json.dumps(list(without))
            total = self.db.execute(f"select count(*) from items {only}", (left,)).get  # noqa: S608  no value is in it
            sql = f"select {_ENTRY} from items {only} order by time desc, key desc limit ?2"  # noqa: S608  see above
            rows = self.db.execute(sql, (left, -1 if limit is None else limit))
            found = tuple(Entry(*row) for row in rows)[::-1]
        return total, found

    def repeated(self) -> tuple[Entry, ...]:
        """Return the items whose text other items have too."""
        several = "select digest from items group by digest having count(*) > 1"
        with translated(self.path):
            rows = self.db.execute(f"select {_ENTRY} from items where digest in ({several})")  # noqa: S608  see above
            return tuple(Entry(*row) for row in rows)

    def search(
        self, query: str, vector: bytes | None, filters: Filters, limit: int
    ) -> tuple[Hit, ...]:
        """Return what is most about the query, the best first.

        Args:
            query: words; nothing in them is syntax.
            vector: the query's; None to look for words only.
        """
        if vector is not None:
            self._load()
        with translated(self.path), self.db:
            hits = _search(self.db, self._signs, asked_of(query), vector, filters, limit)
        return hits  # noqa: RET504  mypy takes the blocks to end a failure

    def _load(self) -> None:
        if not self._compares:
            database.load_vector_functions(self.db)
            self._compares = True


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


def _search(
    db: apsw.Connection,
    signs: Signs,
    asked: tuple[Asked, ...],
    vector: bytes | None,
    filters: Filters,
    limit: int,
) -> tuple[Hit, ...]:
    allowed, depth = allow(db, filters), max(DEPTH, limit)
    found = lexical.find(db, asked, depth, filtered=allowed is not None)
    near = None if vector is None else dict(nearest.find(db, vector, depth, allowed, signs))
    if near is not None:
        words = frozenset(found.items)
        near = {one: at for one, at in near.items() if at >= LEAST_NEARNESS or one in words}
    if near is None:
        told, unknown = dict.fromkeys(found.items, 1.0), frozenset[int]()
    else:
        told, unknown = lexical.told(db, found), vectors.without_vector(db, found.items)
    fused = fusion.fuse(told, near, unknown)[:limit]
    standing = lexical.explain(db, found.asked, [item for item, _ in fused])
    ranks = fusion.ranks(found.items), fusion.ranks(near or {})
    sql = "select key, title, text, payload, time from items where id = ?"
    hits = []
    for item, score in fused:
        row = db.execute(sql, (item,)).fetchone()
        if row is None:
            raise apsw.CorruptError(f"item {item} is found and not there")
        key, title, text, payload, time = row
        has, nearness = standing.get(item, lexical.NONE), (near or {}).get(item)
        why = (ranks[0].get(item), ranks[1].get(item), nearness, has.words, has.fields)
        hits.append(Hit(key, title, text, payload, time, round(score, 4), *why))
    return tuple(hits)
