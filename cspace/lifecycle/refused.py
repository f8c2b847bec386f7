"""What a project's proxy refused, and whose request it was."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from ipaddress import ip_address

from cspace.egress.refusals import Refusal, group_refusals, parse_refusals
from cspace.engine.model import Engine
from cspace.engine.sidecar_model import Network
from cspace.instance import labels

# The engine keeps ten megabytes of the proxy's log.
LINES = 100_000


def list_refusals(engine: Engine, project_id: str, *, name: str | None) -> tuple[Refusal, ...]:
    """List what was refused, the same requests as one, the newest last.

    The log lasts as long as the proxy's container.

    Args:
        name: only what this instance asked for.
    """
    networks = engine.networks.list(labels.of_project(project_id))
    found = (
        replace(each, instance=_find_instance(networks, each.address, each.first))
        for proxy in engine.list_containers(labels.of_egress(project_id))
        for each in parse_refusals(engine.logs(proxy, tail=LINES, errors=False))
    )
    return group_refusals(each for each in found if name in (None, each.instance))


def _find_instance(networks: tuple[Network, ...], address: str, at: datetime) -> str | None:
    """Find whose network an address was of; an earlier instance may have had the same."""
    asked = ip_address(address)
    for network in networks:
        if network.created <= at and any(asked in subnet for subnet in network.subnets):
            return network.labels.get(labels.INSTANCE)
    return None
