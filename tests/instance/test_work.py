"""An instance's work reaches the host as it is, also while an agent goes on writing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CommandFailed, CspaceError
from cspace.instance.work import fetch_work, forget_work, list_kept, prefix_of
from cspace.instance.work_answer import Work
from tests.instance.snapshot_trees import (
    PROGRAM,
    clone,
    commit,
    git,
    isolated,
    make_host,
    place,
    plant_index_bomb,
    plant_tree_bomb,
    survey,
)

Fetch = Callable[[], Work]
WAYS_TO_CHANGE = 400


@pytest.fixture
def fetch(host: Path, workspace: Path, tmp_path: Path) -> Fetch:
    """Return a function that fetches the work of the workspace."""
    return lambda: fetch_work(host, place(tmp_path, workspace), isolated)


def tree_of(host: Path, work: Work) -> dict[str, str]:
    """Return path to mode and blob of the files as they are."""
    assert work.tree is not None
    lines = git(host, "ls-tree", "-r", "-z", work.tree).split("\0")
    return {name: known for known, _, name in (line.partition("\t") for line in lines) if name}


def show(host: Path, work: Work, name: str) -> bytes:
    return proc.run("git", "-C", host, "cat-file", "blob", f"{work.tree}:{name}").stdout


def refs(host: Path) -> dict[str, str]:
    said = git(host, "for-each-ref", "--format=%(refname) %(objectname)", prefix_of("mercury"))
    return dict(line.split(" ") for line in said.splitlines())


def test_commits_staged_changed_deleted_and_untracked_files_come_along(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    head = commit(workspace, "committed.txt")
    (workspace / "src/main.py").write_text("changed\n", encoding="utf-8")
    (workspace / "staged.txt").write_text("staged\n", encoding="utf-8")
    git(workspace, "add", "staged.txt")
    (workspace / "ünträcked").write_bytes(b"\0raw\r\n")
    (workspace / ".gitignore").unlink()
    before = survey(workspace)
    work = fetch()
    assert survey(workspace) == before
    assert (work.branch, work.head, work.left_out) == ("cspace/mercury", head, ())
    names = {"committed.txt", "src/main.py", "staged.txt", "ünträcked"}
    assert set(tree_of(host, work)) == names
    assert show(host, work, "ünträcked") == b"\0raw\r\n"
    prefix = prefix_of("mercury")
    assert refs(host) == {f"{prefix}head": head, f"{prefix}tree": work.tree}


def test_a_tree_without_changes_is_the_last_commit(workspace: Path, fetch: Fetch) -> None:
    work = fetch()
    assert work.tree == work.head == git(workspace, "rev-parse", "HEAD")


def test_what_is_ignored_or_shared_stays_where_it_is(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    for name in (".cspace/context/a.md", ".cspace/memory/b.md", "x.log", "build/y", "excluded"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("content\n", encoding="utf-8")
    (workspace / ".git/info/exclude").write_text("excluded\n", encoding="utf-8")
    assert set(tree_of(host, fetch())) == {".gitignore", "src/main.py"}


def test_the_second_time_nothing_travels(workspace: Path, fetch: Fetch) -> None:
    commit(workspace, "new.txt")
    (workspace / "loose").write_text("x", encoding="utf-8")
    first, second = fetch(), fetch()
    assert (first.packed, second.packed) == (True, False)
    assert first.ids == second.ids


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_an_unfinished_merge_or_rebase_is_taken_as_it_is(
    host: Path, workspace: Path, fetch: Fetch, way: str
) -> None:
    git(workspace, "branch", "other")
    mine = commit(workspace, "a.txt", "mine\n")
    git(workspace, "switch", "--quiet", "other")
    commit(workspace, "a.txt", "theirs\n")
    git(workspace, "switch", "--quiet", "cspace/mercury")
    git(workspace, way, "other", ok=(1,))
    work = fetch()
    assert (work.branch, work.head) == ("cspace/mercury", mine)
    assert b"<<<<<<<" in show(host, work, "a.txt")


def test_a_detached_head_is_taken_without_a_branch(workspace: Path, fetch: Fetch) -> None:
    git(workspace, "switch", "--quiet", "--detach")
    head = commit(workspace, "detached.txt")
    work = fetch()
    assert (work.branch, work.head) == (None, head)


def test_an_unborn_branch_has_files_and_no_commit(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    git(workspace, "switch", "--quiet", "--orphan", "fresh")
    (workspace / "first.txt").write_text("x", encoding="utf-8")
    work = fetch()
    assert (work.branch, work.head) == ("fresh", None)
    assert set(tree_of(host, work)) == {"first.txt"}
    assert set(refs(host)) == {f"{prefix_of('mercury')}tree"}


def test_a_file_where_a_directory_was_and_a_link_where_files_were(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    commit(workspace, "a/one")
    commit(workspace, "b/two")
    commit(workspace, "c")
    for name in ("a/one", "b/two", "c"):
        (workspace / name).unlink()
    (workspace / "a").rmdir()
    (workspace / "b").rmdir()
    (workspace / "a").write_text("file\n", encoding="utf-8")
    (workspace / "b").symlink_to("src")
    (workspace / "c").mkdir()
    (workspace / "c/three").write_text("x", encoding="utf-8")
    found = tree_of(host, fetch())
    assert {"a", "b", "c/three"} <= set(found)
    assert found["b"].startswith("120000")
    assert not {"a/one", "b/two", "c"} & set(found)


def test_line_endings_and_pointers_are_what_a_commit_would_hold(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    attributes = "*.txt text eol=crlf\n*.bin filter=lfs\n"
    commit(workspace, ".gitattributes", attributes)
    commit(workspace, "pointer.bin", "version https://git-lfs.github.com/spec/v1\n")
    (workspace / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    work = fetch()
    assert show(host, work, "dos.txt") == b"one\ntwo\n"
    assert show(host, work, "pointer.bin").startswith(b"version https://git-lfs")


def test_what_is_large_unreadable_or_a_repository_is_left_out_and_named(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    with (workspace / "core").open("wb") as file:
        file.truncate(33 << 20)
    for number in range(9):
        with (workspace / f"part{number}").open("wb") as file:
            file.truncate(30 << 20)
    git(workspace, "init", "--quiet", "nested")
    work = fetch()
    reasons = {each.path.decode(): each.reason for each in work.left_out}
    assert set(reasons) == {"core", "nested/", "part8"}
    assert "nested" not in str(tree_of(host, work))
    assert not work.moving


def test_special_files_do_no_harm(host: Path, workspace: Path, fetch: Fetch) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "src/main.py").unlink()
    os.mkfifo(workspace / "src/main.py")
    (workspace / ".git/info/exclude").unlink()
    os.mkfifo(workspace / ".git/info/exclude")
    work = fetch()
    assert "pipe" not in tree_of(host, work)
    assert [each.path for each in work.left_out] == [b"src/main.py"]


def test_a_fifo_for_a_head_is_a_damaged_repository(workspace: Path, fetch: Fetch) -> None:
    (workspace / ".git/HEAD").unlink()
    os.mkfifo(workspace / ".git/HEAD")
    with pytest.raises(CspaceError, match="damaged"):
        fetch()


def test_a_submodules_new_commit_is_named_and_its_files_are_not_taken(
    host: Path, workspace: Path, tmp_path: Path, fetch: Fetch
) -> None:
    (tmp_path / "library").mkdir()
    library = make_host(tmp_path / "library")
    git(workspace, "submodule", "--quiet", "add", str(library), "library")
    git(workspace, "commit", "--quiet", "-m", "Add a submodule")
    moved = commit(workspace / "library", "more.txt")
    found = tree_of(host, fetch())
    assert found["library"] == f"160000 commit {moved}"


def test_files_that_change_all_the_time_never_fail_the_call(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    """The agent's own writing must neither fail nor be kept waiting."""
    done = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not done.is_set():
            number = len(written) % WAYS_TO_CHANGE
            (workspace / f"busy{number % 7}").write_bytes(os.urandom(number * 997))
            (workspace / f"busy{number % 5}").unlink(missing_ok=True)
            written.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(written) <= WAYS_TO_CHANGE:
            work = fetch()
            assert work.problem is None
            assert git(host, "fsck", "--connectivity-only", "--no-dangling", "--no-progress") == ""
            assert show(host, work, ".gitignore") == b"*.log\nbuild/\n"
    finally:
        done.set()
        writer.join()


