"""Networks through the Engine API."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from datetime import datetime
from ipaddress import IPv4Network, ip_network
from types import MappingProxyType
from typing import Any

from docker.errors import APIError, NotFound
from docker.types import IPAMConfig, IPAMPool

from cspace.engine.rows import label_filters
from cspace.engine.sidecar_model import Network, NewNetwork, SubnetTaken
from cspace.engine.translation import translated
from cspace.errors import NotFound as Missing

# Else services that listen on this machine are reached on the bridge's own address.
_NO_ADDRESS = {"com.docker.network.bridge.inhibit_ipv4": "true"}


class DockerNetworks:
    """The Networks protocol over the API of one daemon."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def list(self, labels: Mapping[str, str] = MappingProxyType({})) -> tuple[Network, ...]:
        with translated():
            rows = self._api.networks(filters=label_filters(labels))
        return tuple(sorted(map(_parse, rows), key=lambda network: network.name))

    def create(self, new: NewNetwork) -> None:
        pool = IPAMPool(subnet=str(new.subnet))
        with translated():
            try:
                self._api.create_network(
                    new.name,
                    driver="bridge",
                    options=_NO_ADDRESS if new.internal else None,
                    ipam=IPAMConfig(pool_configs=[pool]),
                    internal=new.internal,
                    labels=dict(new.labels),
                    enable_ipv6=False,
                )
            except APIError as error:
                if "overlaps" in str(error):
                    raise SubnetTaken(f"{new.subnet} is taken: {error.explanation}") from error
                raise

    def connect(self, network: str, container: str, *, alias: str | None = None) -> None:
        aliases = [alias] if alias else None
        with translated():
            try:
                self._api.connect_container_to_network(container, network, aliases=aliases)
            except NotFound as error:
                raise Missing(f"{error.explanation}", hint="cspace up repairs it") from error
            except APIError as error:
                if "already exists in network" not in str(error):
                    raise

    def disconnect(self, network: str, container: str) -> None:
        with translated():
            try:
                self._api.disconnect_container_from_network(container, network, force=True)
            except NotFound:
                pass
            except APIError as error:
                if "is not connected" not in str(error):
                    raise

    def remove(self, network: str) -> None:
        with translated(), contextlib.suppress(NotFound):
            for container in self._api.inspect_network(network)["Containers"] or ():
                self.disconnect(network, container)
            self._api.remove_network(network)


def _parse(row: Mapping[str, Any]) -> Network:
    subnets = (ip_network(each["Subnet"]) for each in row["IPAM"]["Config"] or ())
    return Network(
        id=row["Id"],
        name=row["Name"],
        labels=row["Labels"] or {},
        subnets=tuple(each for each in subnets if isinstance(each, IPv4Network)),
        internal=row["Internal"],
        # To the nanosecond, and in the zone of the engine's machine.
        created=datetime.fromisoformat(row["Created"]),
    )
