"""A directory that is swapped for a link while a command runs leads cspace nowhere, as root too."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.outside import Outside, make_outside
from tests.e2e.person import Person
from tests.swapping import swapping

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

Place = Callable[[Person], Path]


def _state(name: str) -> Place:
    return lambda person: person.state("mercury").state / name


def _shared(name: str) -> Place:
    return lambda person: person.repo / name


def _sessions(person: Person) -> Path:
    return person.state("mercury").sessions / "-workspace"


CLAUDE, WORKSPACE = _state("claude/projects"), _state("workspace/.cspace")
SHARED, CONTEXT = _shared(".cspace"), _shared(".cspace/context")
FINDINGS, MEMORY = _shared(".cspace/context/findings"), _shared(".cspace/memory")
# What a command that met the link instead may end with; it may never be a bug.
CODES = (0, 1, 2, 4, 5)
NAIVE = 2000


def falls_for_it(place: Path, target: Path) -> bool:
    """Tell whether plain Python creates something behind the link while the place is swapped."""
    with swapping(place, target):
        for number in range(NAIVE):
            with contextlib.suppress(OSError):
                (place / f"naive-{number}").mkdir()
    landed = list(target.glob("naive-*"))
    for made in (*landed, *place.glob("naive-*")):
        made.rmdir()
    return bool(landed)


@pytest.mark.parametrize("sudo", [False, True])
def test_a_path_component_swapped_for_a_link_hazard_nothing_outside_is_touched(
    become: Callable[[int], Person], *, sudo: bool
) -> None:
    user = become(1001)
    root = Person(user.program, user.engine, user.home, user.repo)
    person = root.having(SUDO_UID="1001", SUDO_GID="1001") if sudo else user
    places = (WORKSPACE, MEMORY) if sudo else (_sessions, FINDINGS)
    check(person, make_outside(user), *places)


def test_a_path_component_swapped_for_a_link_hazard_nothing_outside_is_touched_by_root(
    person: Person,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can call cspace as root")
    check(person, make_outside(person), _sessions, CLAUDE, WORKSPACE, SHARED, CONTEXT)


def check(person: Person, outside: Outside, *places: Place) -> None:
    """Swap each of the places during `up`, the first during `down`, the last during `restore`."""
    person.cspace("up", "mercury")
    for place in places:
        person.cspace("stop", "mercury")
        assert falls_for_it(place(person), outside.path), place(person)
        untouched(person, outside, place(person), "up mercury")
    person.cspace("up", "mercury")
    untouched(person, outside, places[0](person), "down mercury")
    # While everything moved it may have refused; whatever is left goes now.
    person.run(person.program, "down", "mercury", ok=(0, 3))
    untouched(person, outside, places[-1](person), "restore mercury", "init")
    person.run(person.program, "down", "--discard", "mercury", ok=(0, 3))


def untouched(person: Person, outside: Outside, place: Path, *commands: str) -> None:
    """Run commands while a place is swapped: none fails as a bug, and nothing outside changes."""
    before = outside.look()
    with swapping(place, outside.path):
        for words in commands:
            person.run(person.program, *words.split(), ok=CODES)
    assert outside.look() == before, (place, commands)
