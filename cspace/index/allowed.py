"""Which items filters let through, as a table that every search is joined with."""

from __future__ import annotations

import json
from collections.abc import Iterator

import apsw

from cspace.index.model import Filters

_LABELS = "select id from labels where name = ? and value in (select value from json_each(?))"


def allow(db: apsw.Connection, filters: Filters) -> int | None:
    """Fill the table `allowed` with the items that filters let through, and return how many.

    Returns:
        None where there are no filters: then the table is not to be looked at.
    """
    if not filters:
        return None
    db.execute("create temp table if not exists allowed(item integer primary key)")
    db.execute("delete from allowed")
    conditions: list[str] = []
    values: list[str | float] = []
    for condition, bound in _conditions(db, filters):
        conditions.append(condition)
        values += bound
    db.execute(f"insert into allowed select id from items where {' and '.join(conditions)}", values)  # noqa: S608  no value is in it
    return db.changes()


def _conditions(
    db: apsw.Connection, filters: Filters
) -> Iterator[tuple[str, tuple[str | float, ...]]]:
    having = f"id in (select item from facets where label in ({_LABELS}))"  # noqa: S608  see above
    for name, values in filters.any_of.items():
        yield having, (name, json.dumps(values))
    for name, values in filters.all_of.items():
        for value in values:
            yield having, (name, json.dumps([value]))
    for name, part in filters.containing.items():
        known = db.execute("select value from labels where name = ?", (name,))
        values = tuple(value for (value,) in known if part.casefold() in value.casefold())
        yield having, (name, json.dumps(values))
    if filters.since is not None:
        yield "time >= ?", (filters.since,)