def test_commits_that_come_meanwhile_do_no_harm(host: Path, workspace: Path, fetch: Fetch) -> None:
    done = threading.Event()
    made: list[str] = []

    def work() -> None:
        while not done.is_set():
            made.append(commit(workspace, f"file{len(made)}"))
            git(workspace, "pack-refs", "--all")

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(5):
            head = fetch().head
            assert head is not None
            assert git(host, "rev-list", "--objects", "--quiet", head) == ""
    finally:
        done.set()
        worker.join()
    assert made


def test_sha256_repositories_work_as_others(tmp_path: Path) -> None:
    host = tmp_path / "host"
    git(tmp_path, "init", "--quiet", "--object-format=sha256", str(host))
    commit(host, "a")
    workspace = clone(host, tmp_path / "workspace")
    head = commit(workspace, "b")
    (workspace / "c").write_text("x", encoding="utf-8")
    work = fetch_work(host, place(tmp_path, workspace), isolated)
    assert work.head == head
    assert len(head) == 64
    assert set(tree_of(host, work)) == {"a", "b", "c"}


def test_a_shallow_host_takes_what_is_on_top_of_it(tmp_path: Path) -> None:
    full = make_host(tmp_path)
    host = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{full}", str(host))
    workspace = clone(host, tmp_path / "workspace")
    assert (workspace / ".git/shallow").is_file()
    head = commit(workspace, "new.txt")
    assert fetch_work(host, place(tmp_path, workspace), isolated).head == head


