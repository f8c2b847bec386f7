"""Where `cspace notes` works: worktrees, subdirectories; and where it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commit_notes import capture, document, notes, run_git


def test_worktrees_and_subdirectories_share_the_memories(repo: Path, tmp_path: Path) -> None:
    run_git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    below = tmp_path / "linked/src/deep"
    below.mkdir(parents=True)
    capture(below, "decisions", "From below")
    assert document("list", cwd=repo)["memories"][0]["summary"] == "From below"
    found = document("recall", "below", cwd=repo)["hits"]
    assert [hit["summary"] for hit in found] == ["From below"]
    assert not (repo / ".cspace").exists()


def test_a_worktree_of_a_bare_repository_has_them_too(repo: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    run_git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "work"))
    capture(tmp_path / "work", "decisions", "Of a bare one")
    assert len(document("list", cwd=tmp_path / "work")["memories"]) == 1


@pytest.mark.parametrize("command", ["list", "status", "verify", "recall x"])
def test_outside_of_a_repository_the_next_step_is_named(tmp_path: Path, command: str) -> None:
    done = notes(*command.split(), cwd=tmp_path, ok=2)
    assert "is not inside a git repository" in done.stderr
    assert "hint: cd into your project" in done.stderr


def test_a_repository_without_a_commit_has_nothing_to_keep_a_memory_with(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet")
    assert document("list", cwd=tmp_path)["memories"] == []
    notes("status", cwd=tmp_path)
    words = ("capture", "decisions", "--summary", "s", "--body", "b")
    done = notes(*words, cwd=tmp_path, ok=3)
    assert "HEAD" in done.stderr
    assert "hint: make one: git commit" in done.stderr


def test_an_agents_directory_hazard_no_git_runs_there(repo: Path, home: Path) -> None:
    place = home / ".cspace/instances/sample-1/mercury/workspace"
    place.mkdir(parents=True)
    run_git(place, "init", "--quiet")
    run_git(place, "config", "core.fsmonitor", f"touch {home}/sung; false")
    for words in (("list",), ("capture", "decisions", "--summary", "s", "--body", "b")):
        assert "belongs to an instance" in notes(*words, cwd=place, ok=2).stderr
    assert not (home / "sung").exists()


def test_a_repository_planted_below_the_context_hazard_the_projects_own_is_meant(
    repo: Path,
) -> None:
    planted = repo / ".cspace/context/findings"
    planted.mkdir(parents=True)
    run_git(planted, "init", "--quiet")
    capture(planted, "decisions", "Of the project")
    assert len(document("list", cwd=repo)["memories"]) == 1
    assert run_git(planted, "for-each-ref") == ""


def test_configuration_index_and_files_hazard_capture_touches_none(repo: Path) -> None:
    def look() -> list[object]:
        status = run_git(repo, "status", "--porcelain=v2", "--branch")
        return [status, run_git(repo, "config", "--list"), (repo / ".git/index").read_bytes()]

    before = look()
    reference = capture(repo, "blockers", "One", body="b")
    notes("recall", "one", cwd=repo)
    notes("resolve", reference, "--text", "t", cwd=repo)
    assert look() == before


def test_inside_an_instance_its_own_clone_is_meant(repo: Path) -> None:
    inside = {"CSPACE_INSTANCE": "mercury"}
    words = ("capture", "learnings", "--summary", "From inside", "--body", "b")
    notes(*words, cwd=repo, env=inside)
    told = document("recall", "inside", cwd=repo, env=inside)
    assert [hit["summary"] for hit in told["hits"]] == ["From inside"]
    hint = "hint: on the host: cspace notes reindex; if that is not enough: cspace up mercury --rec"
    for command in ("recall inside", "status", "reindex"):
        assert hint in notes(*command.split(), cwd=repo, env=inside).stderr
    assert run_git(repo, "for-each-ref", "--format=%(refname)", "refs/notes/cs")
