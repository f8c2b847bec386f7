"""A migration whose engine dies in the middle: said as such, and the same command goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace import proc
from tests.conftest import OUTSIDE
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person
from tests.e2e.private_engine import PrivateEngine, private_engine, refusal

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

VOLUME = "cspace-old-memory"
FILES, SIZE = 40, 4 * 2**20


@pytest.fixture(scope="module")
def own() -> Iterator[PrivateEngine]:
    """Return a daemon that a test may kill; skip where there can be none, but fail in CI."""
    reason = refusal()
    if reason and OUTSIDE.get("CI"):
        pytest.fail(f"CI needs an engine that a test may kill: {reason}")
    if reason:
        pytest.skip(reason)
    with private_engine() as one:
        yield one


@pytest.fixture
def person(new: NewPerson, own: PrivateEngine, tmp_path: Path) -> Iterator[Person]:
    """Return a person with a large legacy volume on an engine of their own."""
    own.docker("volume", "create", VOLUME)
    place = Path(own.docker("volume", "inspect", "--format", "{{.Mountpoint}}", VOLUME).strip())
    # The daemon's mounts are its own; its directories are not.
    for number in range(FILES):
        (place / f"{number}.md").write_bytes(os.urandom(SIZE))
    with new() as one:
        yield one.having(DOCKER_HOST=own.host)


def test_an_engine_that_dies_while_a_volume_is_read_is_said_and_the_next_call_goes_on(
    person: Person, own: PrivateEngine
) -> None:
    running = person.start(person.program, "memory", "migrate", "--volume", VOLUME)
    while running.poll() is None and not own.docker("ps", "--all", "--quiet").strip():
        pass
    own.kill()
    out, err = running.communicate()
    assert running.returncode == 6, err
    assert (out, b"nothing to" in err) == (b"", False)
    assert list((person.repo / ".cspace").glob("memory/*")) == []
    own.start()
    done = person.cspace("memory", "migrate", "--volume", VOLUME, "--json").json
    assert (len(done["written"]), done["verified"]) == (FILES, True)
    assert done["removal"] == f"docker volume rm {VOLUME}"
    proc.run("docker", "--host", own.host, "volume", "rm", VOLUME)
