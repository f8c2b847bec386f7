"""What an engine does to instances that no shared one may: it is pruned, stopped and killed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import OUTSIDE
from tests.e2e.conftest import NewPerson
from tests.e2e.kills import until
from tests.e2e.person import Person, docker, image_of
from tests.e2e.private_engine import PrivateEngine, private_engine, refusal

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

LOOSE = "not committed\n"


@pytest.fixture(scope="module")
def shared_images(new: NewPerson) -> tuple[str, str]:
    """Return the images that the installed cspace makes on the shared engine, the proxy's last."""
    with new() as one:
        one.cspace("up", "mercury")
        names = image_of(one.container("mercury")), image_of(one.proxy)
        one.cspace("down", "--discard", "mercury")
        return names


@pytest.fixture(scope="module")
def engine_of_its_own(shared_images: tuple[str, str]) -> Iterator[PrivateEngine]:
    """Return a daemon that has the images; skip where there can be none, but fail in CI."""
    reason = refusal()
    if reason and OUTSIDE.get("CI"):
        pytest.fail(f"CI needs an engine that a test may kill: {reason}")
    if reason:
        pytest.skip(reason)
    with private_engine() as one:
        load(one, *shared_images)
        yield one


def load(engine: PrivateEngine, *images: str) -> None:
    """Give the engine images, as a registry would."""
    with subprocess.Popen(
        ["docker", "save", *images], stdout=subprocess.PIPE, env=OUTSIDE
    ) as saved:
        subprocess.run(
            ["docker", "--host", engine.host, "load", "--quiet"],
            stdin=saved.stdout, env=OUTSIDE, check=True, capture_output=True,
        )  # fmt: skip
    assert saved.returncode == 0


@pytest.fixture
def person(new: NewPerson, engine_of_its_own: PrivateEngine) -> Iterator[Person]:
    """Return a person on that engine; it is empty again afterwards."""
    with new() as one:
        yield one.having(DOCKER_HOST=engine_of_its_own.host)
        if engine_of_its_own.daemon is None:
            engine_of_its_own.start()
        left = engine_of_its_own.docker("ps", "--all", "--quiet").split()
        if left:
            engine_of_its_own.docker("rm", "--force", *left)
        engine_of_its_own.docker("network", "prune", "--force")


def status(person: Person) -> dict[str, str]:
    rows = person.cspace("list", "--json").json["instances"]
    return {row["name"]: row["status"] for row in rows}


def up(person: Person, *names: str) -> None:
    """Bring instances up, each with something that is only in it."""
    person.cspace("up", *names, "--no-attach")
    for name in names:
        person.inside(name, "sh", "-c", 'printf "%s" "$0" >loose', LOOSE)


def check_work(person: Person, name: str) -> None:
    assert person.inside(name, "cat", "loose") == LOOSE


def nothing_left(person: Person, engine: PrivateEngine) -> bool:
    networks = engine.docker("network", "ls", "--quiet", "--filter=type=custom")
    state = person.state("any").state.parent
    return not (
        engine.docker("ps", "--all", "--quiet")
        or networks
        or [path for path in state.iterdir() if path.is_dir()]
    )


def prune_system(engine: PrivateEngine) -> None:
    engine.docker("system", "prune", "--all", "--force", "--volumes")


def test_docker_system_prune_hazard_leaves_dormant_workspaces_that_are_listed_and_archived(
    person: Person, engine_of_its_own: PrivateEngine
) -> None:
    up(person, "mercury", "venus")
    person.cspace("stop", "mercury")
    prune_system(engine_of_its_own)
    assert status(person) == {"mercury": "dormant", "venus": "running"}
    check_work(person, "venus")
    person.cspace("up", "mercury")
    check_work(person, "mercury")
    person.cspace("stop", "mercury")
    prune_system(engine_of_its_own)
    person.cspace("down", "mercury")
    assert status(person) == {"venus": "running"}
    person.cspace("restore", "mercury")
    check_work(person, "mercury")


@pytest.mark.soak
def test_docker_system_prune_hazard_costs_no_work_when_it_takes_the_image_too(
    person: Person, engine_of_its_own: PrivateEngine, shared_images: tuple[str, str]
) -> None:
    engine = engine_of_its_own
    up(person, "mercury", "venus")
    person.cspace("stop", "--all")
    prune_system(engine)
    assert engine.docker("image", "ls", "--quiet", "cspace") == ""  # the proxy keeps its own
    assert status(person) == {"mercury": "dormant", "venus": "dormant"}
    load(engine, *shared_images)
    person.cspace("down", "--all")
    assert nothing_left(person, engine)
    person.cspace("restore", "mercury")
    check_work(person, "mercury")


