"""Vectors as rows: kept by the digest of the text that they stand for, of one embedder at a time.

`vectors` has what was ever embedded, `bits` the signs of those that an item has now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import apsw

from cspace.index.model import embedded


def join_vector(db: apsw.Connection, digest: bytes) -> None:
    """Give the items of a text its vector, where there is one."""
    found = db.execute("select id, bits from vectors where digest = ?", (digest,)).fetchone()
    if found is not None:
        db.execute("update items set vector = ? where digest = ?", (found[0], digest))
        db.execute("insert into bits values(?, ?) on conflict do nothing", found)


def leave_vector(db: apsw.Connection, vector: int) -> None:
    """Keep a vector out of searches where no item has it: it would take another's place."""
    unused = "not exists (select 1 from items where vector = ?1)"
    db.execute(f"delete from bits where id = ?1 and {unused}", (vector,))  # noqa: S608  ours


def missing_vectors(db: apsw.Connection, limit: int) -> dict[bytes, str]:
    """Return the newest texts without a vector, by their digest."""
    sql = (
        "select digest, title, text from items where vector is null"
        " group by digest order by max(time) desc limit ?"
    )
    return {digest: embedded(title, text) for digest, title, text in db.execute(sql, (limit,))}


def without_vector(db: apsw.Connection, items: Collection[int]) -> frozenset[int]:
    """Return which of these items have no vector yet."""
    marks = ",".join(map(str, items))
    sql = f"select id from items where vector is null and id in ({marks})"  # noqa: S608  numbers
    return frozenset(item for (item,) in db.execute(sql))


def put_vectors(db: apsw.Connection, embedder: str, vectors: Mapping[bytes, bytes]) -> None:
    """Keep vectors by the digest of their text; those of another embedder go."""
    expect(db, embedder)
    sql = (
        "insert into vectors(digest, vector, bits) values(?1, ?2, vec_quantize_binary(?2))"
        " on conflict do nothing"
    )
    for digest, vector in vectors.items():
        db.execute(sql, (digest, vector))
        join_vector(db, digest)


def take_vectors(db: apsw.Connection) -> None:
    """Take over from the database `old` what it has of vectors for our texts."""
    db.execute("insert or replace into meta select key, value from old.meta where key = 'embedder'")
    db.execute(
        "insert into vectors(digest, vector, bits) select digest, vector, bits from old.vectors"
        " where digest in (select digest from items)"
    )
    db.execute(
        "update items set vector = (select id from vectors where vectors.digest = items.digest)"
    )
    db.execute("insert into bits select id, bits from vectors")


def expect(db: apsw.Connection, embedder: str) -> None:
    """Let go of the vectors of any other embedder."""
    if db.execute("select value from meta where key = 'embedder'").get == embedder:
        return
    db.execute("update items set vector = null where vector is not null")
    for table in ("vectors", "bits"):
        db.execute(f"delete from {table}")  # noqa: S608  ours
    db.execute("insert or replace into meta values('embedder', ?)", (embedder,))
