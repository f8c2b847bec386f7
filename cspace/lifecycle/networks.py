"""The networks of instances: each has its own, of a pool of ours, and nobody shares it."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network

from cspace.engine.model import Container
from cspace.engine.sidecar_model import Network, NewNetwork, SubnetTaken
from cspace.engine.subnets import INSTANCE_PREFIX, POOLS, find_free, list_routes
from cspace.errors import CspaceError
from cspace.instance import image, labels
from cspace.instance.names import composition_name
from cspace.lifecycle.host import Host


def is_firewalled(container: Container) -> bool:
    """Tell whether a container was made to have no way out but the proxy."""
    return container.labels.get(labels.FIREWALL) == "on"


def list_networks(host: Host) -> tuple[Network, ...]:
    """List the networks of the project's instances and of its proxy."""
    return host.engine.networks.list(labels.of_project(host.project.id))


def find_network(there: tuple[Network, ...], host: Host, name: str) -> Network | None:
    """Find the network of an instance among those that are there."""
    own = composition_name(host.project.id, name)
    return next((network for network in there if network.name == own), None)


def is_stranded(container: Container, there: tuple[Network, ...]) -> bool:
    """Tell whether a network of a container is gone: it can not be started any more."""
    ids = {network.id for network in there}
    return any(each.network_id not in ids for each in container.endpoints)


def lacks_network(found: Network | None, *, internal: bool) -> str:
    """Say why the network of an instance has to be made; "" where it is as it should be."""
    if found is None:
        return "it has none"
    return (
        "" if found.internal is internal else f"the firewall is {'on' if internal else 'off'} now"
    )


def ensure_network(host: Host, name: str, *, internal: bool) -> None:
    """Have an instance's network be there as it should be; its containers must be at rest.

    Raises:
        CspaceError: no subnet is free, or the network's name is taken by something else.
    """
    found = find_network(list_networks(host), host, name)
    if not lacks_network(found, internal=internal):
        return
    if found is not None:
        host.engine.networks.remove(found.id)
    own = composition_name(host.project.id, name)
    make_network(host, name, own, _labels(host, name), internal=internal)


def _labels(host: Host, name: str) -> dict[str, str]:
    return labels.of_instance(host.project.id, name) | {
        labels.ROOT: str(host.project.root),
        labels.VERSION: image.version(),
        labels.FOLDER: str(host.paths(name).workspace),
    }


def make_network(
    host: Host,
    subject: str,
    network: str,
    marks: Mapping[str, str],
    *,
    internal: bool,
    prefix: int = INSTANCE_PREFIX,
) -> None:
    """Make a network with the first subnet that is free.

    Raises:
        CspaceError: none is free, or the engine said no.
    """
    taken: set[IPv4Network] = set()
    with host.locked_networks(subject):
        taken.update(list_routes())
        taken.update(*(each.subnets for each in host.engine.networks.list()))
        while (subnet := find_free(POOLS, taken, prefix)) is not None:
            try:
                host.engine.networks.create(NewNetwork(network, marks, subnet, internal))
            except SubnetTaken:  # by another user of this engine, who does not know our lock
                taken.add(subnet)
            else:
                return
    pools = " or ".join(map(str, POOLS))
    raise CspaceError(
        f"no subnet for network {network} is free in {pools}",
        hint="docker network ls shows what is there; cspace prune removes what is left over",
    )
