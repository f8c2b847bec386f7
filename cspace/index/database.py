"""The SQLite file of an index: its tables, and what SQLite refuses as errors of ours."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import apsw

from cspace.errors import Conflict, CspaceError

# Part of what an index was made by: a file of another is built again, never changed into ours.
SCHEMA = "2"
BUSY_MILLISECONDS = 10_000

# A rollback journal and no write-ahead log: the file is replaced by a rename, and a log that stayed
# would be taken for the new file's.
_TABLES = """
create table meta(key text primary key, value text not null) without rowid;
create table items(
    id integer primary key, key text not null unique, grouped text not null, title text not null,
    text text not null, payload text not null, topics text not null, time real not null,
    digest blob not null, vector integer
);
create index items_of_group on items(grouped);
create index items_of_digest on items(digest);
create index items_of_vector on items(vector, time);
create index items_by_time on items(time);
create table labels(
    id integer primary key, name text not null, value text not null, unique(name, value)
);
create table facets(label integer not null, item integer not null, primary key(label, item))
    without rowid;
create index facets_of_item on facets(item);
create table vectors(
    id integer primary key, digest blob not null unique, vector blob not null, bits blob not null
);
create table bits(id integer primary key, bits blob not null);
create virtual table words using fts5(
    title, text, labels, content='', contentless_delete=1,
    tokenize="porter unicode61 remove_diacritics 0 categories 'L* M* N* Co'"
);
"""
FIELDS = ("title", "text", "labels")


class BrokenIndex(CspaceError):
    """The file is no index of this version, or damaged: it has to be built again."""


class ReadOnlyIndex(CspaceError):
    """The file can not be written by us."""


@contextlib.contextmanager
def translated(path: Path | None) -> Iterator[None]:
    """Raise what SQLite refuses as an error of ours that names the file."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Conflict(
            f"{path} is being written by another process", hint="try again in a moment"
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError) as error:
        raise ReadOnlyIndex(f"{path}: {error}") from error
    except (apsw.FullError, apsw.NoMemError) as error:
        raise ReadOnlyIndex(f"{path}: {error}", hint="make room on the disk: df -h") from error
    except apsw.Error as error:
        raise BrokenIndex(f"{path}: {error}", hint="cspace notes reindex") from error


def connect(path: Path, *, to_change: bool) -> apsw.Connection:
    """Open a file that is there.

    Raises:
        BrokenIndex: it is missing, of another version, or damaged.
        ReadOnlyIndex: it is to be changed, and can not be.
    """
    mode = apsw.SQLITE_OPEN_READWRITE if to_change else apsw.SQLITE_OPEN_READONLY
    # SQLite refuses any link on the way, and only the last name is nobody's but ours.
    real = path.parent.resolve() / path.name
    with translated(path):
        db = _settled(apsw.Connection(str(real), flags=mode | apsw.SQLITE_OPEN_NOFOLLOW))
    try:
        with translated(path):
            made_by = db.execute("select value from meta where key = 'schema'").get
        if made_by != SCHEMA:
            raise BrokenIndex(f"{path} was made by another version of cspace")
    except BrokenIndex:
        db.close()
        raise
    return db


def create(path: Path | None) -> apsw.Connection:
    """Create an empty one where nothing is; in memory without a path.

    Raises:
        ReadOnlyIndex: nothing can be created there.
    """
    with translated(path):
        try:
            db = _settled(apsw.Connection(str(path) if path else ":memory:"))
        except apsw.CantOpenError as error:
            raise ReadOnlyIndex(f"{path}: {error}") from error
        # Nobody reads it before it is whole, and a half one is thrown away.
        db.execute("pragma synchronous = off")
        with db:
            for _ in db.execute(_TABLES):
                pass
            db.execute("insert into meta values('schema', ?)", (SCHEMA,))
        return db


def load_vector_functions(db: apsw.Connection) -> None:
    """Let SQL compare vectors. A search by words does not pay for it."""
    # To import the package would load numpy, where that is installed.
    found = importlib.util.find_spec("sqlite_vec")
    if found is None or found.origin is None:
        raise CspaceError(
            "sqlite-vec is not installed", hint="pip install --force-reinstall cspace"
        )
    with translated(None):
        db.enable_load_extension(True)  # noqa: FBT003  apsw's form
        db.load_extension(str(Path(found.origin).with_name("vec0")))
        db.enable_load_extension(False)  # noqa: FBT003  apsw's form


def _settled(db: apsw.Connection) -> apsw.Connection:
    db.set_busy_timeout(BUSY_MILLISECONDS)
    for pragma in (
        *("temp_store = memory", "trusted_schema = off", "cell_size_check = on"),
        # Mapped, a file that somebody cuts off would end us. In KiB, and only as far as needed.
        *("mmap_size = 0", "cache_size = -65536"),
    ):
        db.execute(f"pragma {pragma}")
    return db
