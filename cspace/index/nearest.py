"""Which items are nearest to a query's meaning.

Of each vector one bit a dimension is kept too, its sign. All of those are compared, and the nearest
again by the whole vectors. A table of our own does that faster than `vec0`, for as many as we like,
and joined with any filter.
"""

from __future__ import annotations

import apsw

# As many are compared by whole vectors of those that are nearest by bits.
RERANKED = 300
# So few are compared by whole vectors at once.
MAX_EXACT = 3_000

_VISIBLE = "id in (select vector from items where id in (select item from temp.allowed))"
_BY_BITS = "vec_distance_hamming(vec_bit(bits), vec_quantize_binary(?1))"


def find(
    db: apsw.Connection, vector: bytes, limit: int, allowed: int | None
) -> list[tuple[int, float]]:
    """Return the nearest items with their cosine, the nearest first.

    Args:
        allowed: how many items the table `allowed` has; None where it is not to be looked at.
    """
    near = dict(_near(db, vector, limit, allowed))
    only = "" if allowed is None else "and +id in (select item from temp.allowed)"
    marks = ",".join(map(str, near))
    sql = f"select id, vector, time from items where vector in ({marks}) {only}"  # noqa: S608  numbers
    found = [(item, near[one], time) for item, one, time in db.execute(sql)]
    found.sort(key=lambda one: (-one[1], -one[2], one[0]))
    return [(item, nearness) for item, nearness, _ in found[:limit]]


def _near(
    db: apsw.Connection, vector: bytes, limit: int, allowed: int | None
) -> list[tuple[int, float]]:
    chosen = _chosen(db, vector, limit, allowed)
    sql = f"select id, 1 - vec_distance_cosine(vector, ?1) as s from vectors where id in ({chosen})"  # noqa: S608  no value is in it
    rows = db.execute(f"{sql} order by s desc limit ?2", (vector, limit))
    return [(int(one), float(nearness)) for one, nearness in rows]


def _chosen(db: apsw.Connection, vector: bytes, limit: int, allowed: int | None) -> str:
    """Return SQL for the vectors that are worth a whole comparison."""
    only = "" if allowed is None else f"where {_VISIBLE}"
    total = db.execute("select count(*) from bits").get if allowed is None else allowed
    if total <= MAX_EXACT or len(vector) % 32:
        return f"select id from bits {only}"  # noqa: S608  no value is in it
    count = max(RERANKED, limit)
    ordered = f"select id, {_BY_BITS} as far from bits {only} order by far limit {count}"  # noqa: S608  see above
    return f"select id from ({ordered})"  # noqa: S608  see above
