"""Seals the network of an instance from outside, before anything of an agent's runs in it."""

from __future__ import annotations

from cspace.egress.seal import render_rules
from cspace.engine.model import AT_REST
from cspace.engine.sidecar_model import Errand
from cspace.errors import CommandFailed
from cspace.instance import labels
from cspace.lifecycle.host import Host
from cspace.lifecycle.images import ensure_image
from cspace.lifecycle.networks import find_network, is_firewalled, list_networks


def ensure_seal(host: Host, name: str) -> None:
    """Have an instance that runs reach nothing but its own network; nothing to do without firewall.

    One that has ended by itself is left for whoever waits for it.

    Raises:
        CommandFailed: the network can not be sealed; the instance is not ready then.
    """
    container = host.observe(name).container
    if container is None or not is_firewalled(container):
        return
    ensure_image(host, name, host.egress_image)
    network = find_network(list_networks(host), host, name)
    rules = render_rules(network.subnets if network else ())
    marks = labels.of_task(host.paths(name).state)
    try:
        host.engine.sidecars.run(
            Errand(host.egress_image.tag, ("nft", rules), marks, beside=container.id)
        )
    except CommandFailed as error:
        now = host.observe(name).container
        if now is None or now.state in AT_REST:
            return
        raise CommandFailed(
            f"the network of {name} can not be sealed, so no agent is let into it: {error}",
            hint="the engine's kernel needs nf_tables (modprobe nf_tables, or a newer one);"
            f" then: cspace up {name}",
        ) from error
