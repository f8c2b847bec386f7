"""Which directory is asked for the commit that a record names."""

from __future__ import annotations

from pathlib import Path

from cspace import git
from cspace.events import ignore
from cspace.lifecycle.shared_context import open_context


def plant_absent_commit(place: Path, canary: Path) -> str:
    """Make a repository in which asking for HEAD runs a program of the agent's."""
    git.git(place, "init", "--quiet")
    git.git(place, "commit", "--quiet", "--allow-empty", "-m", "Planted")
    commit = git.git(place, "rev-parse", "HEAD").text
    (place / ".git/objects" / commit[:2] / commit[2:]).unlink()
    for key, value in (
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", "ssh://example.invalid/x"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("core.sshCommand", f"touch '{canary}'; false"),
    ):
        git.git(place, "config", key, value)
    return commit


def test_a_repository_planted_beside_the_memory_hazard_is_not_asked_for_its_commit(
    repo: Path, tmp_path: Path
) -> None:
    memory, canary = repo / ".cspace/memory", tmp_path / "ran"
    memory.mkdir(parents=True)
    store = open_context(memory, {}, ignore)
    planted = plant_absent_commit(memory, canary)  # after the server has looked
    assert git.resolve(memory, "HEAD") != planted
    assert canary.exists()
    canary.unlink()
    assert store.origin.commit() == git.resolve(repo, "HEAD")
    assert not canary.exists()