@pytest.mark.parametrize("end", [PrivateEngine.stop, PrivateEngine.kill])
def test_a_daemon_that_was_restarted_hazard_costs_no_instance_and_no_work(
    person: Person, engine_of_its_own: PrivateEngine, end: Callable[[PrivateEngine], None]
) -> None:
    engine = engine_of_its_own
    up(person, "mercury", "venus")
    end(engine)
    for words in (("list",), ("up", "mercury"), ("down", "mercury")):
        answer = person.cspace(*words, ok=6)
        assert "error: Docker does not answer" in answer.err
    engine.start()
    assert set(status(person)) == {"mercury", "venus"}
    person.cspace("up", "mercury")
    check_work(person, "mercury")
    # One that nobody brought up again is archived as it is.
    person.cspace("down", "--all")
    assert nothing_left(person, engine)
    person.cspace("restore", "venus")
    check_work(person, "venus")


def test_a_daemon_that_vanishes_during_a_down_hazard_loses_nothing(
    person: Person, engine_of_its_own: PrivateEngine, counts: Callable[[int, int], int]
) -> None:
    up(person, "mercury")
    for phase in ("archive", "stop", "containers")[: counts(1, 3)]:
        process = person.start(person.program, "down", "mercury")
        assert until(process, phase.encode())
        engine_of_its_own.kill()
        _, said = process.communicate()
        # The last phase can be quicker than we are.
        assert process.returncode in ({5, 6} if phase == "archive" else {0, 5, 6}), said
        engine_of_its_own.start()
        person.run(person.program, "down", "mercury", ok=(0, 3))
        assert nothing_left(person, engine_of_its_own)
        person.cspace("restore", "mercury")
        check_work(person, "mercury")


def test_prune_removes_only_earlier_images_hazard_disk_fills(
    person: Person, engine_of_its_own: PrivateEngine, shared_images: tuple[str, str]
) -> None:
    engine = engine_of_its_own
    up(person, "mercury")
    shared_image, proxys = shared_images
    earlier, used, latest = "cspace:" + "0" * 16, "cspace:" + "1" * 16, "cspace:" + "2" * 16
    for tag, layer in ((earlier, "a"), (used, "b"), (latest, "c"), ("mine:1", "d")):
        made = engine.docker("create", "--entrypoint=sh", shared_image, "-c", layer).strip()
        engine.docker("commit", "--message", layer, made, tag)
        engine.docker("rm", made)
    engine.docker("tag", latest, "cspace:latest")
    engine.docker("create", used)
    shown = person.cspace("prune", "--dry-run", "--json").json
    images = [left for left in shown["found"] if left["kind"] == "image"]
    assert [left["what"] for left in images] == [earlier]
    assert (images[0]["reason"], images[0]["remedy"]) == ("an earlier version's image", None)
    assert shown["removed"] == []
    assert person.cspace("prune", "--json", "--yes").json["failed"] == []
    left = set(engine.docker("image", "ls", "--format={{.Repository}}:{{.Tag}}").split())
    assert left >= {used, latest, "cspace:latest", "mine:1", shared_image, proxys}
    assert earlier not in left
    check_work(person, "mercury")
    assert docker("image", "ls", "--quiet", shared_image)


def test_a_daemon_killed_in_a_batch_hazard_each_is_reported_and_the_next_calls_end_clean(
    person: Person, engine_of_its_own: PrivateEngine
) -> None:
    running = person.start(person.program, "up", "-n", "6", "--json")
    assert until(running, b"start")
    engine_of_its_own.kill()
    out, err = running.communicate(timeout=60)
    assert running.returncode in (6, 7), err
    end = json.loads(out.splitlines()[-1])
    assert (end["event"], len(end["instances"]) + len(end["failed"])) == ("end", 6)
    assert {one["error"]["exit_code"] for one in end["failed"]} == {6}
    assert err.count(b"Docker does not answer") <= 2
    engine_of_its_own.start()
    names = ("mercury", "venus", "earth", "mars", "jupiter", "saturn")
    ready = person.cspace("up", *names, "--json").json["instances"]
    assert [one["status"] for one in ready] == ["running"] * 6
    person.cspace("down", "--all")
    assert nothing_left(person, engine_of_its_own)


def test_a_daemon_killed_while_all_are_removed_hazard_the_next_down_leaves_nothing(
    person: Person, engine_of_its_own: PrivateEngine
) -> None:
    up(person, "mercury", "venus")
    running = person.start(person.program, "down", "--all", "--json")
    assert until(running, b"archive")
    engine_of_its_own.kill()
    out, err = running.communicate(timeout=60)
    assert running.returncode in (6, 7), err
    assert len(json.loads(out.splitlines()[-1])["failed"]) >= 1
    engine_of_its_own.start()
    person.cspace("down", "--all")
    assert nothing_left(person, engine_of_its_own)
