"""kill -9 at every step of `up`, `down`, `restore`: the next call goes on, nothing is lost."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cspace.instance.labels import TASK
from cspace.instance.plan import Action
from tests.e2e.conftest import NewPerson
from tests.e2e.kills import AtProgram, InPhase, Killer, Moment, Whom, make_killer
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

UP, DOWN = ("up", "mercury"), ("down", "mercury")
BASE, OTHER_BASE = "debian:bookworm-slim", f"cspace-test-base:{uuid.uuid4().hex[:12]}"
# A phase takes a tenth of a second or a few.
DELAYS = (0.0, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True, slots=True)
class Scene:
    """A command to kill.

    Attributes:
        before: what brings about, from a running instance, the state in which it is called.
        steps: what it does; a step that is in no scene fails a test.
    """

    words: tuple[str, ...]
    before: tuple[tuple[str, ...], ...]
    steps: frozenset[Action]


_MAKE = {Action.PROVE, Action.WORKSPACE, Action.MOUNTS, Action.COMPOSE, Action.START}
SCENES = {
    "up": Scene(UP, (("down", "mercury"),), frozenset(_MAKE)),
    "image": Scene(UP, (("down", "mercury"),), frozenset({*_MAKE, Action.IMAGE})),
    "start": Scene(
        ("start", "mercury"),
        (("stop", "mercury"),),
        frozenset({Action.PROVE, Action.MOUNTS, Action.COMPOSE, Action.START}),
    ),
    "recreate": Scene(
        (*UP, "--recreate"),
        (),
        frozenset({Action.PROVE, Action.MOUNTS, Action.COMPOSE, Action.RECREATE}),
    ),
    "down": Scene(
        DOWN, (), frozenset({Action.STOP, Action.ARCHIVE, Action.CONTAINERS, Action.STATE})
    ),
    "restore": Scene(
        ("restore", "mercury"), (("down", "mercury"),), frozenset({*_MAKE, Action.UNPACK})
    ),
}


def test_every_step_of_a_plan_is_killed_in_some_scene() -> None:
    assert frozenset().union(*(scene.steps for scene in SCENES.values())) == frozenset(Action)


@pytest.fixture
def person(new: NewPerson) -> Iterator[Person]:
    with new() as one:
        yield one


@pytest.fixture
def killer(tmp_path: Path) -> Killer:
    tools = tmp_path / "tools"
    tools.mkdir()
    return make_killer(tools)


def work(person: Person) -> tuple[str, str]:
    """Commit something and leave something uncommitted; return both of their ids."""
    script = "echo $0 >file; git add file; git commit -qm $0; echo loose $0 >loose"
    person.inside("mercury", "sh", "-c", script, uuid.uuid4().hex)
    ids = person.inside("mercury", "sh", "-c", "git rev-parse HEAD; git hash-object loose").split()
    return ids[0], ids[1]


def kept(person: Person) -> set[str]:
    """Return the objects that refs of the host's repository reach."""
    return {line.split()[0] for line in person.git("rev-list", "--objects", "--all").splitlines()}


def strays(person: Person) -> list[str]:
    """List what a killed call may leave and the next has to remove; of `down`, all there is."""
    words = ("--all", "--quiet", f"--filter=label={TASK}={person.state('mercury').state}")
    found = [f"task {one}" for one in docker("ps", *words).split()]
    places = (person.state("any").state.parents[2], person.repo / ".git")
    found += [str(path) for place in places for path in place.glob(".*.cspace-tmp")]
    state = person.state("mercury").state
    found += [str(path) for path in (*state.glob("archive-*"), *state.glob("*.partial"))]
    build = places[0] / ".image"
    return [*found, *([str(build)] if build.exists() else [])]


def settle(person: Person, *made: str) -> None:
    """Check that `up` and `down` work, leave nothing, and that what was made is still there."""
    person.cspace(*UP)
    assert person.inside("mercury", "git", "status", "--porcelain", "--", "README.md") == ""
    assert strays(person) == []
    person.cspace(*DOWN)
    assert [*person.leftovers(), *strays(person)] == []
    assert set(made) <= kept(person)


def prepare(person: Person, scene: Scene) -> tuple[str, str]:
    """Bring about the state before a scene, with new work in it."""
    person.cspace(*UP)
    made = work(person)
    for words in scene.before:
        person.cspace(*words)
    return made


def moments(killer: Killer, person: Person, scene: Scene) -> Iterator[Moment]:
    """Yield every moment of a command that runs to its end once, phase by phase first."""
    phases, programs = killer.run(person, *scene.words)
    assert frozenset(phases) == scene.steps
    for delay in DELAYS:
        for phase in phases:
            yield InPhase(phase, delay)
    for whom in reversed(Whom):
        for number in range(1, programs + 1):
            yield AtProgram(number, whom)


@pytest.mark.parametrize("name", sorted(SCENES.keys() - {"image"}))
def test_kill_9_at_any_moment_hazard_the_next_call_goes_on_and_nothing_is_lost(
    name: str, person: Person, killer: Killer, counts: Callable[[int, int], int]
) -> None:
    scene = SCENES[name]
    made = prepare(person, scene)
    every = list(moments(killer, person, scene))
    settle(person, *made)
    wanted = counts(3, len(every))
    for number in range(wanted):
        moment = every[number * len(every) // wanted]
        made = prepare(person, scene)
        killer.kill(person, moment, *scene.words)
        settle(person, *made)
