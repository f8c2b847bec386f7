"""Networks, and the containers beside an instance's own: what cspace asks, and what it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Network
from pathlib import Path
from typing import Protocol

from cspace.errors import CommandFailed


class SubnetTaken(CommandFailed):
    """Another network has a part of the subnet that was asked for."""


@dataclass(frozen=True, slots=True)
class NewNetwork:
    """A bridge network to make, IPv4 only.

    Attributes:
        internal: nothing beyond it can be reached, not even this machine on the bridge's address.
    """

    name: str
    labels: Mapping[str, str]
    subnet: IPv4Network
    internal: bool


@dataclass(frozen=True, slots=True)
class Network:
    """A network as the engine lists it; who is attached, `Container.endpoints` tells."""

    id: str
    name: str
    labels: Mapping[str, str]
    subnets: tuple[IPv4Network, ...]
    internal: bool
    created: datetime


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A container of ours that runs without privileges and without a writable file system.

    Attributes:
        user: of the image.
        directory: of the host, seen read-only at `place`.
        temporary: places that are writable, in memory.
        networks: names; the first gives the default route.
        alias: its name in the networks.
        health: a program that ends with 0 once the sidecar is ready.
    """

    name: str
    image: str
    command: tuple[str, ...]
    user: str
    labels: Mapping[str, str]
    directory: Path
    place: str
    temporary: tuple[str, ...]
    networks: tuple[str, ...]
    alias: str
    health: tuple[str, ...]
    memory: int
    pids: int
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Errand:
    """A program of ours that administers the network of a container, and then ends.

    It is root with the one privilege that this needs, and has nothing else of that container.

    Attributes:
        labels: what its container carries, until it is removed.
        beside: the id of the running container.
    """

    image: str
    command: tuple[str, ...]
    labels: Mapping[str, str]
    beside: str


class Networks(Protocol):
    """The networks of one engine. Every method raises EngineUnavailable when it does not answer."""

    def list(self, labels: Mapping[str, str] = ...) -> tuple[Network, ...]:
        """List networks that carry all labels, by name; "" stands for any value."""

    def create(self, new: NewNetwork) -> None:
        """Make a network.

        Raises:
            SubnetTaken: the next subnet may be free.
            CommandFailed: the engine said no, as where the name is taken.
        """

    def connect(self, network: str, container: str, *, alias: str | None = None) -> None:
        """Attach a container, running or not, to a network; nothing to do where it is.

        Args:
            network: its id or name.
            container: its id or name.

        Raises:
            NotFound: one of them has gone.
        """

    def disconnect(self, network: str, container: str) -> None:
        """Detach a container from a network, one that has gone too; nothing to do if it is not."""

    def remove(self, network: str) -> None:
        """Detach whatever is attached, then remove the network; nothing to do if it has gone."""


class Sidecars(Protocol):
    """Containers that are made without Compose."""

    def start(self, sidecar: Sidecar) -> None:
        """Make the container anew and start it; one of that name goes first.

        Raises:
            CommandFailed: the engine said no; no container of that name is left.
        """

    def run(self, errand: Errand) -> None:
        """Run a program to its end; its container goes.

        Raises:
            CommandFailed: the engine said no, or the program ended with anything but 0.
        """

    def signal(self, container: str, signal: str) -> None:
        """Send a signal, like "HUP", to the first process of a running container.

        Raises:
            NotFound: it has gone.
            CommandFailed: it does not run.
        """
