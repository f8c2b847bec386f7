"""Items as rows: how they come into an index's file, and how they go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import apsw

from cspace.index.model import Item, digest_of
from cspace.index.vectors import join_vector, leave_vector
from cspace.index.words import searchable


def remove_group(db: apsw.Connection, group: str) -> None:
    """Remove the items of a group. Their vectors stay: should the text come back, none is made."""
    sql = "select id, vector from items where grouped = ?"
    for item, vector in db.execute(sql, (group,)).fetchall():
        db.execute("delete from words where rowid = ?", (item,))
        db.execute("delete from facets where item = ?", (item,))
        db.execute("delete from items where id = ?", (item,))
        if vector is not None:
            leave_vector(db, int(vector))


def add_items(db: apsw.Connection, items: Iterable[Item]) -> None:
    """Add items whose keys are new."""
    labels = _Labels(db)
    for item in items:
        digest = digest_of(item.embedded)
        texts = (item.key, item.group, item.title, item.text, item.payload)
        db.execute(
            "insert into items(key, grouped, title, text, payload, time, digest)"
            " values(?, ?, ?, ?, ?, ?, ?)",
            (*map(_stored, texts), item.time, digest),
        )
        number = db.last_insert_rowid()
        words = map(searchable, (item.title, item.text, item.labels))
        db.execute(
            "insert into words(rowid, title, text, labels) values(?, ?, ?, ?)", (number, *words)
        )
        pairs = {(name, _stored(one)) for name, values in item.facets.items() for one in values}
        db.executemany("insert into facets values(?, ?)", ((labels.id(*p), number) for p in pairs))
        join_vector(db, digest)


@dataclass(slots=True)
class _Labels:
    """The numbers of facets' values, as far as one transaction has asked."""

    db: apsw.Connection
    known: dict[tuple[str, str], int] = field(default_factory=dict)

    def id(self, name: str, value: str) -> int:
        found = self.known.get((name, value))
        if found is None:
            sql = "insert into labels(name, value) values(?, ?) on conflict do nothing"
            self.db.execute(sql, (name, value))
            sql = "select id from labels where name = ? and value = ?"
            found = self.known[name, value] = self.db.execute(sql, (name, value)).get
        return found


def _stored(text: str) -> str:
    """Return what SQLite can hold of a text: it knows no surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
