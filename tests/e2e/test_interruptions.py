"""Several `up` at once end in one instance; one that is interrupted says what to do."""

from __future__ import annotations

import os
import signal

import pytest

from tests.e2e.kills import until
from tests.e2e.person import Person, labelled

pytestmark = [pytest.mark.docker, pytest.mark.e2e]


def test_concurrent_up_hazard_two_at_once_end_in_one_healthy_instance_one_network_and_one_proxy(
    person: Person,
) -> None:
    processes = [person.start(person.program, "up", "mercury", "--json") for _ in range(2)]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    said = b"".join(out for out, _ in answers)
    assert said.count(b'"reused": true') == 2  # as a result, and at the end
    assert said.count(b'"reused": false') == 2
    # Those of the instance, and those of the project's proxy.
    expected = ["container", "container", "network", "network"]
    assert [thing.split()[0] for thing in labelled(person.id)] == expected
    (row,) = person.cspace("list", "--json").json["instances"]
    assert row["status"] == "running"


def test_instances_that_are_made_at_once_get_different_names(person: Person) -> None:
    processes = [person.start(person.program, "up", "-n", "2", "--json") for _ in range(2)]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    rows = person.cspace("list", "--json").json["instances"]
    assert [row["name"] for row in rows] == ["earth", "mars", "mercury", "venus"]
    assert {row["status"] for row in rows} == {"running"}


def test_ctrl_c_hazard_an_up_ends_with_130_and_the_same_command_goes_on(person: Person) -> None:
    process = person.start(person.program, "up", "mercury")
    assert until(process, b"workspace")
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert b"the same command takes up where it stopped" in said
    person.cspace("up", "mercury")
