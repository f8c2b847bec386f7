"""Networks of instances are many, and no two of them overlap."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace import proc
from cspace.deps import Deps
from cspace.engine.docker import DockerEngine
from cspace.engine.model import Container
from cspace.engine.sidecar_model import Network, NewNetwork, SubnetTaken
from cspace.engine.subnets import POOLS, find_free
from cspace.errors import CspaceError, NotFound
from cspace.events import ignore
from cspace.lifecycle.host import Host
from cspace.lifecycle.networks import make_network

pytestmark = pytest.mark.docker

LABEL = "dev.cspace.test"
BASE = "debian:bookworm-slim"
SLEEP = ("sleep", "infinity")
_MAKER = """
import os, sys
from pathlib import Path
from cspace.deps import Deps
from cspace.events import ignore
from cspace.lifecycle.networks import make_network
label, value, first, count = sys.argv[1:]
host = Deps(Path.cwd(), dict(os.environ), ignore).host(teardown=True)
for number in range(int(first), int(first) + int(count)):
    make_network(host, "test", f"{value}-{number}", {label: value}, internal=bool(number % 2))
"""


@pytest.fixture
def engine() -> DockerEngine:
    return DockerEngine()


@pytest.fixture
def mark(engine: DockerEngine) -> Iterator[dict[str, str]]:
    labels = {LABEL: f"cspace-test-{uuid.uuid4().hex[:12]}"}
    yield labels
    engine.remove_all(labels)


@pytest.fixture
def host(repo: Path, home: Path) -> Host:
    return Deps(repo, dict(os.environ), ignore).host(teardown=True)


def made(host: Host, mark: dict[str, str], *, internal: bool = True) -> Network:
    """Make a network and return it."""
    make_network(host, "test", mark[LABEL], mark, internal=internal)
    (network,) = host.engine.networks.list(mark)
    return network


def attached(engine: DockerEngine, mark: dict[str, str], network: str) -> Container:
    """Start a container in a network."""
    label = f"--label={LABEL}={mark[LABEL]}"
    proc.run("docker", "run", "--detach", "--init", label, f"--network={network}", BASE, *SLEEP)
    (container,) = engine.list_containers(mark)
    return container


def test_forty_instances_hazard_their_networks_are_made_at_once_and_none_overlaps(
    engine: DockerEngine, mark: dict[str, str], repo: Path, home: Path, tmp_path: Path
) -> None:
    # Two users of one engine: neither knows the other's lock.
    homes = (home, tmp_path / "other", home, tmp_path / "other")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _MAKER, LABEL, mark[LABEL], str(10 * number), "10"],
            cwd=repo,
            env=os.environ | {"HOME": str(each)},
        )
        for number, each in enumerate(homes)
    ]
    assert [process.wait() for process in processes] == [0] * len(processes)
    networks = engine.networks.list(mark)
    subnets = [subnet for network in networks for subnet in network.subnets]
    assert len(networks) == len(subnets) == 40
    assert not any(one.overlaps(other) for one, other in itertools.combinations(subnets, 2))
    assert {network.internal for network in networks} == {True, False}


def test_a_network_is_small_and_has_the_form_that_was_asked_for(
    host: Host, mark: dict[str, str]
) -> None:
    network = made(host, mark)
    (subnet,) = network.subnets
    assert (subnet.prefixlen, network.internal, network.name) == (28, True, mark[LABEL])
    assert any(subnet.subnet_of(pool) for pool in POOLS)


def test_a_subnet_that_somebody_has_is_refused_as_such(host: Host, mark: dict[str, str]) -> None:
    (subnet,) = made(host, mark).subnets
    with pytest.raises(SubnetTaken):
        host.engine.networks.create(NewNetwork(f"{mark[LABEL]}-2", mark, subnet, internal=True))


def test_a_name_that_somebody_has_is_refused_and_said(host: Host, mark: dict[str, str]) -> None:
    name = made(host, mark).name
    with pytest.raises(CspaceError, match=f"network with name {name} already exists"):
        make_network(host, "test", name, mark, internal=True)


def test_a_network_goes_with_whatever_is_attached_to_it(
    host: Host, engine: DockerEngine, mark: dict[str, str]
) -> None:
    network = made(host, mark)
    container = attached(engine, mark, network.name)
    assert [each.network_id for each in container.endpoints] == [network.id]
    engine.networks.remove(network.id)
    engine.networks.remove(network.id)
    assert engine.networks.list(mark) == ()


def test_a_container_is_attached_once_and_detached_once(
    host: Host, engine: DockerEngine, mark: dict[str, str]
) -> None:
    network = made(host, mark)
    container = attached(engine, mark, "bridge")
    for _ in range(2):
        engine.networks.connect(network.id, container.id, alias="egress")
    (there,) = engine.list_containers(mark)
    assert {each.network for each in there.endpoints} == {"bridge", network.name}
    for _ in range(2):
        engine.networks.disconnect(network.id, container.id)
    (there,) = engine.list_containers(mark)
    assert {each.network for each in there.endpoints} == {"bridge"}


def test_nothing_is_attached_to_what_is_gone(engine: DockerEngine, mark: dict[str, str]) -> None:
    with pytest.raises(NotFound):
        engine.networks.connect(mark[LABEL], mark[LABEL])
    with pytest.raises(NotFound):
        engine.sidecars.signal(mark[LABEL], "HUP")


def test_the_next_subnet_is_one_that_the_engine_has_free(host: Host, mark: dict[str, str]) -> None:
    (subnet,) = made(host, mark).subnets
    taken = [each for network in host.engine.networks.list() for each in network.subnets]
    assert subnet in taken
    assert find_free(POOLS, taken, 28) != subnet


def test_an_engine_says_what_its_machine_has(engine: DockerEngine) -> None:
    capacity = engine.capacity()
    assert capacity.cpus == os.cpu_count()
    assert capacity.memory > 2**29
