"""`cspace context playbook` as a shell calls it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from tests.cli.test_app import cspace
from tests.conftest import CHECKOUT

Run = Callable[..., proc.Result]


@pytest.fixture
def run(repo: Path) -> Run:
    def cspace(*words: str | Path, ok: tuple[int, ...] = (0,)) -> proc.Result:
        env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
        program = (sys.executable, "-m", "cspace.cli.app", "context", "playbook")
        return proc.run(*program, *words, cwd=repo, env=env, ok=ok)

    return cspace


def direction(repo: Path, content: bytes) -> None:
    path = repo / ".cspace/context/direction.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


@pytest.mark.parametrize("whom", ["coordinator", "implementer"])
def test_a_playbook_is_printed_with_the_direction_in_it(run: Run, repo: Path, whom: str) -> None:
    direction(repo, b"north \x00 \xff ${STRATEGIC_CONTEXT_PREAMBLE}\r\n")
    said = run(whom)
    assert b"north \x00 \xff ${STRATEGIC_CONTEXT_PREAMBLE}\r\n" in said.stdout
    assert (said.stderr, said.stdout.count(b"PREAMBLE}")) == (b"", 1)


def test_a_template_of_ones_own_is_bytes_too(run: Run, repo: Path, tmp_path: Path) -> None:
    direction(repo, b"north\n")
    template = tmp_path / "template"
    template.write_bytes(b"\xfe ${STRATEGIC_CONTEXT_PREAMBLE} \x00 end")
    said = run("implementer", "--file", template).stdout
    assert said.startswith(b"\xfe <!-- .cspace/context/direction.md -->\nnorth\n")
    assert said.endswith(b" \x00 end")


def test_a_template_without_the_placeholder_is_printed_with_a_note(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "template").write_bytes(b"plain")
    said = run("implementer", "--file", tmp_path / "template")
    assert said.stdout == b"plain"
    assert b"does not hold ${STRATEGIC_CONTEXT_PREAMBLE}" in said.stderr


def test_a_template_that_can_not_be_read_is_named(run: Run, tmp_path: Path) -> None:
    said = run("coordinator", "--file", tmp_path / "gone", ok=(2,))
    assert str(tmp_path / "gone").encode() in said.stderr
    assert run("somebody", ok=(2,)).stdout == b""


def test_asking_creates_nothing(run: Run, repo: Path) -> None:
    run("coordinator")
    assert not (repo / ".cspace").exists()


def test_in_a_directory_below_the_project_its_direction_is_printed(repo: Path) -> None:
    direction(repo, b"north\n")
    (repo / "below").mkdir()
    assert "north\n" in cspace("context", "playbook", "implementer", cwd=repo / "below").stdout
