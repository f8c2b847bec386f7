"""A hostile repository's submodules, and those below what agents write to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cspace import git
from cspace.errors import CommandFailed
from tests.instance.test_workspace import clone, inside


def names_submodule(repo: Path, path: str, commit: str, *, name: str = "part", url: str) -> None:
    """Commit a submodule as a hostile repository can, whatever git's own commands allow."""
    key = f"submodule.{name}"
    for word, value in (("path", path), ("url", url)):
        git.git(repo, "config", "--file", repo / ".gitmodules", f"{key}.{word}", value)
    git.git(repo, "add", ".gitmodules")
    git.git(repo, "update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
    git.git(repo, "commit", "--quiet", "-m", "Name a submodule")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "state" / "workspace"


@pytest.fixture
def public(repo: Path, tmp_path: Path) -> tuple[Path, str]:
    """Return a repository that everybody knows, and its commit."""
    public = tmp_path / "public"
    git.git(tmp_path, "clone", "--quiet", repo, public)
    return public, git.git(public, "rev-parse", "HEAD").text


@pytest.fixture
def private(public: tuple[Path, str], tmp_path: Path) -> Path:
    """Return a clone of it that holds work of the user's."""
    private = tmp_path / "private"
    git.git(tmp_path, "clone", "--quiet", public[0], private)
    git.git(private, "commit", "--quiet", "--allow-empty", "-m", "Private")
    git.git(private, "update-ref", "refs/remotes/origin/private", "HEAD")
    return private


def plant_partial_clone(public: Path, place: Path, canary: Path) -> None:
    """Make a repository in which git fetches what is missing by a program of the agent's."""
    shutil.copytree(public, place)
    tree = git.git(place, "rev-parse", "HEAD^{tree}").text
    (place / ".git/objects" / tree[:2] / tree[2:]).unlink()
    (place / f".git/objects/pack/pack-{'1' * 40}.promisor").touch()
    for key, value in (
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", "ssh://example.invalid/x"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("core.sshCommand", f"touch '{canary}'; false"),
    ):
        git.git(place, "config", key, value)


@pytest.mark.parametrize("shared", [".cspace/context/findings", ".cspace/memory"])
def test_a_submodule_in_what_agents_write_to_hazard_runs_no_git_there(
    repo: Path, workspace: Path, public: tuple[Path, str], tmp_path: Path, shared: str
) -> None:
    path, canary = f"{shared}/part", tmp_path / "ran"
    names_submodule(repo, path, public[1], url="https://example.invalid/x")
    (repo / shared).mkdir(parents=True)
    plant_partial_clone(public[0], repo / path, canary)
    git.git(repo / path, "rev-list", "--objects", "HEAD", ok=(0, 128))
    assert canary.exists()
    canary.unlink()
    clone(repo, workspace)
    assert not canary.exists()
    assert not (workspace / path / ".git").exists()


def test_a_submodules_name_hazard_can_not_have_a_repository_of_the_users_cloned(
    repo: Path,
    workspace: Path,
    public: tuple[Path, str],
    private: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names_submodule(repo, "part", public[1], name="a=b", url=str(private))
    shutil.copytree(public[0], repo / "part")
    words = ("-c", f"submodule.a=b.url={public[0]}", "config", "submodule.a=b.url")
    assert git.git(repo, *words, ok=(0, 1)).text == ""  # -c takes it for another key
    # Either would have git look for the submodule where it is not.
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    monkeypatch.setenv("GIT_CONFIG", str(repo.parent / "elsewhere"))
    clone(repo, workspace)
    assert inside(workspace / "part", "rev-parse", "HEAD") == public[1]
    with pytest.raises(CommandFailed):
        inside(workspace / "part", "cat-file", "-e", git.git(private, "rev-parse", "HEAD").text)


def test_a_link_in_place_of_a_submodule_hazard_brings_no_other_repositorys_branches(
    repo: Path, workspace: Path, public: tuple[Path, str], private: Path
) -> None:
    git.git(repo, "switch", "--quiet", "--create", "trap")
    names_submodule(repo, "part", public[1], url="https://example.invalid/x")
    git.git(repo, "switch", "--quiet", "main")
    shutil.rmtree(repo / "part", ignore_errors=True)
    (repo / "part").symlink_to(private)
    assert (repo / "part" / ".git").exists()
    clone(repo, workspace, branch="trap")
    assert list((workspace / "part").iterdir()) == []


def test_an_empty_list_of_submodules_is_what_git_leaves_behind_the_last_one(
    repo: Path, workspace: Path
) -> None:
    (repo / ".gitmodules").touch()
    git.git(repo, "add", ".gitmodules")
    git.git(repo, "commit", "--quiet", "-m", "Empty")
    clone(repo, workspace)
    assert (workspace / ".gitmodules").is_file()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("url", "--upload-pack=touch x"),
        ("path", "-part"),
        ("path", "../../part"),
        ("path", "/part"),
        ("update", "!touch x"),
    ],
)
def test_a_submodule_that_git_refuses_keeps_no_instance_from_starting(
    repo: Path, workspace: Path, public: tuple[Path, str], key: str, value: str
) -> None:
    names_submodule(repo, "part", public[1], url="https://example.invalid/x")
    git.git(repo, "config", "--file", repo / ".gitmodules", f"submodule.part.{key}", value)
    git.git(repo, "commit", "--quiet", "-m", "Hostile", ".gitmodules")
    refused = git.git(repo, "submodule", "init", ok=(0, 1, 128))
    assert refused.code != 0
    clone(repo, workspace)
    assert list((workspace / "part").iterdir()) == []
