"""`cspace memory migrate` and `cspace sessions migrate` where no engine answers, as processes."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from cspace.cli.plans import show_brought
from cspace.lifecycle.bring_home import Brought
from cspace.migration.model import Fate, Planned
from tests.cli.test_app import cspace

DEAD = "unix:///nowhere/docker.sock"
MEMORY = ("memory", "migrate")
SESSIONS = ("sessions", "migrate")


@pytest.mark.parametrize("command", [MEMORY, SESSIONS], ids=lambda words: words[0])
@pytest.mark.parametrize("words", [(), ("--dry-run",), ("--list",), ("--volume", "v", "--json")])
def test_an_engine_that_does_not_answer_is_never_nothing_to_migrate(
    repo: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", DEAD)
    answer = cspace(*command, *words, cwd=repo)
    assert answer.returncode == 6
    assert answer.stdout == ""
    assert "Docker does not answer" in answer.stderr
    assert "nothing" not in answer.stderr
    assert sorted(path.name for path in repo.iterdir()) == [".git", "README.md"]


@pytest.mark.parametrize(
    "words",
    [
        (*MEMORY, "--theirs", "--keep-both"),
        (*MEMORY, "--list", "--dry-run"),
        (*MEMORY, "--list", "--volume", "v"),
        (*MEMORY, "--list", "--merge-index"),
        (*SESSIONS, "--theirs", "--keep-both"),
        (*SESSIONS, "--list", "--instance", "mercury"),
        (*SESSIONS, "--merge-index"),
        (*SESSIONS, "--instance", "../up"),
    ],
    ids=" ".join,
)
def test_flags_that_contradict_each_other_are_usage_errors(
    repo: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", DEAD)
    answer = cspace(*words, cwd=repo)
    assert answer.returncode == 2, answer.stderr


@pytest.mark.parametrize("command", [MEMORY, SESSIONS], ids=lambda words: words[0])
def test_outside_of_a_project_it_says_so(tmp_path: Path, command: tuple[str, ...]) -> None:
    answer = cspace(*command, cwd=tmp_path)
    assert answer.returncode == 2
    assert "not inside a git repository" in answer.stderr


@pytest.mark.parametrize("words", [MEMORY, SESSIONS, ("memory", "export"), ("memory", "import")])
def test_every_command_explains_itself_with_an_example(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = cspace(*words, "--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert "Example" in answer.stdout


def test_what_changed_meanwhile_is_never_nothing_left_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = PurePosixPath("role.md")
    changed = Planned(path, Fate.NEW, 1, "0" * 64, path, "it changed", path)
    brought = Brought(
        "volume v", dry_run=False, files=(changed,), others=0, refused=(changed,), left=(changed,)
    )
    show_brought(brought)
    assert capsys.readouterr().out.splitlines()[-1] == "0 files written"
