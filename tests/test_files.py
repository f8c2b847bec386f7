"""Writes are whole or absent, and locks serialise."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import files, proc
from cspace.errors import Conflict, CspaceError

KILLED_WRITER = """
import os, sys
from pathlib import Path
from cspace import files
with files.temporary(Path(sys.argv[1]), b"half"):
    os.kill(os.getpid(), 9)
"""
PUBLISHER = """
import sys
from pathlib import Path
from cspace import files
names = (Path(sys.argv[1]) / f"{number}.md" for number in range(1000))
for _ in range(int(sys.argv[2])):
    files.publish_first_free(names, sys.argv[3] * 10_000)
    files.sweep(Path(sys.argv[1]))
"""
HOLDER = """
import sys
from pathlib import Path
from cspace import files
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


def test_a_lock_can_be_held_by_other_users_whatever_the_umask_of_its_maker(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    before = os.umask(0o077)
    try:
        with files.lock(path, timeout=0, holder="strict"):
            assert path.stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_the_name_of_a_holder_is_gone_when_the_next_one_may_not_sign(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with files.lock(path, timeout=0, holder="mercury"):
        pass
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with (
            pytest.raises(Conflict, match="locked by another process"),
            files.lock(path, timeout=0, holder="venus"),
        ):
            pass


def test_a_lock_that_is_somebodys_text_under_another_name_is_not_signed(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("precious", encoding="utf-8")
    (tmp_path / "x.lock").hardlink_to(text)
    with files.lock(tmp_path / "x.lock", timeout=0, holder="venus"):
        assert text.read_text(encoding="utf-8") == "precious"
    assert text.read_text(encoding="utf-8") == "precious"


def test_what_stands_in_a_lock_is_shown_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with files.lock(path, timeout=0, holder="mer\x1b[2Jcury\nhint: run rm"):
        with (
            pytest.raises(Conflict, match=r"locked by mer\[2Jcury for 0 s"),
            files.lock(path, timeout=0, holder="venus"),
        ):
            pass
        assert path.exists()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_refused_as_a_lock_by_its_name(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "x.lock")
    with (
        pytest.raises(CspaceError, match=r"the thing\.lock is not a regular file"),
        files.lock(tmp_path / "x.lock", timeout=0, holder="venus", name="the thing"),
    ):
        pass
