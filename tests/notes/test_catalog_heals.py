"""An index that is missing, old or damaged is made anew, and a worse one never takes its place."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from cspace import proc
from cspace.errors import CspaceError
from cspace.index.database import BrokenIndex, ReadOnlyIndex, translated
from cspace.index.index import Index
from cspace.notes.catalog import Catalog
from cspace.notes.catalogued import group_of_key
from cspace.notes.question import Question
from tests.notes.annotated import annotate, draft, open_catalog

SIZE = 60


@pytest.fixture
def catalog(repo: Path) -> Catalog:
    annotate(repo, [(f"Chose plan{one}", f"because of walrus{one}\n") for one in range(SIZE)])
    catalog = open_catalog(repo)
    catalog.refresh()
    return catalog


def is_whole(catalog: Catalog) -> bool:
    found = catalog.recall(Question(f"plan{SIZE - 1}")).hits
    return len(found) == 1 and catalog.verify() == ()


def remove(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def scribble(path: Path) -> None:
    path.write_bytes(b"This is no database at all. " * 1000)


def damage_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    # All but the first, which says that this is an index.
    for at in range(4096, len(content), 4096):
        content[at : at + 200] = b"\xff" * 200
    path.write_bytes(content)


def change(sql: str) -> Callable[[Path], None]:
    def act(path: Path) -> None:
        db = apsw.Connection(str(path))
        db.execute(sql)
        db.close()

    return act


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = {
    "missing": remove,
    "truncated": truncate,
    "empty": empty,
    "no database": scribble,
    "damaged pages": damage_pages,
    "another schema": change("update meta set value = '0' where key = 'schema'"),
    "a table is gone": change("drop table items"),
    "the words are gone": change("drop table words"),
    "another format": change("update meta set value = '{}' where key = 'state'"),
    "an item is gone": change("delete from items"),
    "a payload is damaged": change("update items set payload = '{'"),
    "state is no JSON": change("update meta set value = 'x' where key = 'state'"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_an_index_that_is_damaged_or_old_is_built_anew(
    catalog: Catalog, damage: Callable[[Path], None]
) -> None:
    damage(catalog.path)
    assert is_whole(open_catalog(catalog.store.repository))
    assert [one.name for one in catalog.path.parent.iterdir() if "tmp" in one.name] == []


def test_an_index_of_notes_that_are_gone_is_built_anew(repo: Path, catalog: Catalog) -> None:
    proc.run("git", "-C", repo, "update-ref", "-d", "refs/notes/cs/decisions")
    proc.run("git", "-C", repo, "gc", "--quiet", "--prune=now")
    catalog.store.capture(draft("A walrus"))
    assert [hit.memory.record.summary for hit in catalog.recall(Question("walrus")).hits] == [
        "A walrus"
    ]
    assert catalog.verify() == ()


def test_hazard_a_shrink_that_git_does_not_show_is_refused(repo: Path, catalog: Catalog) -> None:
    before = catalog.path.read_bytes()
    blob = proc.run("git", "-C", repo, "notes", "--ref=refs/notes/cs/decisions", "list").text[:40]
    hide_object(repo, blob)
    with pytest.raises(CspaceError, match=f"1 notes can not be read, {blob} is one"):
        catalog.reindex(lambda _: None, None)
    assert catalog.path.read_bytes() == before
    assert len(catalog.recall(Question(f"plan{SIZE - 1}")).hits) == 1


def hide_object(repo: Path, one: str) -> None:
    packs = repo / ".git/objects/pack"
    for pack in packs.glob("*.pack"):
        moved = repo.parent / pack.name
        pack.rename(moved)
        pack.with_suffix(".idx").unlink()
        proc.run("git", "-C", repo, "unpack-objects", "-q", stdin=moved.read_bytes())
    (repo / ".git/objects" / one[:2] / one[2:]).unlink()


def test_a_removed_namespace_is_a_shrink_that_git_shows(repo: Path, catalog: Catalog) -> None:
    proc.run("git", "-C", repo, "update-ref", "-d", "refs/notes/cs/decisions")
    assert catalog.refresh().counts == {}


def test_verify_names_what_differs_from_git(catalog: Catalog) -> None:
    index = Index.open(catalog.path, to_change=True)
    key = min(index.keys("namespace", "decisions"))
    index.apply([group_of_key(key)], [], index.kept().state)
    index.close()
    (difference,) = catalog.verify()
    assert (difference.in_git, difference.in_index) == (SIZE, SIZE - 1)
    assert (difference.missing, difference.extra) == ((key,), ())
    catalog.reindex(lambda _: None, None)
    assert catalog.verify() == ()


def test_verify_names_damage(catalog: Catalog) -> None:
    content = catalog.path.read_bytes()
    catalog.path.write_bytes(content[:-4096] + b"\xff" * 4096)
    with pytest.raises(BrokenIndex, match=str(catalog.path)):
        catalog.verify()


def test_a_directory_that_can_not_be_made_is_named(repo: Path) -> None:
    catalog = open_catalog(repo)
    catalog.store.capture(draft("A walrus"))
    shutil.rmtree(catalog.path.parent)
    catalog.path.parent.write_text("in the way", encoding="utf-8")
    with pytest.raises(CspaceError, match="in the way"):
        catalog.refresh()


def test_where_nothing_can_be_written_recall_works_in_memory(catalog: Catalog) -> None:
    catalog.path.unlink()
    directory = catalog.path.parent
    code = (
        "import os; from pathlib import Path; from tests.notes.annotated import open_catalog;"
        "from cspace.notes.question import Question;"
        "os.geteuid() or os.setresuid(65534, 65534, 65534);"
        f"catalog = open_catalog(Path({str(catalog.store.repository)!r}));"
        f"hits = catalog.recall(Question('plan{SIZE - 1}')).hits;"
        "print(len(hits), catalog.refresh().in_memory)"
    )
    for place in (catalog.store.repository, *catalog.store.repository.parents):
        if place.stat().st_uid == os.geteuid() and place != Path("/tmp"):
            place.chmod(place.stat().st_mode | 0o055)
    directory.chmod(0o555)
    safe = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    env = {**os.environ, **safe, "HOME": "/"}
    said = proc.run(sys.executable, "-c", code, cwd=Path(__file__).parents[2], env=env).text
    assert said == "1 True"
    assert not catalog.path.exists()


def test_readers_have_an_index_while_others_write_and_rebuild(repo: Path, catalog: Catalog) -> None:
    def read(_: int) -> int:
        return len(open_catalog(repo).recall(Question(f"plan{SIZE - 1}")).hits)

    def write(number: int) -> int:
        own = open_catalog(repo)
        own.store.capture(draft(f"Another {number}"))
        own.reindex(lambda _: None, None) if number % 2 else own.refresh()
        return 1

    with ThreadPoolExecutor(6) as pool:
        done = [pool.submit(act, one) for one in range(6) for act in (read, write, read)]
        assert {one.result() for one in done} == {1}
    assert catalog.verify() == ()


def test_a_killed_reindex_leaves_the_old_index_serving(repo: Path, catalog: Catalog) -> None:
    before = catalog.path.read_bytes()
    code = (
        "import sys; from pathlib import Path; from tests.notes.annotated import open_catalog;"
        f"open_catalog(Path({str(repo)!r})).reindex(lambda _: None, None)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    # As soon as the new index lies beside the old one.
    while not any(catalog.path.parent.glob(".index.db.*")) and process.poll() is None:
        pass
    process.kill()
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert catalog.path.read_bytes() == before
    assert is_whole(catalog)
    catalog.reindex(lambda _: None, None)
    assert sorted(one.name for one in catalog.path.parent.iterdir() if "index" in one.name) == [
        "index.db",
        "index.lock",
    ]


def test_a_killed_update_is_rolled_back_by_the_next(repo: Path, catalog: Catalog) -> None:
    code = (
        "import os, sys; from pathlib import Path; from cspace.index.index import Index;"
        "index = Index.open(Path(sys.argv[1]), to_change=True);"
        "index.db.pragma('cache_size', 1); index.db.execute('begin immediate');"
        "index.db.execute('update items set title = payload || payload');"
        "index.db.cache_flush(); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, catalog.path], cwd=Path(__file__).parents[2], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert catalog.path.with_name("index.db-journal").exists()
    assert is_whole(catalog)
    assert catalog.refresh().rebuilt == ""


def test_what_a_killed_writer_left_is_not_played_back_into_a_new_index(catalog: Catalog) -> None:
    journal = catalog.path.with_name("index.db-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + os.urandom(5000))
    catalog.reindex(lambda _: None, None)
    assert is_whole(catalog)
    assert not journal.exists()


def test_an_index_on_a_full_disk_is_one_that_can_not_be_written(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "full.db"))
    connection.execute("create table held (text); pragma max_page_count = 3")
    with pytest.raises(ReadOnlyIndex, match="disk is full") as told, translated(tmp_path):
        connection.execute("insert into held values (zeroblob(100000))")
    assert told.value.hint == "make room on the disk: df -h"
