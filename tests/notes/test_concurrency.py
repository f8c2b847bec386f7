"""Many processes write notes at once, from two worktrees and with git itself; nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.git import git
from cspace.notes.census import take_census
from cspace.notes.store import NotesStore
from tests.notes.conftest import DECISIONS, add_commits, draft
from tests.notes.writers import APPENDER, CAPTURER, start

WRITERS = 8


def finish(writers: list[subprocess.Popen[bytes]]) -> None:
    assert [writer.wait() for writer in writers] == [0] * len(writers)


@pytest.fixture
def worktrees(repo: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Return two worktrees of a repository, with 25 commits more."""
    add_commits(repo, 25)
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    return repo, tmp_path / "linked"


@pytest.mark.parametrize("spread", [1, 25])
def test_hazard_8_processes_that_capture_25_times_keep_all_200(
    store: NotesStore, worktrees: tuple[Path, Path], spread: int, counts: Callable[[int, int], int]
) -> None:
    each = counts(3, 25)
    commits = git(store.repository, "rev-list", "HEAD").text.split()[: min(spread, each)]
    wanted = [commits[number % len(commits)] for number in range(each)]
    finish([start(CAPTURER, worktrees[n % 2], str(n), wanted) for n in range(WRITERS)])
    found = sorted(memory.record.summary for memory in store.iter_memories())
    assert found == sorted(f"Chose {n}.{at}" for n in range(WRITERS) for at in range(each))
    assert take_census(store)[DECISIONS].commits == len(commits)
    assert not any(memory.record.edited for memory in store.iter_memories())
    git(store.repository, "fsck", "--strict")


def test_neither_a_capture_nor_a_plain_git_notes_beside_it_is_lost(
    store: NotesStore, worktrees: tuple[Path, Path], counts: Callable[[int, int], int]
) -> None:
    each = counts(3, 25)
    commits = git(store.repository, "rev-list", "HEAD").text.split()[:each]
    captures = [start(CAPTURER, worktrees[n % 2], str(n), commits) for n in range(4)]
    finish([*captures, start(APPENDER, worktrees[0], "x", commits)])
    store.mend()
    notes = dict(store.iter_notes(DECISIONS))
    stray = b"\n".join(part for note in notes.values() for part in note.stray)
    assert [at for at in range(each) if b"by hand x.%d." % at not in stray] == []
    found = sorted(memory.record.summary for memory in store.iter_memories())
    assert found == sorted(f"Chose {n}.{at}" for n in range(4) for at in range(each))


def test_captures_share_one_lock_and_leave_it_free(store: NotesStore) -> None:
    store.capture(draft("Chose RS256"))
    directory = store.place.common_directory / "cspace"
    assert [path.name for path in directory.iterdir()] == ["notes.lock"]
    assert (directory / "notes.lock").read_bytes() == b""


# As another user, since root may write anything.
REFUSED = """
import os, sys
from pathlib import Path
from cspace.errors import CspaceError
from cspace.git_import import find_place
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.store import NotesStore
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
repository = Path(sys.argv[1])
store = NotesStore(repository, find_place(repository))
try:
    store.capture(Draft(Namespace.DECISIONS, "s", "b"))
except CspaceError as error:
    print(type(error).__name__, len(list(store.iter_memories())))
"""


def test_a_capture_in_a_repository_that_is_read_only_fails_as_an_expected_error(
    store: NotesStore, tmp_path: Path
) -> None:
    store.capture(draft("Chose RS256"))
    for above in (each for each in (tmp_path, *tmp_path.parents) if "/pytest-" in str(each)):
        above.chmod(above.stat().st_mode | 0o011)
    places = (store.repository, *store.place.common_directory.rglob("*"))
    for path in sorted(places, reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        done = subprocess.run(
            [sys.executable, "-c", REFUSED, store.repository], check=True, capture_output=True,
            env=os.environ | {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                              "GIT_CONFIG_VALUE_0": "*"},
        )  # fmt: skip
    finally:
        for path in sorted(places):
            path.chmod(0o755)
    assert done.stdout == b"CommandFailed 1\n"


def test_a_killed_capture_leaves_whole_notes_and_no_lock(
    store: NotesStore, counts: Callable[[int, int], int]
) -> None:
    for number in range(counts(1, 3)):
        writer = start(CAPTURER, store.repository, str(number), ["HEAD"] * 500)
        before = store.tips()
        while store.tips() == before:
            pass
        writer.kill()
        writer.wait()
        assert store.capture(draft(f"After kill {number}")).is_new
    git(store.repository, "fsck", "--strict")
    assert not any(note.stray for _, note in store.iter_notes(DECISIONS))
    assert list(store.place.common_directory.rglob("*.lock")) == [
        store.place.common_directory / "cspace/notes.lock"
    ]
