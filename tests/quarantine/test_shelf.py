"""What was moved aside can be listed, brought back and deleted; a forged record leads nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cspace.errors import Conflict, CspaceError, NotFound
from cspace.quarantine import shelf
from cspace.quarantine.scan import Kind
from cspace.quarantine.shelf import ITEM, PLACE, RECORD, Quarantined, list_quarantined
from tests.conftest import Clock
from tests.quarantine.conftest import Sweep
from tests.quarantine.planted import plant_repository


@pytest.fixture
def link(project: Path) -> Path:
    path = project / ".cspace/memory/notes/link"
    path.parent.mkdir()
    path.symlink_to("nowhere")
    return path


@pytest.fixture
def thing(link: Path, swept: Sweep) -> Quarantined:
    (one,) = swept()
    return one


def test_it_is_listed_with_where_it_was_why_and_when(
    project: Path, thing: Quarantined, clock: Clock
) -> None:
    assert list_quarantined(project) == (thing,)
    assert (thing.path, thing.kind, thing.moved) == (
        ".cspace/memory/notes/link",
        Kind.LINK,
        clock.now,
    )


def test_the_oldest_comes_first(
    project: Path, thing: Quarantined, swept: Sweep, clock: Clock
) -> None:
    for _ in range(3):
        clock.advance(hours=1)
        (project / ".cspace/memory/another").symlink_to("nowhere")
        swept()
    times = [one.moved for one in list_quarantined(project) if one.moved]
    assert times == sorted(times)
    assert len(times) == 4


def test_it_comes_back_as_it_was(project: Path, thing: Quarantined, link: Path) -> None:
    assert shelf.restore(project, thing.id) == link
    assert link.readlink() == Path("nowhere")
    assert list_quarantined(project) == ()


def test_a_whole_repository_comes_back_with_its_modes(project: Path, swept: Sweep) -> None:
    directory = project / ".cspace/memory"
    plant_repository(directory, project / "canary")
    (directory / ".git").chmod(0o500)
    before = {path: path.lstat().st_mode for path in (directory / ".git").rglob("*")}
    (thing,) = swept()
    shelf.restore(project, thing.id)
    assert {path: path.lstat().st_mode for path in (directory / ".git").rglob("*")} == before
    # An ordinary user has to be given the right to write before it can be moved.
    assert (directory / ".git").stat().st_mode & 0o577 == 0o500


def test_what_came_back_is_moved_again(project: Path, thing: Quarantined, swept: Sweep) -> None:
    shelf.restore(project, thing.id)
    assert [one.path for one in swept()] == [thing.path]


def test_it_can_be_put_elsewhere_and_stays_there(
    project: Path, thing: Quarantined, swept: Sweep, tmp_path: Path
) -> None:
    assert shelf.restore(project, thing.id, tmp_path / "looked-at") == tmp_path / "looked-at"
    assert (tmp_path / "looked-at").is_symlink()
    assert swept() == ()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_taken_place_is_a_conflict_and_nothing_is_overwritten(
    project: Path, thing: Quarantined, link: Path, tmp_path: Path, *, elsewhere: bool
) -> None:
    target = tmp_path / "taken" if elsewhere else link
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(Conflict, match="is taken"):
        shelf.restore(project, thing.id, target if elsewhere else None)
    assert target.read_text(encoding="utf-8") == "mine"
    assert list_quarantined(project) == (thing,)


def test_a_parent_that_became_a_link_is_not_followed(
    project: Path, thing: Quarantined, link: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link.parent.rmdir()
    link.parent.symlink_to(outside)
    with pytest.raises(NotFound, match="not a directory of its own"):
        shelf.restore(project, thing.id)
    assert list(outside.iterdir()) == []
    assert list_quarantined(project) == (thing,)


def test_another_file_system_is_refused_with_a_place_that_works(
    project: Path, thing: Quarantined
) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == project.stat().st_dev:
        pytest.skip("there is no second file system here")
    with pytest.raises(CspaceError, match="another file system"):
        shelf.restore(project, thing.id, other / "cspace-looked-at")
    assert list_quarantined(project) == (thing,)


def test_it_can_be_deleted(project: Path, thing: Quarantined) -> None:
    assert shelf.remove(project, thing.id) == thing
    assert list_quarantined(project) == ()
    with pytest.raises(NotFound, match=thing.id):
        shelf.remove(project, thing.id)


def forged(path: str, kind: str = "git", moved: str = "2026-04-14T10:30:00Z") -> str:
    return json.dumps({"schema": 1, "path": path, "kind": kind, "moved": moved})


@pytest.mark.parametrize(
    "record",
    [
        forged("../../outside"),
        forged(".cspace/memory/../../.git/hooks/post-checkout"),
        forged(".git/hooks/post-checkout"),
        forged("/etc/cron.d/x"),
        forged(".cspace/memory"),
        forged(".cspace/memory/x", kind="no"),
        forged(".cspace/memory/x\0y"),
        forged(".cspace/memory/\ud800"),
        forged(".cspace/memory/x", moved="9999-12-31T23:59:59-14:00"),
        '{"schema": 1, "path": 3}',
        "[]",
        "[" * 100_000,
        "\udcff",
    ],
    ids=range(13),
)
def test_a_forged_record_names_no_place(project: Path, thing: Quarantined, record: str) -> None:
    path = project / PLACE / thing.id / RECORD
    path.write_bytes(os.fsencode(record))
    assert list_quarantined(project) == (Quarantined(thing.id, None, None, None),)
    with pytest.raises(CspaceError, match="can not be read"):
        shelf.restore(project, thing.id)
    assert (project / PLACE / thing.id / ITEM).is_symlink()


def test_a_sparse_record_of_ten_gigabytes_is_not_read(project: Path, thing: Quarantined) -> None:
    os.truncate(project / PLACE / thing.id / RECORD, 10 << 30)
    assert list_quarantined(project) == (Quarantined(thing.id, None, None, None),)


def test_the_record_says_origin_kind_and_time(project: Path, thing: Quarantined) -> None:
    found = json.loads((project / PLACE / thing.id / RECORD).read_text(encoding="ascii"))
    assert found == {
        "schema": 1,
        "path": ".cspace/memory/notes/link",
        "kind": "link",
        "moved": "2026-04-14 10:30:00+00:00",
    }


def test_links_in_the_quarantine_itself_are_not_things(project: Path, thing: Quarantined) -> None:
    (project / PLACE / "00000000").symlink_to(project / PLACE / thing.id)
    (project / PLACE / "notes").mkdir()
    assert list_quarantined(project) == (thing,)
