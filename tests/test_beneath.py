"""No link is followed below a root, whatever is swapped meanwhile."""

from __future__ import annotations

import contextlib
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from cspace import beneath, files
from cspace.errors import CspaceError
from cspace.files import Owner
from tests.swapping import swapping


@pytest.mark.parametrize("linked", ["a", "a/b", "a/b/file"])
def test_no_component_below_the_root_is_followed_as_a_link(tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "b").mkdir(parents=True)
    (elsewhere / "b" / "file").write_text("secret", encoding="utf-8")
    (elsewhere / "file").write_text("secret", encoding="utf-8")
    root = tmp_path / "root"
    (root / linked).parent.mkdir(parents=True)
    target = {"a": elsewhere, "a/b": elsewhere / "b", "a/b/file": elsewhere / "file"}[linked]
    (root / linked).symlink_to(target)
    with pytest.raises(OSError, match=r"symbolic|directory"):
        beneath.read_file(root, PurePosixPath("a/b/file"))


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "."])
def test_a_path_that_leaves_the_root_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(CspaceError, match="not a path below"):
        beneath.open_file(tmp_path, PurePosixPath(path))


def test_a_fifo_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(CspaceError, match="not a regular file"):
        beneath.read_file(tmp_path, PurePosixPath("fifo"))


def test_a_pinned_directory_stays_itself_when_its_path_is_swapped(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "trap").mkdir()
    with beneath.pinned(tmp_path, PurePosixPath("real")) as pinned:
        (tmp_path / "real").rename(tmp_path / "moved")
        (tmp_path / "real").symlink_to(tmp_path / "trap")
        files.publish(pinned / "file", "x")
    assert os.listdir(tmp_path / "trap") == []
    assert os.listdir(tmp_path / "moved") == ["file"]


def test_ensure_directory_names_the_link_that_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/tmp")
    with pytest.raises(CspaceError, match="a is not a directory of its own"):
        beneath.ensure_directory(tmp_path, PurePosixPath("a/b"))


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with beneath.pinned(tmp_path, PurePosixPath("a/b"), create=True) as pinned:
            files.publish_first_free((pinned / str(n) for n in range(9)), "x")
        with pytest.raises(OSError, match="No such file"):
            beneath.read_file(tmp_path, PurePosixPath("a/missing/x"))
    assert len(os.listdir("/proc/self/fd")) == before


SWAPS = 100_000
OURS = Owner(1000, 1000)
Act = Callable[[Path, str], object]


def make_beneath(root: Path, name: str) -> None:
    beneath.ensure_directory(root, PurePosixPath("a", name, "deeper"), owner=OURS)


def make_by_path(root: Path, name: str) -> None:
    (root / "a" / name / "deeper").mkdir(parents=True)


def link_beneath(root: Path, name: str) -> None:
    beneath.ensure_link(root, PurePosixPath("a", name), "target", owner=OURS)


def link_by_path(root: Path, name: str) -> None:
    (root / "a" / name).symlink_to("target")


def publish_pinned(root: Path, name: str) -> None:
    with beneath.pinned(root, PurePosixPath("a")) as pinned:
        files.publish(pinned / name, "x", owner=OURS)


def publish_by_path(root: Path, name: str) -> None:
    files.publish(root / "a" / name, "x", owner=OURS)


def open_safely(root: Path, name: str) -> None:
    path = PurePosixPath("a", name)
    os.close(beneath.open_file(root, path, flags=os.O_WRONLY | os.O_CREAT))


def open_by_path(root: Path, name: str) -> None:
    (root / "a" / name).touch()


def attempt(act: Act, root: Path, outside: Path) -> tuple[int, int]:
    """Act again and again while `a` is swapped for a link to outside.

    Return how many attempts there were, and how many left something outside.
    """
    tries = 0
    with swapping(root / "a", outside, count=SWAPS) as swapper:
        while swapper.poll() is None:
            with contextlib.suppress(OSError, CspaceError):
                act(root, str(tries))
            tries += 1
        assert swapper.returncode == 0
    return tries, len(os.listdir(outside))


@pytest.mark.parametrize(
    ("act", "naive"),
    [
        (make_beneath, make_by_path),
        (link_beneath, link_by_path),
        (publish_pinned, publish_by_path),
        (open_safely, open_by_path),
    ],
)
def test_a_path_component_swapped_for_a_link_hazard_nothing_is_made_outside(
    tmp_path: Path, act: Act, naive: Act
) -> None:
    for number, each in enumerate((naive, act)):
        root, outside = tmp_path / str(number) / "root", tmp_path / str(number) / "outside"
        (root / "a").mkdir(parents=True)
        outside.mkdir()
        before = outside.stat()
        tries, landed = attempt(each, root, outside)
        assert tries > 100
        if each is naive:
            assert landed > 0
        else:
            after = outside.stat()
            assert (landed, after.st_uid, after.st_mode) == (0, before.st_uid, before.st_mode)
            assert after.st_mtime_ns == before.st_mtime_ns
            assert len(os.listdir(root / "a")) > 0


def test_a_path_component_swapped_for_a_link_hazard_nothing_outside_is_read(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for directory, text in ((root / "a", "ours"), (outside, "private")):
        directory.mkdir(parents=True)
        (directory / "file").write_text(text, encoding="utf-8")
    naive, safe = set[bytes](), set[bytes]()
    with swapping(root / "a", outside, count=SWAPS) as swapper:
        while swapper.poll() is None:
            naive.add((root / "a" / "file").read_bytes())
            with contextlib.suppress(OSError):
                safe.add(beneath.read_file(root, PurePosixPath("a/file")))
    assert naive == {b"ours", b"private"}
    assert safe == {b"ours"}


def test_a_sparse_file_of_ten_gigabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(10 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(CspaceError, match=f"file: larger than {beneath.MAX_BYTES} bytes"):
            beneath.read_file(tmp_path, PurePosixPath("file"))
        assert tracemalloc.get_traced_memory()[1] < 3 * beneath.MAX_BYTES
    finally:
        tracemalloc.stop()
    os.truncate(tmp_path / "file", beneath.MAX_BYTES)
    assert len(beneath.read_file(tmp_path, PurePosixPath("file"))) == beneath.MAX_BYTES


@pytest.mark.parametrize("taken", ["a", "a/b"])
@pytest.mark.parametrize("kind", ["link", "file", "fifo"])
def test_what_is_in_the_way_of_a_directory_is_moved_aside(
    tmp_path: Path, taken: str, kind: str
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    place = root / taken
    for directory in (place.parent, outside / "b"):
        directory.mkdir(parents=True)
    put = {"link": lambda: place.symlink_to(outside), "fifo": lambda: os.mkfifo(place)}
    put.get(kind, place.touch)()
    before = place.lstat().st_ino
    beneath.ensure_way(root, PurePosixPath("a/b"))
    assert (root / "a/b").is_dir()
    assert not place.is_symlink()
    assert place.with_name(f"{place.name}.aside").lstat().st_ino == before
    assert [path.name for path in outside.rglob("*")] == ["b"]


def test_rights_that_were_taken_from_a_directory_come_back(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    for path in (root / "a", root):
        path.chmod(0)
    beneath.ensure_way(root, PurePosixPath("a/b"))
    assert (root / "a/b").is_dir()
    assert (root / "a").stat().st_mode & 0o700 == 0o700


def test_a_root_that_is_a_link_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="directory"):
        beneath.ensure_way(tmp_path / "root", PurePosixPath("a"))
    assert not any((tmp_path / "outside").iterdir())
