"""What `cspace archive show` says of an archive."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.errors import NotFound
from cspace.instance.snapshot_pack import IGNORED_EACH
from cspace.lifecycle.archive_contents import Contents, State, describe_archive
from cspace.project import Project
from tests.instance.snapshot_trees import commit, git, plant_index_bomb, plant_tree_bomb
from tests.lifecycle.conftest import Keep


def states(contents: Contents) -> dict[bytes, set[State]]:
    return {one.path: set(one.states) for one in contents.items if State.GIT not in one.states}


def test_each_path_has_the_state_that_git_status_gave_it(
    project: Project, workspace: Path, keep: Keep
) -> None:
    for name in ("kept", "staged", "changed", "both", "removed", "unstaged", "mode"):
        commit(workspace, name)
    (workspace / "link").symlink_to("kept")
    git(workspace, "add", "link")
    git(workspace, "commit", "--quiet", "-m", "link")
    for name in ("staged", "both"):
        (workspace / name).write_text("staged\n", encoding="utf-8")
        git(workspace, "add", name)
    (workspace / "added").write_text("x", encoding="utf-8")
    git(workspace, "add", "added")
    for name in ("changed", "both"):
        (workspace / name).write_text("changed\n", encoding="utf-8")
    (workspace / "mode").chmod(0o755)
    git(workspace, "rm", "--quiet", "removed")
    (workspace / "unstaged").unlink()
    (workspace / "new").write_text("x", encoding="utf-8")
    (workspace / "debug.log").write_text("x", encoding="utf-8")
    keep()
    found = states(describe_archive(project.root, "mercury"))
    assert found.pop(b".gitignore") == found.pop(b"src/main.py") == {State.COMMITTED}
    assert found == {
        b"kept": {State.COMMITTED},
        b"link": {State.COMMITTED},
        b"staged": {State.STAGED},
        b"added": {State.STAGED},
        b"changed": {State.CHANGED},
        b"mode": {State.CHANGED},
        b"both": {State.STAGED, State.CHANGED},
        b"removed": {State.DELETED},
        b"unstaged": {State.DELETED},
        b"new": {State.UNTRACKED},
        b"debug.log": {State.IGNORED},
    }


def test_stashes_worktrees_and_repositories_below_are_named(
    project: Project, workspace: Path, keep: Keep
) -> None:
    for text in ("one", "two"):
        (workspace / "src/main.py").write_text(text, encoding="utf-8")
        git(workspace, "stash", "push", "--quiet", "-m", f"stash {text}")
    git(workspace, "worktree", "add", "--quiet", "--detach", workspace / "linked")
    (workspace / "nested").mkdir()
    git(workspace / "nested", "init", "--quiet")
    inner = commit(workspace / "nested", "inner.txt")
    keep()
    contents = describe_archive(project.root, "mercury")
    assert contents.stashes == (
        b"On cspace/mercury: stash two",
        b"On cspace/mercury: stash one",
    )
    assert contents.worktrees == (os.fsencode(workspace / "linked"),)
    assert [(one.number, one.path) for one in contents.repositories] == [
        (0, b".git"),
        (1, b"nested/.git"),
    ]
    assert (1, "refs/heads/main", inner) in [(r.number, r.name, r.id) for r in contents.refs]
    found = states(contents)
    assert found[b"nested/inner.txt"] == found[b"linked/src/main.py"] == {State.NESTED}
    assert not any(name.endswith(b"/keep") for name in (r.name.encode() for r in contents.refs))


def test_what_was_left_out_is_listed_with_size_and_reason(
    project: Project, workspace: Path, keep: Keep
) -> None:
    (workspace / "large.log").write_bytes(b"x" * (IGNORED_EACH + 1))
    os.mkfifo(workspace / "pipe")
    keep()
    contents = describe_archive(project.root, "mercury")
    told = {one.path: (one.size, one.reason) for one in contents.left_out}
    assert told[b"large.log"] == (
        IGNORED_EACH + 1,
        f"ignored by git and above {IGNORED_EACH} bytes",
    )
    assert told[b"pipe"] == (0, "a FIFO")


def test_a_repository_that_git_can_not_read_hides_no_path(
    project: Project, workspace: Path, keep: Keep
) -> None:
    (workspace / ".git/index").write_bytes(b"DIRC garbage")
    keep()
    contents = describe_archive(project.root, "mercury")
    assert states(contents)[b"src/main.py"] == {State.UNKNOWN}
    assert [one.path for one in contents.problems] == [b".git"]


def test_a_split_index_is_read(project: Project, workspace: Path, keep: Keep) -> None:
    git(workspace, "update-index", "--split-index")
    (workspace / "added").write_text("x", encoding="utf-8")
    git(workspace, "add", "added")
    assert list((workspace / ".git").glob("sharedindex.*"))
    keep()
    found = states(describe_archive(project.root, "mercury"))
    assert (found[b"added"], found[b"src/main.py"]) == ({State.STAGED}, {State.COMMITTED})


def test_a_commit_that_names_billions_of_paths_is_not_read_to_the_end(
    project: Project, workspace: Path, keep: Keep
) -> None:
    plant_tree_bomb(workspace, ".git/HEAD")
    keep()
    found = states(describe_archive(project.root, "mercury"))
    assert found == {b".gitignore": {State.UNKNOWN}, b"src/main.py": {State.UNKNOWN}}


def test_an_index_that_folds_billions_of_paths_is_not_unfolded(
    project: Project, workspace: Path, keep: Keep
) -> None:
    plant_index_bomb(workspace)
    (workspace / ".git/HEAD").write_text("ref: refs/heads/cspace/mercury\n", encoding="ascii")
    keep()
    found = states(describe_archive(project.root, "mercury"))
    assert found == {b".gitignore": {State.UNKNOWN}, b"src/main.py": {State.UNKNOWN}}


def test_without_an_index_everything_is_staged_for_removal(
    project: Project, workspace: Path, keep: Keep
) -> None:
    (workspace / ".git/index").unlink()
    keep()
    assert states(describe_archive(project.root, "mercury"))[b"src/main.py"] == {State.UNTRACKED}


def test_a_workspace_without_git_is_files(project: Project, workspace: Path, keep: Keep) -> None:
    (workspace / ".git").rename(workspace.parent / "gone")
    keep()
    contents = describe_archive(project.root, "mercury")
    assert (contents.branch, contents.commits, contents.repositories) == (None, 0, ())
    assert states(contents)[b"src/main.py"] == {State.UNKNOWN}
    assert [one.path for one in contents.problems] == [b".git"]


def test_what_does_not_exist_is_not_found(project: Project) -> None:
    with pytest.raises(NotFound):
        describe_archive(project.root, "mercury")
