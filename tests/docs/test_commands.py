"""Every command that a page shows is run, page by page, in the order in which it stands there."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from cspace import proc
from cspace.cli.app import app
from cspace.errors import CommandFailed
from tests.conftest import CHECKOUT
from tests.docs.documents import (
    PAGES,
    iter_blocks,
    list_commands,
    list_lines,
    name_of,
    split_line,
)

FIRST_IMAGE_SECONDS = 1500.0
NEED_THE_ENGINE = frozenset(
    {
        *("up", "start", "stop", "down", "restore", "list", "status", "exec", "logs", "ports"),
        *("compare", "diff", "doctor", "log", "memory", "merge", "net", "prune", "pull"),
        "sessions",
    }
)
NEED_A_TERMINAL = frozenset({"attach", "shell"})
RUN = frozenset(
    {
        *("cspace", "git", "mkdir", "chmod", "cat", "cd", "export", "printf", "unset", "test"),
        *("head", "base64", "touch"),
    }
)
# They change the machine, or are what runs this test; whether make has the target is checked.
SHOWN_ONLY = frozenset({"sudo", "make", "pipx", "devcontainer", "docker", "claude", "ssh"})
# They run until somebody stops them.
WITHOUT_AN_END = frozenset({"--follow", "--http"})


def _is_run(line: str) -> bool:
    commands = split_line(line)
    if any(words[0] in SHOWN_ONLY for words in commands):
        return False
    ours = [words for words in commands if words[0] == "cspace"]
    endless = any(WITHOUT_AN_END.intersection(words) for words in ours)
    return not endless and not any(words[1] in NEED_A_TERMINAL for words in ours)


def _script(page: Path) -> str:
    """Return a page as a shell script that says each command before it runs it."""
    lines = ["set -euo pipefail"]
    for block in iter_blocks(page):
        if block.path:
            lines.append(f"mkdir -p {_shell_path(str(Path(block.path).parent))}")
            lines.append(f"printf %s {shlex.quote(block.text)} > {_shell_path(block.path)}")
        for line in filter(_is_run, list_lines(block)):
            lines += [f"printf '$ %s\\n' {shlex.quote(line)} >&2", line]
    return "\n".join(lines)


def _shell_path(path: str) -> str:
    home, _, below = path.rpartition("~/")
    return f'"$HOME"/{shlex.quote(below)}' if path.startswith("~/") else shlex.quote(home + below)


def _runnable() -> Iterator[Any]:
    for page in PAGES:
        lines = [line for block in iter_blocks(page) for line in list_lines(block)]
        words = {
            one[1]
            for one in (c for line in filter(_is_run, lines) for c in split_line(line))
            if one[0] == "cspace"
        }
        if words:
            marks = [pytest.mark.docker] if words & NEED_THE_ENGINE else []
            yield pytest.param(page, marks=marks, id=name_of(page))


@pytest.fixture
def sample(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a sample repository, with this checkout's cspace on PATH; remove its instances."""
    program = tmp_path / "bin" / "cspace"
    program.parent.mkdir()
    called = f'exec {shlex.quote(sys.executable)} -m cspace.cli.app "$@"'
    program.write_text(f"#!/bin/sh\n{called}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    yield repo
    names = _names(program, repo)
    if names:
        proc.run(program, "down", *(f"--discard={name}" for name in names), cwd=repo)


def _names(program: Path, repo: Path) -> list[str]:
    if not (Path(os.environ["HOME"]) / ".cspace/instances").is_dir():
        return []
    listed = json.loads(proc.run(program, "list", "--json", cwd=repo).text)
    return [one["name"] for one in listed["instances"]]


def _run(page: Path, repo: Path) -> proc.Result:
    return proc.run("bash", "-c", _script(page), cwd=repo, timeout=FIRST_IMAGE_SECONDS)


@pytest.mark.parametrize("page", tuple(_runnable()))
def test_a_page_does_what_it_shows(page: Path, sample: Path) -> None:
    assert b"$ cspace " in _run(page, sample).stderr


def test_a_page_whose_command_fails_is_noticed_and_ends_there(sample: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```json .cspace.json\n{"ports": [1]}\n```\n\n```console\n$ cspace config show\nKEY\n'
        "$ git no-such-command\n$ cspace init\n```\n",
        encoding="utf-8",
    )
    with pytest.raises(CommandFailed, match="no-such-command"):
        _run(page, sample)
    assert {path.name for path in sample.iterdir()} == {".git", "README.md", ".cspace.json"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_shown_program_is_run_or_left_out_on_purpose(page: Path) -> None:
    lines = [line for block in iter_blocks(page) for line in list_lines(block)]
    programs = {split_line(line)[0][0] for line in lines}
    assert programs <= RUN | SHOWN_ONLY


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_shown_command_of_ours_is_understood(page: Path) -> None:
    for words in list_commands(page, "cspace"):
        try:
            _parse(words[1:])
        except typer.Exit:  # --help and --version end there
            continue
        except Exception as error:
            raise AssertionError(f"{' '.join(words)}: {error}") from error


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_shown_make_target_exists(page: Path) -> None:
    for words in list_commands(page, "make"):
        done = proc.run("make", "--dry-run", *words[1:], cwd=CHECKOUT, ok=(0, 2))
        assert done.code == 0, f"{' '.join(words)}: {done.stderr.decode()}"


def test_an_option_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        _parse(("up", "mercury", "--force"))


def _parse(words: tuple[str, ...]) -> None:
    """Parse a command line without running it; a command's bare name is a mention of it."""
    command: Any = typer.main.get_command(app)
    left = list(words)
    while left and left[0] in getattr(command, "commands", {}):
        command = command.commands[left.pop(0)]
    if left or not words:
        command.make_context("cspace", left)
