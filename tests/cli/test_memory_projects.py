"""`cspace memory projects` and `persona` as processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.memories import document, memory, root


def test_projects_are_listed_with_their_repositories(repo: Path, home: Path) -> None:
    assert "no project has a name yet" in memory("projects", cwd=repo).stderr
    memory("write", "rule", "--body", "b", "--yes", cwd=repo)
    (root(home) / "projects/lost").mkdir()
    lines = memory("projects", "list", cwd=repo).stdout.splitlines()
    assert lines[0].split() == ["NAME", "REPOSITORY"]
    assert lines[1].startswith("lost    none here: ")
    assert lines[2] == f"sample  {repo}/.git"
    assert document("projects", "list", cwd=repo)["projects"][1]["present"] is True


def test_a_memory_of_the_name_that_is_already_there_is_not_taken_unasked(
    repo: Path, home: Path
) -> None:
    (root(home) / "projects/sample").mkdir(parents=True)
    answer = memory("write", "rule", "--body", "b", "--yes", cwd=repo)
    assert "wrote projects/sample-2/rule" in answer.stdout
    assert "if it is this project's: cspace memory projects use sample" in answer.stderr


def test_a_forgotten_name_leaves_the_memories_and_use_brings_them_back(
    repo: Path, home: Path
) -> None:
    memory("write", "rule", "--body", "b", "--yes", cwd=repo)
    gone = memory("projects", "forget", "sample", cwd=repo)
    assert gone.stdout == f"{repo}/.git has projects/sample no longer\n"
    assert document("list", "--scope", "project", cwd=repo)["entries"] == []
    memory("projects", "use", "sample", cwd=repo)
    assert document("list", "--scope", "project", cwd=repo)["entries"][0]["slug"] == "rule"
    assert memory("projects", "forget", "pelican", cwd=repo, ok=3).stderr.startswith("error: ")


def test_memories_that_stay_under_the_old_name_are_said_and_can_be_brought_along(
    repo: Path, home: Path
) -> None:
    memory("write", "rule", "--body", "b", "--yes", cwd=repo)
    used = memory("projects", "use", "other", cwd=repo).stderr
    assert "memories of projects/sample stay where they are" in used
    assert "cspace memory mv SLUG project/SLUG --project sample" in used
    memory("mv", "rule", "project/rule", "--project", "sample", "--yes", cwd=repo)
    assert (root(home) / "projects/other/rule.md").exists()
    assert "stay" not in memory("projects", "use", "other", cwd=repo).stderr


def test_outside_of_a_repository_no_name_can_be_used(tmp_path: Path, home: Path) -> None:
    assert "is in no project" in memory("projects", "use", "web", cwd=tmp_path, ok=2).stderr
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("name", ["..", "a/b", "CON", "MEMORY"])
def test_names_that_are_none_are_refused(repo: Path, home: Path, name: str) -> None:
    for words in (("projects", "use"), ("persona", "use")):
        assert "hint: " in memory(*words, name, cwd=repo, ok=2).stderr
    assert list(home.iterdir()) == []


def test_a_persona_is_shown_used_and_cleared(repo: Path) -> None:
    assert "no persona is active" in memory("persona", cwd=repo).stderr
    used = memory("persona", "use", "reviewer", cwd=repo)
    assert (used.stdout, "nothing is remembered for it yet" in used.stderr) == ("reviewer\n", True)
    assert memory("persona", "show", cwd=repo).stdout == "reviewer\n"
    memory("write", "tone", "--body", "Short.", "--scope", "persona", "--yes", cwd=repo)
    assert document("persona", "show", cwd=repo)["personas"] == ["reviewer"]
    assert document("persona", "clear", cwd=repo)["persona"] is None
    assert document("persona", "show", cwd=repo)["persona"] is None
