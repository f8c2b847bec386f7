"""Writes are whole or absent, locks serialise, and no link is followed below a root."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from cspace import files, proc
from cspace.errors import Conflict, CspaceError
from cspace.files import Owner
from tests.swapping import swapping

KILLED_WRITER = """
import os, sys
from pathlib import Path
from cspace import files, proc
with files.temporary(Path(sys.argv[1]), b"half"):
    os.kill(os.getpid(), 9)
"""
PUBLISHER = """
import sys
from pathlib import Path
from cspace import files, proc
names = (Path(sys.argv[1]) / f"{number}.md" for number in range(1000))
for _ in range(int(sys.argv[2])):
    files.publish_first_free(names, sys.argv[3] * 10_000)
    files.sweep(Path(sys.argv[1]))
"""
HOLDER = """
import sys
from pathlib import Path
from cspace import files, proc
with files.lock(Path(sys.argv[1]), timeout=1, holder="mercury"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_write_atomic_replaces_content_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    files.write_atomic(path, "né", mode=0o600)
    assert path.read_bytes() == "né".encode()
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_write_atomic_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(outside)
    files.write_atomic(link, "ours")
    assert (outside.read_text(encoding="utf-8"), link.read_text(encoding="utf-8")) == (
        "theirs",
        "ours",
    )


def test_publish_never_goes_over_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("first", encoding="utf-8")
    with pytest.raises(FileExistsError):
        files.publish(path, "second")
    assert path.read_text(encoding="utf-8") == "first"
    assert os.listdir(tmp_path) == ["file"]


def test_publish_first_free_says_when_every_name_is_taken(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.touch()
    with pytest.raises(FileExistsError):
        files.publish_first_free(paths, "x")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_failed_write_leaves_no_debris(tmp_path: Path) -> None:
    target = tmp_path / "directory"
    target.mkdir()
    (target / "file").touch()
    with pytest.raises(OSError, match="directory"):
        files.write_atomic(target, "x")
    assert os.listdir(tmp_path) == ["directory"]


def test_kill_9_leaves_a_temporary_file_that_the_next_sweep_removes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_WRITER, tmp_path / "file"], check=False, cwd=Path.cwd()
    )
    assert done.returncode == -9
    (debris,) = os.listdir(tmp_path)
    assert re.fullmatch(r"\.file\.[0-9a-f]{12}\.cspace-tmp", debris)
    files.sweep(tmp_path)
    assert os.listdir(tmp_path) == []


def test_sweep_leaves_a_living_writers_file_alone(tmp_path: Path) -> None:
    with files.temporary(tmp_path / "file", b"x") as temporary:
        files.sweep(tmp_path)
        assert temporary.exists()


def test_writers_that_sweep_all_the_time_lose_nothing_of_each_other(
    tmp_path: Path, counts: Callable[[int, int], int]
) -> None:
    each = counts(15, 100)
    writers = [
        subprocess.Popen([sys.executable, "-c", PUBLISHER, tmp_path, str(each), letter])
        for letter in "abcd"
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    contents = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    assert len(contents) == 4 * each
    assert {len(content) for content in contents} == {10_000}


def test_a_held_lock_times_out_with_its_holders_name(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(Conflict, match=r"the thing has been locked by mercury for 0\.05 s"),
            files.lock(path, timeout=0.05, holder="venus", name="the thing"),
        ):
            pass
        assert holder.stdin is not None
        holder.stdin.close()
    with files.lock(path, timeout=0.05, holder="venus"):
        assert path.read_text(encoding="utf-8") == "venus\n"
    assert path.exists()


def test_a_link_in_the_place_of_a_lock_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    (tmp_path / "x.lock").symlink_to(victim)
    with (
        pytest.raises(OSError, match="symbolic"),
        files.lock(tmp_path / "x.lock", timeout=0.05, holder="venus"),
    ):
        pass
    assert victim.read_text(encoding="utf-8") == "precious"


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
        files.read_beneath(root, PurePosixPath("a/b/file"))


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "."])
def test_a_path_that_leaves_the_root_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(CspaceError, match="not a path below"):
        files.open_beneath(tmp_path, PurePosixPath(path))


def test_a_fifo_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(CspaceError, match="not a regular file"):
        files.read_beneath(tmp_path, PurePosixPath("fifo"))


def test_a_pinned_directory_stays_itself_when_its_path_is_swapped(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "trap").mkdir()
    with files.pinned(tmp_path, PurePosixPath("real")) as pinned:
        (tmp_path / "real").rename(tmp_path / "moved")
        (tmp_path / "real").symlink_to(tmp_path / "trap")
        files.publish(pinned / "file", "x")
    assert os.listdir(tmp_path / "trap") == []
    assert os.listdir(tmp_path / "moved") == ["file"]


