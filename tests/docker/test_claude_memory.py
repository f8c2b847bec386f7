"""Where the real Claude Code keeps its memory, and what it loads of it: cspace says the same."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cspace import proc
from tests import scripted_model

pytestmark = pytest.mark.docker

PROGRAMS = (Path(__file__).with_name("claude_memory.py"), Path(scripted_model.__file__))
POLICY = '{"autoMemoryDirectory": "/tmp/managed"}'
TIMEOUT = 500.0
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def ask(tag: str) -> Iterator[Ask]:
    """Return what examines groups of cases in a container without a network."""
    name = f"cspace-test-{os.getpid()}-{time.monotonic_ns()}"
    words = (
        "--detach",
        "--init",
        "--network",
        "none",
        "--env=PYTHONPATH=/tmp",
        "--entrypoint",
        "sleep",
        "--name",
        name,
    )
    proc.run("docker", "run", *words, tag, "infinity")

    def examine(*groups: str, policy: str | None = None) -> list[dict[str, Any]]:
        if policy is not None:
            write = "mkdir -p /etc/claude-code && cat >/etc/claude-code/managed-settings.json"
            root = ("docker", "exec", "--interactive", "--user", "0", name)
            proc.run(*root, "sh", "-c", write, stdin=policy.encode())
        program = ("/opt/cspace/bin/python", "/tmp/tests/claude_memory.py")
        said = proc.run("docker", "exec", name, *program, *groups, timeout=TIMEOUT).text
        cases: list[dict[str, Any]] = json.loads(said.rpartition("\n")[2])
        return cases

    try:
        # As on a host: an instance's memory is always the project's.
        proc.run("docker", "exec", "--user", "0", name, "rm", "-r", "/etc/claude-code")
        proc.run("docker", "exec", name, "mkdir", "/tmp/tests")
        for program in PROGRAMS:
            proc.run("docker", "cp", program, f"{name}:/tmp/tests/{program.name}")
        yield examine
    finally:
        proc.run("docker", "rm", "--force", "--volumes", name)


def differing(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert cases
    return [case for case in cases if case.get("ours") != case["theirs"]]


def test_the_directories_that_claude_code_makes_are_those_that_we_name(
    ask: Ask, counts: Callable[[int, int], int]
) -> None:
    cases = ask(f"directories:{counts(12, 99)}")
    assert differing(cases) == []
    assert [case["name"] for case in cases if not case["made"]] == []


def test_settings_and_variables_choose_as_they_do_for_claude_code(
    ask: Ask, counts: Callable[[int, int], int]
) -> None:
    assert differing(ask(f"choices:{counts(7, 99)}")) == []


def test_a_projects_settings_hazard_claude_code_follows_them_and_we_do_not(ask: Ask) -> None:
    (case,) = ask("planted:1")
    assert case["theirs"] == "/tmp/evil"
    assert case["ours"].endswith("-p7/memory")
    assert "cspace does not follow" in case["notes"][0]


def test_an_index_is_measured_as_claude_code_measures_it(
    ask: Ask, counts: Callable[[int, int], int]
) -> None:
    assert differing(ask(f"indexes:{counts(4, 99)}")) == []


def test_what_the_administrator_decides_goes_before_a_persons_settings(ask: Ask) -> None:
    # The last test here: the policy stays in the container.
    cases = ask("managed:2", policy=POLICY)
    assert differing(cases) == []
    assert [case["theirs"] for case in cases] == ["/tmp/managed", "/tmp/ov"]
