"""`cspace archive` as a process: what it asks, what it refuses, what a shell completes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cspace.cli.options import complete_archive
from tests.cli.test_app import cspace
from tests.instance.snapshot_trees import git

OLD, NEW = "20250101T000000Z", "20260101T000000Z"


@pytest.fixture
def repo(repo: Path) -> Path:
    """Return a repository with three archives, which hold nothing that can be read."""
    for name in (f"mercury/{OLD}", f"mercury/{NEW}", f"venus/{NEW}"):
        git(repo, "update-ref", f"refs/cspace/archive/{name}/snapshot", "HEAD")
    return repo


def archives(repo: Path) -> list[str]:
    refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/cspace/archive").splitlines()
    return ["/".join(ref.split("/")[3:5]) for ref in refs]


@pytest.mark.parametrize("command", ["list", "show", "prune"])
def test_every_command_explains_itself_with_an_example(tmp_path: Path, command: str) -> None:
    answer = cspace("archive", command, "--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert f"Usage: cspace archive {command}" in answer.stdout
    assert "Example" in answer.stdout


def test_no_archives_is_no_error_and_an_unknown_name_is(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    answer = cspace("archive", "list", cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "no archives in this project" in answer.stderr
    assert json.loads(cspace("archive", "list", "--json", cwd=tmp_path).stdout)["archives"] == []
    for words in (["list", "pluto"], ["show", "pluto"], ["prune", "pluto", "--all", "--yes"]):
        answer = cspace("archive", *words, cwd=tmp_path)
        assert answer.returncode == 3, words
        assert "hint: cspace archive list" in answer.stderr


def test_a_damaged_archive_is_listed_and_shown_as_an_error(repo: Path) -> None:
    assert cspace("archive", "list", cwd=repo).stdout.count("damaged: ") == 3
    answer = cspace("archive", "show", "venus", cwd=repo)
    assert answer.returncode == 5
    assert "manifest.json" in answer.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("--yes",), 2),
        (("mercury", "--yes"), 2),
        (("--all",), 2),
        (("--all", "--json"), 2),
        (("--older-than", "soon", "--yes"), 2),
        (("--keep", "-1", "--yes"), 2),
        (("--all", "--dry-run"), 0),
        (("--keep", "2", "--yes"), 0),
    ],
)
def test_without_a_rule_or_without_a_yes_nothing_is_removed(
    repo: Path, words: tuple[str, ...], code: int
) -> None:
    before = archives(repo)
    answer = cspace("archive", "prune", *words, cwd=repo)
    assert answer.returncode == code, answer.stderr
    assert archives(repo) == before


def test_what_goes_is_named(repo: Path) -> None:
    answer = cspace("archive", "prune", "--older-than", "8w", "--keep", "1", "--yes", cwd=repo)
    assert answer.stdout == f"mercury/{OLD}\n"
    assert archives(repo) == [f"mercury/{NEW}", f"venus/{NEW}"]
    answer = cspace("archive", "prune", f"venus/{NEW}", "--yes", "--json", cwd=repo)
    document = json.loads(answer.stdout)
    assert document["removed"] is True
    assert [one["name"] for one in document["archives"]] == ["venus"]
    assert archives(repo) == [f"mercury/{NEW}"]


@pytest.mark.parametrize(
    ("said", "left", "code", "end"),
    [
        (b"\n", 3, 1, b"error: nothing was removed\n"),
        (b"n\n", 3, 1, b"error: nothing was removed\n"),
        (b"\x04", 3, 130, b"\ninterrupted; the same command takes up where it stopped\n"),
        (b"y\n", 0, 0, b"3 removed\n"),
    ],
)
def test_on_a_terminal_it_asks_and_takes_no_answer_for_a_no(
    repo: Path, said: bytes, left: int, code: int, end: bytes
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, said)
    done = subprocess.run(
        (sys.executable, "-m", "cspace.cli.app", "archive", "prune", "--all"),
        cwd=repo, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(theirs)
    os.close(ours)
    assert b"Remove 3 archives for good?" in done.stderr
    assert (done.returncode, done.stderr[-len(end) :]) == (code, end)
    assert len(archives(repo)) == left, done.stderr


def test_a_shell_completes_names_and_after_a_slash_times(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo)
    assert complete_archive("m") == ["mercury"]
    assert complete_archive("mercury/2026") == [f"mercury/{NEW}"]
    assert complete_archive("") == ["mercury", "venus"]
    monkeypatch.chdir("/")
    assert complete_archive("") == []
