"""What running instances reach, as a container of ours sees it in their network."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cspace.egress.observed import Sight, describe_sight, parse_sight
from cspace.egress.squid import DOMAINS
from cspace.engine.model import AT_REST, Container, Engine
from cspace.engine.sidecar_model import Network
from cspace.errors import CommandFailed
from cspace.files import Owner
from cspace.instance import labels
from cspace.instance.observe import Observed
from cspace.paths import INSIDE, egress_paths, instance_paths

NOT_RUNNING = "unknown: it does not run"
AT_ONCE = 8
# The probe reads no file that is anybody's.
NOBODY = Owner(65534, 65534)


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways out of a project: what of them the engine lists."""

    networks: tuple[Network, ...]
    proxy: Container | None
    names: int

    def network_of(self, container: Container) -> Network | None:
        """Find the network that an instance's container is in; it is in no other."""
        ids = {endpoint.network_id for endpoint in container.endpoints}
        return next((each for each in self.networks if each.id in ids), None)

    def proxy_in(self, network: Network) -> str:
        """Return the proxy's address in a network; "" where it has none."""
        endpoints = self.proxy.endpoints if self.proxy else ()
        return next((each.address for each in endpoints if each.network_id == network.id), "")


def observe_egress(
    engine: Engine, user: Path, project_id: str, instances: Iterable[Observed]
) -> Mapping[str, str]:
    """Say for each instance what it reaches; those that run are looked at side by side.

    Nothing that runs in an instance, and no file that its agent can write, takes part in it.
    """
    said = {each.name: NOT_RUNNING for each in instances}
    running = {
        each.name: each.container
        for each in instances
        if each.container is not None and each.container.state not in AT_REST
    }
    if running:
        ways = _find_ways(engine, user, project_id)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            states = (instance_paths(user, project_id, name).state for name in running)
            look = functools.partial(_observe, engine, ways)
            said |= zip(running, pool.map(look, running.values(), states), strict=True)
    return said


def _observe(engine: Engine, ways: Ways, container: Container, state: Path) -> str:
    network = ways.network_of(container)
    if network is None:
        return "unknown: its network has gone"
    sight = _look(engine, container, network, ways.proxy_in(network), labels.of_task(state))
    return describe_sight(sight, enabled=network.internal, names=ways.names)


def _look(
    engine: Engine, container: Container, network: Network, proxy: str, task: Mapping[str, str]
) -> Sight | None:
    gateway = next((str(next(subnet.hosts())) for subnet in network.subnets), "")
    argv = (INSIDE.python, "-I", "-m", "cspace.egress.probe", gateway or "-", proxy or "-")
    isolated = engine.start_once(container.image, argv, (), NOBODY, labels=task, beside=container)
    try:
        with isolated as answer:
            return parse_sight(answer().stdout)
    except CommandFailed:
        return None  # it stops just now, or was made by another version


def _find_ways(engine: Engine, user: Path, project_id: str) -> Ways:
    proxies = engine.list_containers(labels.of_egress(project_id))
    return Ways(
        networks=engine.networks.list(labels.of_project(project_id)),
        proxy=proxies[0] if proxies else None,
        names=_count_names(egress_paths(user, project_id).directory / DOMAINS),
    )


def _count_names(file: Path) -> int:
    try:
        return len(file.read_bytes().splitlines())
    except OSError:
        return 0
