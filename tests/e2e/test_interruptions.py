"""Several `up` at once end in one instance; one that was killed is repaired by the next."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.e2e.person import Person, docker, kill

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

# Seconds that an `up` takes with its image there, with room for a slow machine.
UP_TAKES = 5.0


def containers(person: Person) -> list[str]:
    words = ("--all", "--quiet", f"--filter=label=dev.cspace.project={person.id}")
    return docker("ps", *words).split()


def test_concurrent_up_hazard_two_at_once_end_in_one_healthy_instance(person: Person) -> None:
    processes = [person.start(person.program, "up", "mercury", "--json") for _ in range(2)]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    said = b"".join(out for out, _ in answers)
    assert said.count(b'"reused": true') == 1
    assert said.count(b'"reused": false') == 1
    assert len(containers(person)) == 1
    (row,) = person.cspace("list", "--json").json["instances"]
    assert row["status"] == "running"


def test_instances_that_are_made_at_once_get_different_names(person: Person) -> None:
    processes = [person.start(person.program, "up", "-n", "2", "--json") for _ in range(2)]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    rows = person.cspace("list", "--json").json["instances"]
    assert [row["name"] for row in rows] == ["earth", "mars", "mercury", "venus"]
    assert {row["status"] for row in rows} == {"running"}


def test_an_interrupted_up_is_repaired_by_the_next_and_down_leaves_nothing(
    person: Person, counts: Callable[[int, int], int]
) -> None:
    person.cspace("up", "venus")
    person.cspace("down", "--discard", "venus")
    rounds = counts(4, 60)
    moments = random.Random(20261121)  # noqa: S311  it has to be the same every time
    for number in range(rounds):
        moment = (number + moments.random()) * UP_TAKES / rounds
        process = person.start(person.program, "up", "mercury")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=moment)
        kill(process)
        person.cspace("up", "mercury")
        assert person.inside("mercury", "git", "status", "--porcelain") == "", moment
        assert len(containers(person)) == 1, moment
        person.cspace("down", "--discard", "mercury")
        assert person.leftovers() == [], moment


def until(process: subprocess.Popen[bytes], phase: bytes) -> None:
    """Wait until a program says that a phase begins."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.split()[1:2] == [phase]:
            return
    raise AssertionError(f"it ended before {phase!r}")


def test_down_of_what_an_interrupted_up_left_removes_it(person: Person) -> None:
    for phase in (b"workspace", b"mounts", b"start"):
        process = person.start(person.program, "up", "mercury")
        until(process, phase)
        kill(process)
        # Killed at the very start, there was no instance yet.
        person.run(person.program, "down", "mercury", ok=(0, 3))
        assert person.leftovers() == [], phase


def test_an_interrupted_down_is_completed_by_the_next(person: Person) -> None:
    person.cspace("up", "mercury")
    person.inside("mercury", "sh", "-c", "echo work >work")
    process = person.start(person.program, "down", "mercury")
    until(process, b"archive")
    kill(process)
    person.cspace("down", "mercury")
    assert person.leftovers() == []
    refs = person.git("for-each-ref", "--format=%(refname)", "refs/cspace/archive/mercury")
    snapshots = [ref for ref in refs.splitlines() if ref.endswith("/snapshot")]
    assert len(snapshots) == 1


def test_ctrl_c_ends_an_up_with_130_and_says_what_to_do(person: Person) -> None:
    process = person.start(person.program, "up", "mercury")
    until(process, b"workspace")
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert b"the same command takes up where it stopped" in said
    person.cspace("up", "mercury")
