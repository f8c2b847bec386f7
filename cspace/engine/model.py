"""What cspace asks of a container engine, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Protocol

from cspace.engine.inspection_model import Inspection
from cspace.engine.sidecar_model import Networks, Sidecars
from cspace.files import Owner
from cspace.proc import Result

OnLine = Callable[[str], None]


class State(StrEnum):
    """What a container does, health included."""

    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    UNHEALTHY = "unhealthy"
    STOPPED = "stopped"


AT_REST = frozenset({State.CREATED, State.STOPPED})


@dataclass(frozen=True, slots=True)
class Port:
    """A container's port and where the host publishes it."""

    container: int
    host: str
    host_port: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a container is attached to a network.

    Attributes:
        network_id: of the network that it was attached to, which may be gone.
        address: IPv4; "" while the container does not run.
    """

    network: str
    network_id: str
    address: str


@dataclass(frozen=True, slots=True)
class Container:
    """A container as the engine lists it; its endpoints also while it does not run."""

    id: str
    name: str
    image: str
    labels: Mapping[str, str]
    state: State
    ports: tuple[Port, ...]
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image as the engine keeps it.

    Attributes:
        size: bytes that no other image shares; None where the engine does not tell.
    """

    id: str
    tags: tuple[str, ...]
    size: int | None


@dataclass(frozen=True, slots=True)
class Volume:
    """A named volume."""

    name: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory of the host, bind-mounted; the source must exist."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Build:
    """An image to build: a directory with a Dockerfile, its names, and its build arguments."""

    context: Path
    tags: tuple[str, ...]
    arguments: Mapping[str, str]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Composition:
    """A rendered Compose file and the project name that it always goes with."""

    name: str
    file: Path


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the machine has that the engine runs on.

    Attributes:
        memory: bytes.
        pids: the most processes and threads that its kernel runs.
    """

    cpus: int
    memory: int
    pids: int


class Engine(Protocol):
    """One container engine. Every method raises EngineUnavailable when it does not answer."""

    @property
    def networks(self) -> Networks:
        """What is done to networks."""

    @property
    def sidecars(self) -> Sidecars:
        """What is done to containers that no Compose file describes."""

    @property
    def inspection(self) -> Inspection:
        """What a doctor asks."""

    def ping(self) -> None:
        """Return when the engine answers."""

    def identify(self) -> str:
        """Return the id that the engine gave itself."""

    def capacity(self) -> Capacity:
        """Return what the engine's machine has."""

    def list_containers(self, labels: Mapping[str, str]) -> tuple[Container, ...]:
        """List containers, stopped ones too, that carry all labels; "" stands for any value."""

    def list_labels(self, labels: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
        """List the labels of every container, network and volume that carries all of these."""

    def list_images(self, labels: Mapping[str, str]) -> tuple[StoredImage, ...]:
        """List images that carry all labels; measures them, which can take minutes."""

    def remove_image(self, tag: str) -> None:
        """Remove an image of that name; raises CommandFailed when a container uses it."""

    def sees(
        self, markers: Mapping[Path, bytes], *, labels: Mapping[str, str] = MappingProxyType({})
    ) -> bool:
        """Tell whether the engine finds these very files, with this content, in our places.

        Args:
            labels: what the container that looks for them carries, until it is removed.
        """

    def list_volumes(self) -> tuple[Volume, ...]:
        """List all volumes, by name."""

    def volume_users(self, name: str) -> tuple[Container, ...]:
        """List the containers that mount a volume, by name; stopped ones too, since they hold it.

        Those that `open_volume` made, or that a kill left of it, are none.
        """

    def open_volume(
        self, name: str, *, labels: Mapping[str, str] = MappingProxyType({})
    ) -> AbstractContextManager[BinaryIO]:
        """Give a volume's content as a tar stream of paths relative to it; nothing is started.

        A read gives fewer bytes than it was asked for only at the end. Where the engine stops
        answering in the middle, the read raises EngineUnavailable.

        Args:
            labels: what the container that reads it carries, until it is removed. One that a kill
                left keeps the volume from being removed: `remove` it.

        Raises:
            NotFound: there is no such volume; none is made.
        """

    def has_image(self, tag: str, *, labels: Mapping[str, str] = MappingProxyType({})) -> bool:
        """Tell whether an image of that name, which carries all labels, is there."""

    def build_image(self, build: Build, on_line: OnLine) -> None:
        """Build and name an image, or raise CommandFailed with the log's last lines."""

    def start_once(
        self,
        image: str,
        argv: Sequence[str],
        mounts: Sequence[Mount],
        user: Owner,
        *,
        labels: Mapping[str, str] = MappingProxyType({}),
        beside: Container | None = None,
    ) -> AbstractContextManager[Callable[[], Result]]:
        """Start a program in a throw-away container without network, secrets or privileges.

        Args:
            beside: a running container, in whose network the program is; nothing else is shared.

        What is handed over is called once: it writes a line to the program's stdin, and returns
        what it answered. Where that is not called, as when we are killed, the stdin just ends.
        Every exit code of the program is an answer; CommandFailed is Docker's own refusal.
        """

    def start_composition(
        self, composition: Composition, *, recreate: bool, on_line: OnLine
    ) -> None:
        """Have Compose validate the file, create what is missing, and start it."""

    def wait(self, labels: Mapping[str, str], *, timeout: float) -> State:
        """Wait until all containers of these labels are healthy, or one can not be any more.

        Returns RUNNING, or what keeps them from it; STARTING after timeout seconds.
        """

    def stop(self, container: Container) -> None:
        """Stop a container; it keeps its file system."""

    def remove(self, container: Container) -> None:
        """Remove a container, running or not; volumes that it mounts stay."""

    def remove_all(self, labels: Mapping[str, str]) -> None:
        """Remove the containers, networks and volumes that carry all labels, running or not."""

    def logs(self, container: Container, *, tail: int, errors: bool = True) -> str:
        """Return the last lines that a container wrote.

        Args:
            errors: also those on its stderr.
        """
