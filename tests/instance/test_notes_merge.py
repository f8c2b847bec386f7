"""An agent's commit notes reach the host's on teardown, and nothing else does."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.instance.archive import Archive
from cspace.instance.notes_merge import merge_notes
from tests.conftest import Clock
from tests.instance.snapshot_trees import archive_now, commit, git, isolated, place

REF = "refs/notes/cs/decisions"


@pytest.fixture
def archived(host: Path, workspace: Path, tmp_path: Path, clock: Clock) -> Callable[[], Archive]:
    """Return a function that archives the workspace."""
    return lambda: archive_now(host, place(tmp_path, workspace), isolated, clock)


def note(where: Path, text: str, target: str = "HEAD") -> None:
    git(where, "notes", f"--ref={REF}", "append", "-m", text, target)


def read(where: Path, target: str = "HEAD") -> list[str]:
    said = git(where, "notes", f"--ref={REF}", "show", target)
    return [line for line in said.splitlines() if line]


def tip(where: Path, ref: str = REF) -> str:
    return git(where, "rev-parse", "--verify", "--quiet", ref, ok=(0, 1))


def plant(workspace: Path, tree_lines: str) -> str:
    """Make a commit of that tree the workspace's notes."""
    stdin = tree_lines.encode()
    tree = proc.run("git", "-C", workspace, "mktree", "--missing", stdin=stdin).text
    made = git(workspace, "commit-tree", "-m", "notes", tree)
    git(workspace, "update-ref", REF, made)
    return made