def test_a_history_that_an_agent_cut_is_named(
    host: Path, workspace: Path, fetch: Fetch, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = make_host(tmp_path / "other")
    commit(other, "elsewhere")
    git(workspace, "fetch", "--quiet", "--depth=1", f"file://{other}", "HEAD")
    git(workspace, "reset", "--quiet", "--hard", "FETCH_HEAD")
    with pytest.raises(CspaceError, match="its history is cut where the host's is not"):
        fetch()
    assert refs(host) == {}


def test_replacements_and_grafts_hide_nothing(host: Path, workspace: Path, fetch: Fetch) -> None:
    first = git(workspace, "rev-parse", "HEAD")
    head = commit(workspace, "hidden.txt")
    git(workspace, "replace", head, first)
    (workspace / ".git/info/grafts").write_text(f"{head}\n", encoding="utf-8")
    assert fetch().head == head
    assert "hidden.txt" in git(host, "ls-tree", "--name-only", head)
    assert git(host, "rev-list", "--count", head) == "3"


@pytest.mark.parametrize(
    "plant", [plant_index_bomb, lambda where: plant_tree_bomb(where, ".git/HEAD")]
)
def test_a_tree_of_ten_billion_paths_ends_with_a_reason(
    workspace: Path, fetch: Fetch, plant: Callable[[Path], None]
) -> None:
    plant(workspace)
    work = fetch()
    assert work.tree is None
    assert "paths" in (work.problem or "")


def test_an_object_that_fsck_refuses_is_refused(host: Path, workspace: Path, fetch: Fetch) -> None:
    blob = git(workspace, "rev-parse", "HEAD:.gitignore")
    line = f"100644 blob {blob}\t.git\n".encode()
    tree = proc.run("git", "-C", workspace, "mktree", stdin=line).text
    evil = git(workspace, "commit-tree", "-m", "evil", tree)
    git(workspace, "update-ref", "refs/heads/cspace/mercury", evil)
    with pytest.raises(CommandFailed, match="hasDotgit"):
        fetch()
    assert refs(host) == {}


def test_notes_come_along_and_refs_that_are_gone_go(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    git(workspace, "notes", "--ref=cs/decisions", "add", "-m", "why")
    ref = f"{prefix_of('mercury')}refs/notes/cs/decisions"
    assert set(fetch().notes) == {"refs/notes/cs/decisions"}
    assert ref in refs(host)
    git(workspace, "update-ref", "-d", "refs/notes/cs/decisions")
    git(workspace, "notes", "--ref=cs", "add", "-m", "a file where a directory was")
    assert set(fetch().notes) == {"refs/notes/cs"}
    assert ref not in refs(host)


def test_notes_that_are_no_commit_keep_nothing_else_back(workspace: Path, fetch: Fetch) -> None:
    git(workspace, "update-ref", "refs/notes/blob", git(workspace, "rev-parse", "HEAD:.gitignore"))
    git(workspace, "update-ref", "refs/notes/gone/deeper", "HEAD")
    (workspace / ".git/refs/notes/gone/deeper").write_text("0" * 39 + "1\n", encoding="utf-8")
    work = fetch()
    assert (work.notes, work.problem) == ({}, None)


def test_forgetting_removes_every_ref_and_no_other_instances(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    fetch()
    git(host, "update-ref", f"{prefix_of('mercury-2')}head", "HEAD")
    assert list_kept(host) == ("mercury", "mercury-2")
    forget_work(host, "mercury")
    assert list_kept(host) == ("mercury-2",)


LEADING = {
    "file": 'rm -rf .git; echo "gitdir: $1" >.git',
    "link": 'rm -rf .git; ln -s "$1" .git',
}


@pytest.mark.parametrize("name", LEADING)
def test_a_git_directory_that_leads_elsewhere_is_refused(
    host: Path, workspace: Path, fetch: Fetch, tmp_path: Path, name: str
) -> None:
    (tmp_path / "other").mkdir()
    other = make_host(tmp_path / "other")
    proc.run("sh", "-c", LEADING[name], "-", other / ".git", cwd=workspace)
    assert git(workspace, "rev-parse", "HEAD")
    with pytest.raises(CspaceError, match="no repository of its own"):
        fetch()
    assert refs(host) == {}


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_a_mark_in_the_index_hides_no_change(
    host: Path, workspace: Path, fetch: Fetch, mark: str
) -> None:
    git(workspace, "update-index", mark, "src/main.py")
    (workspace / "src/main.py").write_text("changed\n", encoding="utf-8")
    assert git(workspace, "status", "--porcelain") == ""
    assert show(host, fetch(), "src/main.py") == b"changed\n"


def test_a_time_in_the_index_hides_no_change(host: Path, workspace: Path, fetch: Fetch) -> None:
    git(workspace, "config", "core.trustctime", "false")
    git(workspace, "config", "core.checkStat", "minimal")
    path = workspace / "src/main.py"
    os.utime(path, (1, 1))
    git(workspace, "update-index", "--refresh")
    path.write_bytes(path.read_bytes().replace(b"hello", b"HELLO"))
    os.utime(path, (1, 1))
    # What an agent's own program can write there: the time and the number of the changed file.
    index = (workspace / ".git/index").read_bytes()
    assert git(workspace, "status", "--porcelain") == ""
    assert b"HELLO" in show(host, fetch(), "src/main.py")
    assert (workspace / ".git/index").read_bytes() == index


def test_a_sparse_checkout_has_deleted_nothing(host: Path, workspace: Path, fetch: Fetch) -> None:
    git(workspace, "sparse-checkout", "set", "--no-cone", "/.gitignore")
    assert not (workspace / "src").exists()
    assert set(tree_of(host, fetch())) == {".gitignore", "src/main.py"}


def test_an_ignored_file_that_was_added_all_the_same_comes_along(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    (workspace / "forced.log").write_text("staged\n", encoding="utf-8")
    git(workspace, "add", "--force", "forced.log")
    (workspace / "forced.log").write_text("changed\n", encoding="utf-8")
    assert show(host, fetch(), "forced.log") == b"changed\n"


@pytest.mark.parametrize("name", [".gitignore", "src/.gitattributes", "nested/.git/HEAD"])
def test_a_fifo_that_git_would_open_keeps_no_commit_back(
    workspace: Path, fetch: Fetch, name: str
) -> None:
    for part in ("objects", "refs"):
        (workspace / "nested/.git" / part).mkdir(parents=True)
    (workspace / name).unlink(missing_ok=True)
    os.mkfifo(workspace / name)
    work = fetch()
    assert work.head == git(workspace, "rev-parse", "HEAD")
    assert (work.tree, work.problem) == (None, f"{name} is a FIFO, for which git would wait")


@pytest.mark.parametrize("name", ["config", "objects/info/alternates", "objects/info/commit-graph"])
def test_a_fifo_among_the_objects_is_named(workspace: Path, fetch: Fetch, name: str) -> None:
    (workspace / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(workspace / ".git" / name)
    with pytest.raises(CspaceError, match=f"{name} is a FIFO"):
        fetch()


def test_a_fifo_in_a_store_that_is_borrowed_from_is_named(
    workspace: Path, fetch: Fetch, tmp_path: Path
) -> None:
    (tmp_path / 'odd"\n/pack').mkdir(parents=True)
    quoted = str(tmp_path / 'odd"\n').replace('"', '\\"').replace("\n", "\\n")
    (workspace / ".git/objects/info/alternates").write_text(f'"{quoted}"\n', encoding="utf-8")
    os.mkfifo(workspace / "pipe")
    (tmp_path / 'odd"\n/pack/multi-pack-index').symlink_to(workspace / "pipe")
    with pytest.raises(CspaceError, match="multi-pack-index is a FIFO"):
        fetch()


def test_what_waits_all_the_same_is_ended(workspace: Path, tmp_path: Path) -> None:
    os.mkfifo(workspace / "pipe")
    words = ("work", "--workspace", workspace, "--output", tmp_path, "--seconds", "1")
    # A FIFO of a kind that nobody looks for: our own list of what the host has.
    done = proc.run(*PROGRAM, *words, "--host", workspace / "pipe", stdin=b"\n", ok=(1,))
    assert b"it took too long" in done.stdout


def test_notes_that_fsck_refuses_keep_no_work_back(
    host: Path, workspace: Path, fetch: Fetch
) -> None:
    head = commit(workspace, "new.txt")
    blob = git(workspace, "rev-parse", "HEAD:.gitignore")
    tree = proc.run(
        "git", "-C", workspace, "mktree", stdin=f"100644 blob {blob}\t.git\n".encode()
    ).text
    evil = git(workspace, "commit-tree", "-m", "evil", tree)
    git(workspace, "update-ref", "refs/notes/evil", evil)
    work = fetch()
    assert (work.head, work.notes) == (head, {})
    assert "hasDotgit" in (work.notes_problem or "")
    assert set(refs(host)) == {f"{prefix_of('mercury')}{name}" for name in ("head", "tree")}
    assert git(host, "cat-file", "-e", evil, ok=(1, 128)) == ""


def test_notes_whose_objects_are_gone_keep_no_work_back(workspace: Path, fetch: Fetch) -> None:
    git(workspace, "notes", "--ref=cs", "add", "-m", "why")
    blob = git(workspace, "rev-parse", f"refs/notes/cs:{git(workspace, 'rev-parse', 'HEAD')}")
    (workspace / ".git/objects" / blob[:2] / blob[2:]).unlink()
    work = fetch()
    assert (work.notes, work.tree) == ({}, work.head)
    assert blob in (work.notes_problem or "")


def test_commits_that_would_fill_the_disk_are_refused(workspace: Path, tmp_path: Path) -> None:
    (workspace / "large").write_bytes(os.urandom(300_000))
    git(workspace, "add", "large")
    git(workspace, "commit", "--quiet", "-m", "Large")
    words = ("work", "--workspace", workspace, "--output", tmp_path, "--largest", "200000")
    done = proc.run(*PROGRAM, *words, stdin=b"\n", ok=(1,))
    assert b"its new commits are above 200000 bytes" in done.stdout
    assert not (tmp_path / "work.json").exists()
