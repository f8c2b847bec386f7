"""`cspace quarantine` and the commands that fill it, as processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_app import cspace

HOSTILE = "li\x1b[2J\nnk"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def planted(repo: Path) -> Path:
    """Return a prepared project with a link in Claude's memory."""
    assert cspace("init", cwd=repo).returncode == 0
    (repo / ".cspace/memory" / HOSTILE).symlink_to("/etc")
    return repo


@pytest.fixture
def moved(planted: Path) -> tuple[Path, str]:
    """Return a project in whose quarantine one thing lies, and what it is called."""
    found = json.loads(cspace("init", "--json", cwd=planted).stdout)
    return planted, found["quarantined"][0]["id"]


def listed(repo: Path) -> list[str]:
    found = json.loads(cspace("quarantine", "list", "--json", cwd=repo).stdout)
    return [one["id"] for one in found["quarantined"]]


def test_init_says_what_it_moved_and_how_to_undo_it(planted: Path) -> None:
    answer = cspace("init", cwd=planted)
    (line,) = [line for line in answer.stderr.splitlines() if line.startswith("note: ")]
    (id_,) = listed(planted)
    assert r"moved '.cspace/memory/li\x1b[2J\nnk' aside: it is a link" in line
    assert line.endswith(f"cspace quarantine restore {id_}")
    assert answer.stderr.replace("\n", "").isprintable()


def test_the_json_of_init_names_it(planted: Path) -> None:
    answer = cspace("init", "--json", cwd=planted)
    (found,) = json.loads(answer.stdout)["quarantined"]
    assert set(found) == {"id", "path", "kind", "moved"}
    assert (found["path"], found["kind"]) == (f".cspace/memory/{HOSTILE}", "link")


def test_the_context_server_moves_it_and_speaks_only_the_protocol_on_stdout(
    planted: Path,
) -> None:
    answer = subprocess.run(
        (sys.executable, "-m", "cspace.cli.app", "context-server", "--root", planted),
        input=json.dumps(INITIALIZE) + "\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    (document,) = map(json.loads, answer.stdout.splitlines())
    assert document["result"]["serverInfo"]["name"] == "cspace-context"
    assert "note: moved '.cspace/memory/" in answer.stderr
    assert len(listed(planted)) == 1


def test_reading_commands_move_nothing(planted: Path) -> None:
    cspace("config", "show", cwd=planted)
    cspace("doctor", cwd=planted)
    assert listed(planted) == []
    assert (planted / ".cspace/memory" / HOSTILE).is_symlink()


def test_the_list_shows_it_without_moving_the_cursor(moved: tuple[Path, str]) -> None:
    repo, id_ = moved
    head, row = cspace("quarantine", "list", cwd=repo).stdout.splitlines()
    assert head.split() == ["ID", "MOVED", "KIND", "WAS", "AT"]
    assert row.split()[0] == id_
    assert row.isprintable()


def test_an_empty_quarantine_is_no_error(repo: Path) -> None:
    answer = cspace("quarantine", "list", cwd=repo)
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "nothing is in quarantine" in answer.stderr
    assert not (repo / ".cspace").exists()


def test_restoring_says_that_it_will_be_moved_again(moved: tuple[Path, str]) -> None:
    repo, id_ = moved
    answer = cspace("quarantine", "restore", id_, cwd=repo)
    assert answer.returncode == 0
    assert "moves it again" in answer.stderr
    assert (repo / ".cspace/memory" / HOSTILE).is_symlink()


def test_restoring_elsewhere_is_relative_to_where_one_stands(moved: tuple[Path, str]) -> None:
    repo, id_ = moved
    below = repo / "src"
    below.mkdir()
    answer = cspace("quarantine", "restore", id_, "--to", "../../looked-at", "--json", cwd=below)
    assert Path(json.loads(answer.stdout)["path"]).resolve() == Path("/etc")
    assert (repo.parent / "looked-at").is_symlink()
    assert answer.stderr == ""


def test_a_taken_place_is_exit_4_and_an_unknown_id_exit_3(moved: tuple[Path, str]) -> None:
    repo, id_ = moved
    taken = cspace("quarantine", "restore", id_, "--to", "README.md", cwd=repo)
    assert (taken.returncode, "is taken" in taken.stderr) == (4, True)
    for words in (("restore", "00000000"), ("remove", "../../..", "--yes")):
        answer = cspace("quarantine", *words, cwd=repo)
        assert (answer.returncode, "hint: cspace quarantine list" in answer.stderr) == (3, True)
    assert (repo / "README.md").read_text() == "# Sample\n"


def test_without_a_terminal_nothing_is_deleted_unless_that_is_said(
    moved: tuple[Path, str],
) -> None:
    repo, id_ = moved
    assert cspace("quarantine", "remove", "nothing", cwd=repo).returncode == 3
    refused = cspace("quarantine", "remove", id_, cwd=repo)
    assert (refused.returncode, listed(repo)) == (2, [id_])
    assert f"hint: cspace quarantine remove {id_} --yes" in refused.stderr
    assert cspace("quarantine", "remove", id_, "--yes", cwd=repo).stdout == f"removed {id_}\n"
    assert listed(repo) == []
