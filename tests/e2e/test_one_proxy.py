"""A project has one proxy, however many callers start its instances, and none afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cspace.paths import egress_paths, user_directory
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]


def proxies(person: Person, kind: str) -> list[str]:
    """Name what carries the labels of the project's proxy."""
    labels = (f"dev.cspace.project={person.id}", "dev.cspace.role=egress")
    return docker(kind, "ls", "--quiet", *(f"--filter=label={label}" for label in labels)).split()


def test_callers_at_once_hazard_they_start_one_proxy_and_the_last_down_removes_it(
    person: Person, counts: Callable[[int, int], int]
) -> None:
    names = [f"agent-{number}" for number in range(counts(3, 10))]
    processes = [person.start(person.program, "up", name) for name in names]
    answers = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(names), answers
    assert len(proxies(person, "container")) == len(proxies(person, "network")) == 1
    asks = ("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "http://refused.example/")
    assert {person.inside(name, *asks) for name in names} == {"403"}
    planned = person.cspace("up", "one-more", "--dry-run", "--json").json["plans"]
    actions = [step["action"] for plan in planned for step in plan["steps"]]
    assert actions[-3:] == ["network", "egress", "start"]
    person.cspace("down", "--all")
    assert person.leftovers() == []
    assert not egress_paths(user_directory(person.home), person.id).directory.exists()
