"""Many instances by one command: as many results, no collisions, nothing left over."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cspace.engine.docker import DockerEngine
from cspace.lifecycle.limits import automatic_limits
from cspace.settings.model import parse_memory
from tests.cli.terminal import read_all
from tests.e2e.conftest import NewPerson
from tests.e2e.kills import until
from tests.e2e.person import Answer, Person, docker, labelled

pytestmark = [pytest.mark.docker, pytest.mark.e2e]


@dataclass(frozen=True, slots=True)
class Fleet:
    """Somebody's instances, and what the `up` of all of them said."""

    person: Person
    names: tuple[str, ...]
    up: Answer


@pytest.fixture(scope="module")
def fleet(new: NewPerson, counts: Callable[[int, int], int]) -> Iterator[Fleet]:
    """Bring up 32 instances in soak, a few otherwise, each with a published port."""
    count = counts(4, 32)
    with new() as person:
        person.configure({"ports": [3000]})
        answer = person.cspace("up", "-n", str(count), "--json")
        names = tuple(ready["name"] for ready in answer.json["instances"])
        assert len(names) == count
        yield Fleet(person, names, answer)


def inspected(fleet: Fleet) -> list[Any]:
    """Ask the engine about every instance's container."""
    found: list[Any] = json.loads(docker("inspect", *map(fleet.person.container, fleet.names)))
    return found


def test_each_instance_has_its_own_name_branch_container_subnet_and_port(fleet: Fleet) -> None:
    ready = fleet.up.json["instances"]
    found = inspected(fleet)
    networks = [json.loads(docker("network", "inspect", *one)) for one in map(attached, found)]
    rows = fleet.person.cspace("list", "--json").json["instances"]
    for values in (
        fleet.names,
        [one["branch"] for one in ready],
        [one["workspace"] for one in ready],
        [one["Id"] for one in found],
        [network["IPAM"]["Config"][0]["Subnet"] for (network,) in networks],
        [port["host_port"] for row in rows for port in row["ports"]],
    ):
        assert len(set(values)) == len(values) == len(fleet.names)
    assert {row["status"] for row in rows} == {"running"}


def attached(container: Any) -> list[str]:
    return [each["NetworkID"] for each in container["NetworkSettings"]["Networks"].values()]


def test_events_and_results_come_a_document_a_line_and_the_end_is_the_last(fleet: Fleet) -> None:
    *events, end = fleet.up.events
    assert {each["schema_version"] for each in events} == {1}
    assert {each["event"] for each in events} <= {"phase", "notice", "result"}
    results = {each["name"]: each for each in events if each["event"] == "result"}
    assert (end["event"], end["failed"]) == ("end", [])
    assert end["instances"] == [results[name]["instance"] for name in fleet.names]
    for name in fleet.names:
        own = [each for each in events if each["name"] == name]
        said = {(each["phase"], each["state"]) for each in own if each["event"] == "phase"}
        assert {("workspace", "started"), ("start", "started"), ("start", "done")} <= said
        assert own[-1]["event"] == "result"


def test_limits_that_nobody_set_are_what_the_machine_suggests(fleet: Fleet) -> None:
    suggested = automatic_limits(DockerEngine().capacity())
    assert suggested.memory is not None
    assert suggested.cpus is not None
    host = inspected(fleet)[0]["HostConfig"]
    wanted = (suggested.cpus * 1e9, parse_memory(suggested.memory), suggested.pids)
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == wanted


def test_more_memory_than_the_machine_has_is_noted_before_anything_is_started(fleet: Fleet) -> None:
    memory = DockerEngine().capacity().memory // 2**30 + 1
    words = ("up", fleet.names[0], "--set", f"limits.memory={memory}g", "--json")
    first, *_ = fleet.person.cspace(*words).events
    assert (first["event"], first["phase"]) == ("notice", "limits")
    assert f"limits.memory {memory}g" in first["detail"]
    assert "lower limits.memory" in first["detail"]


def test_what_failed_in_a_batch_is_exit_7_beside_what_came_of_the_others(fleet: Fleet) -> None:
    answer = fleet.person.cspace("stop", *fleet.names[:2], "nobody", "--json", ok=7)
    done = [one["name"] for one in answer.json["instances"]]
    assert done == list(fleet.names[:2])
    ((name, error),) = [(one["name"], one["error"]) for one in answer.json["failed"]]
    assert (name, error["exit_code"]) == ("nobody", 3)
    assert "1 of 3 failed: nobody" in answer.err
    assert f"hint: {error['hint']}" in answer.err


def test_several_have_a_board_on_a_terminal_and_their_results_stay(fleet: Fleet) -> None:
    names = fleet.names[:2]
    person = fleet.person.having(TERM="xterm", NO_COLOR="1")
    ours, theirs = pty.openpty()
    words = (str(person.program), "start", *names)
    process = subprocess.Popen(
        words, cwd=person.repo, env=person.environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = read_all(ours)
    os.close(ours)
    assert process.wait() == 0
    assert "2 of 2 done" in shown
    assert "\x1b[3" not in shown
    left = shown.rpartition("\x1b[1A\x1b[2K")[2].splitlines()
    assert [line.split()[0] for line in left] == list(names)


def test_down_of_all_leaves_nothing_of_a_batch(fleet: Fleet) -> None:
    answer = fleet.person.cspace("down", "--all", "--json")
    assert tuple(one["name"] for one in answer.json["instances"]) == tuple(sorted(fleet.names))
    assert answer.json["failed"] == []
    assert fleet.person.leftovers() == []
    assert labelled(fleet.person.id) == []


def test_ctrl_c_hazard_a_batch_begins_no_further_one_and_ends_with_130(person: Person) -> None:
    process = person.start(person.program, "up", "-n", "16", "--json")
    assert until(process, b"workspace")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"the same command takes up where it stopped" in err
    assert json.loads(out.splitlines()[-1])["event"] == "end"
    begun = person.cspace("list", "--json").json["instances"]
    assert len(begun) < 16
    person.cspace("down", "--all")
    assert person.leftovers() == []
