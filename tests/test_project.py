from __future__ import annotations

from pathlib import Path

import pytest

from cspace import git
from cspace.errors import UsageError
from cspace.project import find_project, project_id, refuse_instance


def test_two_clones_of_one_name_are_two_projects(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "shop", tmp_path / "b" / "shop"
    assert project_id(first) != project_id(second)
    assert project_id(first).startswith("shop-")


def test_a_linked_worktree_belongs_to_its_main_worktree(repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git.git(repo, "worktree", "add", "--quiet", linked)
    found = find_project(linked)
    assert found.root == repo.resolve()
    assert found.worktree == linked.resolve()
    assert found.id == find_project(repo).id


def test_a_worktree_of_a_bare_repository_is_refused_in_words(repo: Path, tmp_path: Path) -> None:
    git.git(tmp_path, "clone", "--quiet", "--bare", repo, "bare.git")
    git.git(tmp_path / "bare.git", "worktree", "add", "--quiet", tmp_path / "linked")
    with pytest.raises(UsageError, match="bare repository") as caught:
        find_project(tmp_path / "linked")
    assert caught.value.hint == f"work in a clone: git clone {tmp_path / 'bare.git'}"


def test_a_subdirectory_belongs_to_its_repository(repo: Path) -> None:
    (repo / "deep" / "er").mkdir(parents=True)
    assert find_project(repo / "deep" / "er").root == repo.resolve()


def test_a_submodule_is_a_project_of_its_own(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git.git(tmp_path, "clone", "--quiet", repo, other)
    git.git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
    assert find_project(repo / "sub").root == (repo / "sub").resolve()
    git.git(repo / "sub", "worktree", "add", "--quiet", tmp_path / "linked")
    assert find_project(tmp_path / "linked").id == find_project(repo / "sub").id


@pytest.mark.parametrize("name", ["with space", "quote'\"", "ünïcode", "co:lon", "$dollar"])
def test_any_directory_name_gives_an_id_that_compose_accepts(repo: Path, name: str) -> None:
    moved = repo.rename(repo.with_name(name))
    found = find_project(moved)
    assert found.root == moved.resolve()
    assert found.id.replace("-", "").isalnum()
    assert found.id.isascii()
    assert found.id == found.id.lower()


def test_a_path_with_a_line_break_is_refused_in_words(repo: Path) -> None:
    with pytest.raises(UsageError, match="line break"):
        find_project(repo.rename(repo.with_name("a\nb")))


def test_outside_of_a_repository_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not inside a git repository") as caught:
        find_project(tmp_path)
    assert caught.value.hint is not None
    assert "git init" in caught.value.hint


def test_variables_of_a_hook_do_not_redirect_git(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git.git(tmp_path, "init", "--quiet", other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert find_project(repo).root == repo.resolve()


@pytest.mark.parametrize(
    "place",
    [
        ".cspace/context/findings",
        ".cspace/memory",
        ".cspace/context",
        ".cspace/quarantine/1f0e9a2b",
    ],
)
def test_a_repository_that_an_agent_planted_in_what_is_shared_is_not_the_project(
    repo: Path, place: str
) -> None:
    planted = repo / place / "deeper"
    planted.mkdir(parents=True)
    git.git(repo / place, "init", "--quiet")
    assert git.git(planted, "rev-parse", "--show-toplevel").text == str((repo / place).resolve())
    assert find_project(planted).root == repo.resolve()
    # Nor one that is nested as the real one is.
    nested = planted / ".cspace/context/findings"
    nested.mkdir(parents=True)
    assert find_project(nested).root == repo.resolve()


@pytest.mark.parametrize(
    "place",
    [
        "instances/sample-1/mercury/workspace",
        "sessions/sample-1/mercury/-workspace",
        "outbox/sample-1/mercury",
    ],
)
def test_no_git_runs_on_the_host_in_what_belongs_to_an_instance(home: Path, place: str) -> None:
    user = home / ".cspace"
    (user / place).mkdir(parents=True)
    refuse_instance(home, user)
    with pytest.raises(UsageError, match="belongs to an instance"):
        refuse_instance(user / place, user)
    moved = user.rename(home / "elsewhere")
    user.symlink_to(moved)
    with pytest.raises(UsageError, match="belongs to an instance"):
        refuse_instance(moved / place, user)
