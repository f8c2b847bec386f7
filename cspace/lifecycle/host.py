"""What the lifecycle reaches the outside through, and how it reports each phase."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cspace import files, proc
from cspace.clock import Clock
from cspace.egress.squid import Upstream
from cspace.engine.model import Engine
from cspace.errors import Conflict
from cspace.events import Event, Report, State, phase
from cspace.files import Owner
from cspace.instance.image import Image
from cspace.instance.observe import Observed, observe_instance
from cspace.instance.secret_sources import Secrets
from cspace.lifecycle.recorded_context import Recorder
from cspace.paths import (
    EgressPaths,
    InstancePaths,
    egress_paths,
    image_lock,
    instance_paths,
    network_lock,
    project_lock,
)
from cspace.project import Project

if TYPE_CHECKING:
    # 250 ms of pydantic, which a teardown does without.
    from cspace.settings.model import Settings

# A clone of a large repository and an image build may both happen under another one's lock.
LOCK_TIMEOUT_SECONDS = 1800.0
# A name is taken in milliseconds: a shorter wait is not worth a line.
PATIENCE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What instances are made from.

    Attributes:
        environment: the variables of the host that instances inherit (proxies, git identity).
        secrets: what is delivered as files.
        egress_image: the image of the project's proxy.
        upstream: the proxy that this machine itself has to use.
        models: the user's directory of models; None where there is none.
    """

    settings: Settings
    image: Image
    egress_image: Image
    environment: Mapping[str, str]
    secrets: Secrets
    upstream: Upstream | None
    models: Path | None = None


@dataclass(slots=True)
class Proof:
    """Whether the engine was seen to see our file system; a batch needs that once.

    Attributes:
        lock: is held while it is looked at, and given.
    """

    given: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Host:
    """One project on this machine.

    Attributes:
        user: `~/.cspace`.
        blueprint: returns what instances are made from; the same at every call.
        now: aware UTC time.
    """

    engine: Engine
    project: Project
    user: Path
    owner: Owner
    blueprint: Callable[[], Blueprint]
    now: Clock
    report: Report
    proof: Proof = field(default_factory=Proof)

    @property
    def settings(self) -> Settings:
        return self.blueprint().settings

    @property
    def image(self) -> Image:
        return self.blueprint().image

    @property
    def egress_image(self) -> Image:
        return self.blueprint().egress_image

    @property
    def models(self) -> Path | None:
        return self.blueprint().models

    @property
    def environment(self) -> Mapping[str, str]:
        return self.blueprint().environment

    @property
    def secrets(self) -> Secrets:
        return self.blueprint().secrets

    def paths(self, name: str) -> InstancePaths:
        return instance_paths(self.user, self.project.id, name)

    @property
    def egress(self) -> EgressPaths:
        return egress_paths(self.user, self.project.id)

    @property
    def recorder(self) -> Recorder:
        """What records the project's context."""
        return Recorder(self.project, self.user, self.report, self.now)

    def observe(self, name: str) -> Observed:
        return observe_instance(self.engine, self.user, self.project.id, name)

    @contextlib.contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold one instance: whoever else wants it waits, and then finds our work done."""
        with self._lock(name, self.paths(name).lock, f"cspace at work on {name}"):
            yield

    @contextlib.contextmanager
    def locked_project(self) -> Iterator[None]:
        """Hold the project, for the moment in which a free name is taken."""
        path = project_lock(self.user, self.project.id)
        with self._lock(self.project.id, path, "cspace up"):
            yield

    @contextlib.contextmanager
    def locked_image(self, subject: str) -> Iterator[None]:
        """Hold the image builds of this user."""
        with self._lock(subject, image_lock(self.user), "cspace building its image"):
            yield

    @contextlib.contextmanager
    def locked_networks(self, subject: str) -> Iterator[None]:
        """Hold this user's choice of subnets, for the moment in which one is taken."""
        with self._lock(subject, network_lock(self.user), "cspace making a network"):
            yield

    @contextlib.contextmanager
    def locked_egress(self, subject: str) -> Iterator[None]:
        """Hold the project's proxy; taken after every other lock but that of the networks."""
        with self._lock(subject, self.egress.lock, "cspace at work on the proxy"):
            yield

    @contextlib.contextmanager
    def _lock(self, subject: str, path: Path, holder: str) -> Iterator[None]:
        files.ensure_directory(path.parent, owner=self.owner, mode=0o700)
        take = functools.partial(files.lock, path, holder=holder, owner=self.owner)
        with contextlib.ExitStack() as held:
            try:
                descriptor = held.enter_context(take(timeout=PATIENCE_SECONDS))
            except Conflict:
                with self.phase(subject, "wait", f"another {holder}"):
                    descriptor = held.enter_context(take(timeout=LOCK_TIMEOUT_SECONDS))
            with proc.holding(descriptor):
                yield

    def phase(
        self, subject: str, name: str, detail: str = ""
    ) -> contextlib.AbstractContextManager[None]:
        """Report a phase's start and its end, with the seconds between."""
        return phase(self.report, subject, name, detail)

    def output(self, subject: str, phase: str) -> Callable[[str], None]:
        """Return what takes a program's lines as output of a phase."""
        return lambda line: self.report(Event(subject, phase, State.OUTPUT, line))
