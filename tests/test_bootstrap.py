"""The scripts between a bare machine and a test suite, as far as no engine is needed."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

from cspace import proc
from tests.conftest import CHECKOUT

BOOTSTRAP = CHECKOUT / "lib" / "bootstrap"
STARTED_BY_PEOPLE = (
    ".ci/run",
    *(f"lib/bootstrap/{name}.sh" for name in ("engine", "base-image", "mcp-tools", "model")),
)


@pytest.mark.parametrize("script", STARTED_BY_PEOPLE)
def test_a_script_that_people_start_is_executable(script: str) -> None:
    assert os.access(CHECKOUT / script, os.X_OK)


def test_make_bench_runs_every_measurement() -> None:
    run = proc.run("make", "--dry-run", "bench", cwd=CHECKOUT).text
    texts = {path.stem: path.read_text("utf-8") for path in (CHECKOUT / "bench").glob("*.py")}
    signs = ("\nfrom bench.measure import", '\nif __name__ == "__main__":')
    wanted = {f"bench.{name}" for name, text in texts.items() if all(one in text for one in signs)}
    assert wanted >= {"bench.notes", "bench.notes_recall", "bench.embedder", "bench.recall"}
    assert wanted <= set(re.findall(r"-m (bench\.\w+)", run))


def test_make_alone_lists_every_target_of_the_readme() -> None:
    listed = proc.run("make", "--no-print-directory", cwd=CHECKOUT).text
    assert set(re.findall(r"make ([a-z-]+)", listed)) >= {
        *("help", "venv", "check", "test", "soak", "demo", "bench", "wheel", "clean")
    }


def test_check_and_test_in_one_call_run_nothing_twice() -> None:
    commands = proc.run(
        "make", "--no-print-directory", "--dry-run", "check", "test", cwd=CHECKOUT
    ).text.splitlines()
    assert sum("pytest" in command for command in commands) == 2
    assert len(commands) == len(set(commands))


def test_an_unknown_command_changes_nothing_and_names_the_known_ones() -> None:
    done = proc.run("bash", BOOTSTRAP / "engine.sh", "destroy", ok=(1,))
    assert b"use 'engine.sh' or 'engine.sh stop'" in done.stderr


def test_a_missing_command_is_installed_from_the_package_that_holds_it(tmp_path: Path) -> None:
    script = (
        f'. {BOOTSTRAP}/apt.sh; apt_install() {{ echo "$@"; }}; '
        "ensure_commands bash bash no-such-command its-package no-other-command other-package"
    )
    assert proc.run("bash", "-c", script).text == "its-package other-package"


def test_output_of_a_quiet_command_is_shown_when_it_fails() -> None:
    script = f". {BOOTSTRAP}/apt.sh; quietly sh -c 'echo fine'; quietly sh -c 'echo broken; exit 3'"
    done = proc.run("bash", "-c", script, ok=(0, 1))
    assert b"broken" in done.stderr
    assert b"fine" not in done.stderr


def test_hazard_a_new_major_version_of_a_dependency_is_not_taken() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = (*project["dependencies"], *project["optional-dependencies"]["semantic"])
    assert [one for one in installed if ",<" not in one] == []
