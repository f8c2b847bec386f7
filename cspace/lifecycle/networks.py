"""The networks of instances: each has its own, of a pool of ours, and nobody shares it."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network

from cspace.engine.model import Container
from cspace.engine.sidecar_model import Network, NewNetwork, SubnetTaken
from cspace.engine.subnets import POOLS, find_free, list_routes
from cspace.errors import CspaceError
from cspace.instance import image, labels
from cspace.instance.names import composition_name
from cspace.lifecycle.host import Host

# Room for an instance's containers, and for the proxy.
_PREFIX = 28


def is_firewalled(container: Container) -> bool:
    """Tell whether a container was made to have no way out but the proxy."""
    return container.labels.get(labels.FIREWALL) == "on"


def find_network(host: Host, name: str) -> Network | None:
    """Find the network of an instance."""
    return _find(host, composition_name(host.project.id, name))


def _find(host: Host, name: str) -> Network | None:
    found = host.engine.networks.list(labels.of_project(host.project.id))
    return next((network for network in found if network.name == name), None)


def lacks_network(host: Host, name: str, kept: Container | None, *, internal: bool) -> str:
    """Say why the network of an instance has to be made; "" where it is as it should be.

    Args:
        kept: the instance's container, unless that is made anew too.
    """
    there = host.engine.networks.list(labels.of_project(host.project.id))
    own = composition_name(host.project.id, name)
    found = next((network for network in there if network.name == own), None)
    if found is None:
        return "it has none"
    if found.internal is not internal:
        return f"the firewall is {'on' if internal else 'off'} now"
    if kept is not None and _strays(kept, there):
        return "the container is not attached to it"
    return ""


def _strays(container: Container, there: tuple[Network, ...]) -> tuple[str, ...]:
    """Name the networks of a container that are gone: it can not be started like that."""
    ids = {network.id for network in there}
    return tuple(each.network for each in container.endpoints if each.network_id not in ids)


def ensure_network(host: Host, name: str, kept: Container | None, *, internal: bool) -> None:
    """Have an instance's network be there as it should be, and its container be attached.

    Raises:
        CspaceError: no subnet is free, or the network's name is taken by something else.
    """
    own = composition_name(host.project.id, name)
    found = _find(host, own)
    if found is not None and found.internal is not internal:
        host.engine.networks.remove(found.id)
        found = None
    if found is None:
        make_network(host, name, own, _labels(host, name), internal=internal)
    if kept is not None:
        _attach(host, name, kept)


def _attach(host: Host, name: str, kept: Container) -> None:
    there = host.engine.networks.list(labels.of_project(host.project.id))
    names = {network.name for network in there}
    for network in _strays(kept, there):
        # An earlier cspace let Compose name it; a container is only attached anew by the old name.
        if network not in names:
            make_network(host, name, network, _labels(host, name), internal=is_firewalled(kept))
        host.engine.networks.connect(network, kept.id)


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
    prefix: int = _PREFIX,
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
