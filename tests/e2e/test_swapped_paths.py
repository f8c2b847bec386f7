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

CLAUDE = "claude/projects/-workspace/memory"
SHARED = (".cspace/context/findings", ".cspace/context", ".cspace/memory", ".cspace")
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
    check(root.having(SUDO_UID="1001", SUDO_GID="1001") if sudo else user, make_outside(user))


def test_a_path_component_swapped_for_a_link_hazard_nothing_outside_is_touched_by_root(
    person: Person,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can call cspace as root")
    check(person, make_outside(person))


def check(person: Person, outside: Outside) -> None:
    person.cspace("up", "mercury")
    state = person.state("mercury").state
    places = (state / "workspace/.cspace", state / CLAUDE, *(person.repo / one for one in SHARED))
    for place in places:
        person.cspace("stop", "mercury")
        assert falls_for_it(place, outside.path), place
        untouched(person, outside, place, "up mercury", "status mercury")
    person.cspace("up", "mercury")
    for place in places[:2]:
        untouched(person, outside, place, "down mercury --dry-run", "down mercury")
        person.cspace("up", "mercury")
    person.cspace("down", "mercury")
    for place in places[2:]:
        untouched(person, outside, place, "restore mercury", "down mercury", "init")
    person.cspace("up", "mercury")
    person.cspace("down", "--discard", "mercury")


def untouched(person: Person, outside: Outside, place: Path, *commands: str) -> None:
    """Run commands while a place is swapped: none fails as a bug, and nothing outside changes."""
    before = outside.look()
    codes = (*CODES, 3) if len(commands) > 2 else CODES
    with swapping(place, outside.path):
        for words in commands:
            person.run(person.program, *words.split(), ok=codes)
    assert outside.look() == before, (place, commands)
