"""kill -9 at every step of `up`, `down`, `restore`: the next call goes on, nothing is lost."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cspace.instance.labels import TASK
from cspace.instance.plan import Action
from cspace.paths import user_directory
from tests.e2e.conftest import NewPerson
from tests.e2e.kills import AtProgram, InPhase, Killer, Moment, Whom, make_killer
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

UP, DOWN = ("up", "mercury"), ("down", "mercury")
BASE = "debian:bookworm-slim"
# A phase takes a tenth of a second or a few.
DELAYS = (0.03, 0.0, 0.1, 0.3, 1.0)


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


_OUT = {Action.NETWORK, Action.EGRESS}
_MAKE = {Action.PROVE, Action.WORKSPACE, Action.MOUNTS, Action.COMPOSE, *_OUT, Action.START}
_AGAIN = {Action.PROVE, Action.MOUNTS, Action.COMPOSE}
_DOWN = {Action.STOP, Action.ARCHIVE, Action.CONTAINERS, Action.STATE, Action.EGRESS}
SCENES = {
    "up": Scene(UP, (DOWN,), frozenset(_MAKE)),
    "start": Scene(
        ("start", "mercury"), (("stop", "mercury"),), frozenset({*_AGAIN, Action.START})
    ),
    "recreate": Scene((*UP, "--recreate"), (), frozenset({*_AGAIN, Action.STOP, Action.RECREATE})),
    "down": Scene(DOWN, (), frozenset(_DOWN)),
    "restore": Scene(("restore", "mercury"), (DOWN,), frozenset({*_MAKE, Action.UNPACK})),
}


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
    # A file of its own each time: no later call of ours may be what overwrites it.
    script = """
    echo $0 >file; git add file; git commit -qm $0; echo loose $0 >loose-$0
    git rev-parse HEAD; git hash-object loose-$0
    """
    ids = person.inside("mercury", "sh", "-euc", script, uuid.uuid4().hex).split()
    return ids[0], ids[1]


def kept(person: Person) -> set[str]:
    """Return the objects that refs of the host's repository reach."""
    return {line.split()[0] for line in person.git("rev-list", "--objects", "--all").splitlines()}


def strays(person: Person) -> list[str]:
    """List what a killed call may leave, and the next has to remove."""
    paths, user = person.state("mercury"), user_directory(person.home)
    words = ("--all", "--quiet", f"--filter=label={TASK}={paths.state}")
    found = [Path(one) for one in docker("ps", *words).split()]
    for place in (user, person.repo / ".git", paths.state, paths.secrets):
        found += place.glob(".*.cspace-tmp")
    for pattern in ("archive-*", "*.partial", "stopping"):
        found += paths.state.glob(pattern)
    return [str(path) for path in (*found, *user.glob(".image"))]


def settle_up(person: Person) -> None:
    """Check that `up` works and leaves nothing beside the instance."""
    person.cspace(*UP)
    assert person.inside("mercury", "git", "status", "--porcelain", "--", "README.md") == ""
    assert strays(person) == []


def settle(person: Person, *made: str) -> None:
    """Check that `up` works, that `down` leaves nothing, and that what was made is still there."""
    settle_up(person)
    settle_down(person, *made)


def settle_down(person: Person, *made: str) -> None:
    """Check the same of `down` alone; killed at its start, an `up` has made nothing yet."""
    person.run(person.program, *DOWN, ok=(0, 3))
    assert person.leftovers() == []
    assert strays(person) == []
    assert set(made) <= kept(person)


def prepare(person: Person, scene: Scene) -> tuple[str, str]:
    """Bring about the state before a scene, with new work in it."""
    person.cspace(*UP)
    made = work(person)
    for words in scene.before:
        person.cspace(*words)
    return made


def moments(killer: Killer, person: Person, scene: Scene) -> list[Moment]:
    """List every moment of a command, which runs to its end once for that."""
    phases, programs = killer.run(person, *scene.words)
    assert frozenset(phases) == scene.steps
    every: list[Moment] = [InPhase(phase, delay) for delay in DELAYS for phase in phases]
    return every + [AtProgram(number, whom) for whom in Whom for number in range(1, programs + 1)]


def test_every_step_of_a_plan_is_killed_in_some_scene() -> None:
    scenes = frozenset().union(*(scene.steps for scene in SCENES.values()))
    assert scenes | {Action.IMAGE} == frozenset(Action)


@pytest.mark.parametrize("name", sorted(SCENES))
def test_kill_9_at_each_step_hazard_the_next_call_goes_on_and_nothing_is_lost(
    name: str, person: Person, killer: Killer, counts: Callable[[int, int], int]
) -> None:
    scene = SCENES[name]
    earlier, _ = prepare(person, scene)
    every = moments(killer, person, scene)
    made = (earlier, *prepare(person, scene))
    # One after the other, each meets what the one before has left.
    for moment in every[: len(scene.steps)]:
        killer.kill(person, moment, *scene.words)
    settle_up(person)
    # The last program of each is the one that others must wait for, and that may come too late.
    wanted = counts(1, len(every))
    for number in range(wanted):
        moment = every[-1 - number * len(every) // wanted]
        ids = prepare(person, scene)
        killer.kill(person, moment, *scene.words)
        (settle_down if number % 2 else settle)(person, *made, *ids)


def test_an_interrupted_create_hazard_a_killed_build_is_begun_again_and_leaves_nothing(
    person: Person, killer: Killer
) -> None:
    base = f"cspace-test-base:{uuid.uuid4().hex[:12]}"
    docker("tag", BASE, base)
    person.configure({"base_image": base})
    try:
        for delay in (0.0, 0.3):
            killer.kill(person, InPhase(Action.IMAGE, delay), *UP)
        person.cspace(*UP)
        (row,) = person.cspace("status", "mercury", "--json").json["instances"]
        if (user_directory(person.home) / ".image").exists():
            # The engine ended the build without us, so there was none to clear up after it.
            person.cspace(*DOWN)
            docker("image", "rm", row["image"])
        settle(person)
        docker("image", "rm", row["image"])
    finally:
        docker("image", "rm", base)
