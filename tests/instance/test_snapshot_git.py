"""Everything that git keeps in a workspace's repository comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.instance.snapshot_trees import (
    commit,
    git,
    outlook,
    there_and_back,
)


def comes_back(host: Path, workspace: Path) -> None:
    """Assert that git says the same of a workspace before and after, and that no byte differs."""
    said = outlook(workspace)
    before, after = there_and_back(host, workspace)
    assert after == before
    assert outlook(workspace) == said


def test_a_second_stash_is_lost_in_teardown_hazard_it_comes_back(
    host: Path, workspace: Path
) -> None:
    for text in ("first\n", "second\n"):
        (workspace / "src/main.py").write_text(text, encoding="utf-8")
        (workspace / f"untracked {text.strip()}").write_text(text, encoding="utf-8")
        git(workspace, "stash", "push", "--quiet", "--include-untracked", "-m", text.strip())
    comes_back(host, workspace)
    assert "On cspace/mercury: first" in git(workspace, "stash", "list")
    git(workspace, "stash", "pop", "--quiet", "stash@{1}")
    assert (workspace / "src/main.py").read_text(encoding="utf-8") == "first\n"


def test_a_detached_worktree_head_is_lost_in_teardown_hazard_its_commits_come_back(
    host: Path, workspace: Path
) -> None:
    git(workspace, "worktree", "add", "--quiet", "--detach", "side")
    lost = commit(workspace / "side", "only here.txt")
    (workspace / "side/staged").write_text("staged\n", encoding="utf-8")
    git(workspace / "side", "add", "staged")
    said = outlook(workspace / "side")
    comes_back(host, workspace)
    assert outlook(workspace / "side") == said
    assert git(workspace / "side", "rev-parse", "HEAD") == lost


def test_commits_that_only_a_reflog_names_come_back(host: Path, workspace: Path) -> None:
    lost = commit(workspace, "regretted.txt")
    git(workspace, "reset", "--quiet", "--hard", "HEAD~1")
    comes_back(host, workspace)
    assert git(workspace, "rev-parse", "HEAD@{1}") == lost
    assert git(workspace, "show", f"{lost}:regretted.txt") == "content"


def test_a_merge_in_progress_with_conflicts_comes_back(host: Path, workspace: Path) -> None:
    git(workspace, "switch", "--quiet", "-c", "other", "HEAD~1")
    commit(workspace, "src/main.py", "theirs\n")
    git(workspace, "switch", "--quiet", "cspace/mercury")
    commit(workspace, "src/main.py", "ours\n")
    git(workspace, "merge", "other", ok=(1,))
    assert len(git(workspace, "ls-files", "--unmerged").splitlines()) >= 2
    comes_back(host, workspace)
    (workspace / "src/main.py").write_text("both\n", encoding="utf-8")
    git(workspace, "commit", "--quiet", "-am", "Merge")
    assert len(git(workspace, "rev-list", "--parents", "-1", "HEAD").split()) == 3


def test_a_rebase_in_progress_comes_back_and_can_go_on(host: Path, workspace: Path) -> None:
    base = git(workspace, "rev-parse", "HEAD")
    commit(workspace, "src/main.py", "mine\n")
    commit(workspace, "later.txt")
    git(workspace, "switch", "--quiet", "-c", "upstream", base)
    commit(workspace, "src/main.py", "theirs\n")
    git(workspace, "switch", "--quiet", "cspace/mercury")
    git(workspace, "rebase", "upstream", ok=(1,))
    git(workspace, "branch", "--quiet", "-D", "upstream")
    comes_back(host, workspace)
    git(workspace, "checkout", "--quiet", "--theirs", "src/main.py")
    git(workspace, "add", "-A")
    git(workspace, "-c", "core.editor=true", "rebase", "--continue")
    assert (workspace / "later.txt").exists()


def test_annotated_tags_notes_and_odd_refs_come_back(host: Path, workspace: Path) -> None:
    commit(workspace, "tagged.txt")
    git(workspace, "tag", "-a", "-m", "one", "v1")
    git(workspace, "tag", "-a", "-m", "a tag of a tag", "nested", "v1")
    git(workspace, "tag", "blob", "HEAD:tagged.txt")
    git(workspace, "tag", "tree", "HEAD^{tree}")
    git(workspace, "notes", "--ref", "cs/decisions", "add", "-m", "why", "HEAD")
    git(workspace, "update-ref", "refs/remotes/fork/naïve", "HEAD")
    git(workspace, "update-ref", "refs/heads/ends/snapshot", "HEAD")
    git(workspace, "pack-refs", "--all")
    comes_back(host, workspace)
    assert git(workspace, "notes", "--ref", "cs/decisions", "show", "HEAD") == "why"


@pytest.mark.parametrize("name", ["x" * 251, "/".join(["deep"] * 250), "x" * 5000])
def test_a_branch_with_a_name_that_is_too_long_for_an_archives_ref_comes_back(
    host: Path, workspace: Path, name: str
) -> None:
    work = commit(workspace, "work.txt")
    git(workspace, "reset", "--quiet", "--hard", "HEAD~1")
    git(workspace, "pack-refs", "--all")
    git(workspace, "reflog", "expire", "--expire=now", "--all")
    packed = workspace / ".git/packed-refs"
    known = packed.read_text(encoding="ascii").replace(" sorted", "")
    packed.write_text(f"{known}{work} refs/heads/{name}\n", encoding="ascii")
    comes_back(host, workspace)
    assert f"{work} commit\trefs/heads/{name}" in git(workspace, "for-each-ref")


def test_an_unborn_branch_comes_back(host: Path, workspace: Path) -> None:
    git(workspace, "switch", "--quiet", "--orphan", "empty")
    (workspace / "first").write_text("not committed yet\n", encoding="utf-8")
    git(workspace, "add", "first")
    comes_back(host, workspace)
    assert git(workspace, "symbolic-ref", "HEAD") == "refs/heads/empty"


def test_a_split_index_comes_back(host: Path, workspace: Path) -> None:
    git(workspace, "update-index", "--split-index")
    (workspace / "staged").write_text("staged\n", encoding="utf-8")
    git(workspace, "add", "staged")
    assert list((workspace / ".git").glob("sharedindex.*"))
    comes_back(host, workspace)


def test_a_sparse_index_with_staged_and_ignored_files_comes_back(
    host: Path, workspace: Path
) -> None:
    for name in ("near/file", "far/away/file"):
        commit(workspace, name)
    git(workspace, "sparse-checkout", "set", "--cone", "--sparse-index", "near")
    assert "far/" in git(workspace, "ls-files", "--sparse").splitlines()
    (workspace / "near/staged").write_text("staged\n", encoding="utf-8")
    git(workspace, "add", "near/staged")
    (workspace / "near/debug.log").write_text("ignored\n", encoding="utf-8")
    comes_back(host, workspace)


def test_nothing_new_at_all_can_be_archived(host: Path, workspace: Path) -> None:
    comes_back(host, workspace)


def test_a_file_resolved_in_a_merge_keeps_what_git_can_undo(host: Path, workspace: Path) -> None:
    git(workspace, "switch", "--quiet", "-c", "other", "HEAD~1")
    commit(workspace, "src/main.py", "theirs\n")
    git(workspace, "switch", "--quiet", "cspace/mercury")
    (workspace / "src/main.py").write_text("ours\n", encoding="utf-8")
    git(workspace, "commit", "--quiet", "-am", "Ours")
    git(workspace, "merge", "other", ok=(1,))
    git(workspace, "add", "src/main.py")
    comes_back(host, workspace)
    git(workspace, "checkout", "--quiet", "--merge", "src/main.py")
    assert "<<<<<<<" in (workspace / "src/main.py").read_text(encoding="utf-8")