def test_ensure_beneath_names_the_link_that_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/tmp")
    with pytest.raises(CspaceError, match="a is not a directory of its own"):
        files.ensure_beneath(tmp_path, PurePosixPath("a/b"))


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with files.pinned(tmp_path, PurePosixPath("a/b"), create=True) as pinned:
            files.publish_first_free((pinned / str(n) for n in range(9)), "x")
        with pytest.raises(OSError, match="No such file"):
            files.read_beneath(tmp_path, PurePosixPath("a/missing/x"))
    assert len(os.listdir("/proc/self/fd")) == before


SWAPS = 100_000
OURS = Owner(1000, 1000)
Act = Callable[[Path, str], object]


def make_beneath(root: Path, name: str) -> None:
    files.ensure_beneath(root, PurePosixPath("a", name, "deeper"), owner=OURS)


def make_by_path(root: Path, name: str) -> None:
    (root / "a" / name / "deeper").mkdir(parents=True)


def link_beneath(root: Path, name: str) -> None:
    files.ensure_link(root, PurePosixPath("a", name), "target", owner=OURS)


def link_by_path(root: Path, name: str) -> None:
    (root / "a" / name).symlink_to("target")


def publish_pinned(root: Path, name: str) -> None:
    with files.pinned(root, PurePosixPath("a")) as pinned:
        files.publish(pinned / name, "x", owner=OURS)


def publish_by_path(root: Path, name: str) -> None:
    files.publish(root / "a" / name, "x", owner=OURS)


def open_beneath(root: Path, name: str) -> None:
    path = PurePosixPath("a", name)
    os.close(files.open_beneath(root, path, flags=os.O_WRONLY | os.O_CREAT))


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
        (open_beneath, open_by_path),
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
                safe.add(files.read_beneath(root, PurePosixPath("a/file")))
    assert naive == {b"ours", b"private"}
    assert safe == {b"ours"}


def test_a_sparse_file_of_ten_gigabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(10 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(CspaceError, match=f"file: larger than {files.MAX_BYTES} bytes"):
            files.read_beneath(tmp_path, PurePosixPath("file"))
        assert tracemalloc.get_traced_memory()[1] < 3 * files.MAX_BYTES
    finally:
        tracemalloc.stop()
    os.truncate(tmp_path / "file", files.MAX_BYTES)
    assert len(files.read_beneath(tmp_path, PurePosixPath("file"))) == files.MAX_BYTES


def test_a_program_that_outlives_the_holder_holds_the_lock_in_its_place(tmp_path: Path) -> None:
    path, ready = tmp_path / "lock", tmp_path / "ready"
    script = f"""
import os, signal
from pathlib import Path
from cspace import files, proc
with files.lock(Path({str(path)!r}), timeout=0, holder="killed") as descriptor:
    with proc.holding(descriptor):
        proc.run("sh", "-c", "kill -9 $PPID; touch {ready}; read line <{tmp_path}/go")
"""
    os.mkfifo(tmp_path / "go")
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -9
    assert files.is_locked(path)
    with pytest.raises(Conflict, match="killed"), files.lock(path, timeout=0, holder="next"):
        pass
    (tmp_path / "go").write_text("\n", encoding="utf-8")
    with files.lock(path, timeout=60, holder="next"):
        assert ready.exists()


def test_a_program_that_runs_on_in_the_background_does_not_hold_a_lock_that_was_given_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    os.mkfifo(tmp_path / "go")
    script = f"sh -c 'read line <{tmp_path}/go' >/dev/null 2>&1 &"
    with files.lock(path, timeout=0, holder="one") as held, proc.holding(held):
        proc.run("sh", "-c", script)
    assert not files.is_locked(path)
    (tmp_path / "go").write_text("\n", encoding="utf-8")


def test_asking_whether_a_lock_is_held_makes_no_file(tmp_path: Path) -> None:
    assert not files.is_locked(tmp_path / "lock")
    assert os.listdir(tmp_path) == []


def test_what_is_abandoned_is_listed_and_not_removed(tmp_path: Path) -> None:
    torn = tmp_path / ".file.0.cspace-tmp"
    torn.touch()
    with files.temporary(tmp_path / "file", b"x"):
        assert files.list_abandoned(tmp_path) == (torn,)
    assert torn.exists()
    assert files.list_abandoned(tmp_path / "absent") == ()