def test_notes_that_the_host_does_not_have_are_created(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    note(workspace, "why")
    assert merge_notes(host, archived().own) == ()
    assert tip(host) == tip(workspace)
    assert read(host) == ["why"]


def test_notes_that_build_on_the_hosts_are_a_fast_forward(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    note(host, "first")
    git(workspace, "fetch", "--quiet", "origin", f"{REF}:{REF}")
    note(workspace, "second")
    assert merge_notes(host, archived().own) == ()
    assert tip(host) == tip(workspace)


@pytest.mark.parametrize("related", [True, False])
def test_notes_on_one_commit_from_both_sides_lose_no_line(
    host: Path, workspace: Path, archived: Callable[[], Archive], *, related: bool
) -> None:
    if related:
        note(host, "common")
        git(workspace, "fetch", "--quiet", "origin", f"{REF}:{REF}")
    for where in (host, workspace):
        note(where, f"zebra of {where.name}\napple of {where.name}")
    before = tip(host)
    archive = archived()
    assert merge_notes(host, archive.own) == ()
    lines = read(host)
    # Not sorted: a record whose lines are in another order is none.
    for where in (host, workspace):
        assert lines.index(f"zebra of {where.name}") + 1 == lines.index(f"apple of {where.name}")
    parents = git(host, "rev-list", "--parents", "-1", REF).split()[1:]
    assert parents == [before, tip(workspace)]
    after = tip(host)
    assert merge_notes(host, archive.own) == ()
    assert tip(host) == after
    git(host, "fsck", "--full", "--strict", "--no-dangling")


def test_the_users_own_merge_of_notes_is_left_alone(
    host: Path, workspace: Path, archived: Callable[[], Archive], tmp_path: Path
) -> None:
    note(host, "mine")
    git(host, "update-ref", "refs/notes/other", REF)
    git(host, "update-ref", "-d", REF)
    note(host, "theirs")
    git(host, "notes", f"--ref={REF}", "merge", "refs/notes/other", ok=(1,))
    before, state = tip(host), (host / ".git/NOTES_MERGE_REF").read_text()
    note(workspace, "agent")
    git(workspace, "notes", "--ref=free", "add", "-m", "free")
    (notice,) = merge_notes(host, archived().own)
    assert "you are merging notes there" in notice
    assert f"{REF} was not merged" in notice
    assert (tip(host), (host / ".git/NOTES_MERGE_REF").read_text()) == (before, state)
    assert tip(host, "refs/notes/free") == tip(workspace, "refs/notes/free")
    git(host, "notes", f"--ref={REF}", "merge", "--commit")


def test_a_merge_in_a_linked_worktree_is_seen(
    host: Path, workspace: Path, archived: Callable[[], Archive], tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git(host, "worktree", "add", "--quiet", "--detach", linked)
    note(host, "mine")
    (host / ".git/worktrees/linked/NOTES_MERGE_REF").write_text(f"ref: {REF}\n")
    note(workspace, "agent")
    (notice,) = merge_notes(host, archived().own)
    assert "you are merging notes there" in notice


LINK = "120000 blob {blob}\t" + "a" * 40
NAMED = "100644 blob {blob}\tREADME"
SHORT = "100644 blob {blob}\tabcd"
MODULE = "160000 commit {commit}\t" + "a" * 40


@pytest.mark.parametrize("line", [LINK, NAMED, SHORT, MODULE], ids=["link", "name", "id", "module"])
def test_a_tree_that_is_not_one_of_notes_stays_out(
    host: Path, workspace: Path, archived: Callable[[], Archive], line: str
) -> None:
    blob = git(workspace, "rev-parse", "HEAD:.gitignore")
    plant(workspace, line.format(blob=blob, commit=git(workspace, "rev-parse", "HEAD")) + "\n")
    (notice,) = merge_notes(host, archived().own)
    assert f"{REF} was not merged" in notice
    assert tip(host) == ""


@pytest.mark.parametrize("kind", ["tag", "blob", "tree"])
def test_a_notes_ref_that_is_no_commit_stays_out(
    host: Path, workspace: Path, archived: Callable[[], Archive], kind: str
) -> None:
    git(workspace, "tag", "-a", "-m", "tag", "v1")
    names = {"tag": "v1", "blob": "HEAD:.gitignore", "tree": "HEAD^{tree}"}
    git(workspace, "update-ref", REF, git(workspace, "rev-parse", names[kind]))
    (notice,) = merge_notes(host, archived().own)
    assert f"it is a {kind}, not a commit of notes" in notice
    assert tip(host) == ""


def test_a_tree_without_end_stops_no_teardown(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    (workspace / "empty").write_bytes(b"")
    blob = git(workspace, "hash-object", "-w", "empty")
    (workspace / "empty").unlink()
    inner, kind, mode = blob, "blob", "100644"
    for _depth in range(20):
        # 256 to the power of 19 notes, in twenty small objects.
        names = [f"{number:02x}" for number in range(256)]
        lines = "".join(f"{mode} {kind} {inner}\t{name}\n" for name in names)
        inner = proc.run("git", "-C", workspace, "mktree", stdin=lines.encode()).text
        kind, mode = "tree", "040000"
    git(workspace, "update-ref", REF, git(workspace, "commit-tree", "-m", "bomb", inner))
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(
            ("git", "ls-tree", "-r", REF), cwd=workspace, timeout=1, stdout=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
    (notice,) = merge_notes(host, archived().own)
    assert "more than 500000" in notice
    assert tip(host) == ""


def test_tens_of_thousands_of_notes_are_merged(
    host: Path,
    workspace: Path,
    archived: Callable[[], Archive],
    counts: Callable[[int, int], int],
) -> None:
    notes = counts(20_000, 100_000)

    def flood(where: Path, first: int) -> None:
        blob = git(where, "hash-object", "-w", ".gitignore")
        lines = "".join(
            f"M 100644 {blob} {one[:2]}/{one[2:]}\n"
            for one in (f"{number:040x}"[::-1] for number in range(first, first + notes))
        )
        head = f"commit {REF}\ncommitter A <a@b> 1 +0000\ndata 0\n"
        words = ("git", "-C", where, "fast-import", "--quiet")
        proc.run(*words, stdin=(head + lines).encode())

    flood(host, 1_000_000)
    flood(workspace, 2_000_000)
    assert merge_notes(host, archived().own) == ()
    assert len(git(host, "notes", f"--ref={REF}", "list").splitlines()) == 2 * notes


def test_a_name_that_the_host_can_not_have_is_a_notice(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    git(host, "notes", "--ref=a", "add", "-m", "mine")
    git(workspace, "notes", "--ref=a/b", "add", "-m", "theirs")
    before = git(host, "for-each-ref", "refs/notes")
    (notice,) = merge_notes(host, archived().own)
    assert "refs/notes/a/b was not merged" in notice
    assert git(host, "for-each-ref", "refs/notes") == before


def test_other_refs_of_a_workspace_are_not_merged(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    commit(workspace, "work.txt")
    git(workspace, "tag", "theirs")
    before = git(host, "for-each-ref", "refs/heads", "refs/tags", "refs/notes")
    assert merge_notes(host, archived().own) == ()
    assert git(host, "for-each-ref", "refs/heads", "refs/tags", "refs/notes") == before


def test_notes_written_on_the_host_meanwhile_are_kept(
    host: Path, workspace: Path, archived: Callable[[], Archive]
) -> None:
    note(workspace, "agent")
    archive = archived()
    written: list[str] = []
    begun, enough = threading.Event(), threading.Event()

    def write() -> None:
        while not enough.is_set():
            note(host, line := f"host {len(written)}", f"HEAD~{len(written) % 2}")
            written.append(line)
            begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait(60)
    notices = merge_notes(host, archive.own)
    enough.set()
    writer.join()
    kept = read(host) + read(host, "HEAD~1")
    assert set(written) <= set(kept)
    assert notices == () or "keeps moving" in notices[0]
    merge_notes(host, archive.own)
    assert "agent" in read(host)
