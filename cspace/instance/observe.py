"""What exists of a project's instances: labels of the engine joined with state directories."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from cspace.engine.model import Container, Engine, State
from cspace.errors import CspaceError, NotFound, expected
from cspace.instance import labels
from cspace.instance.names import is_name
from cspace.instance.record import Record, load_record
from cspace.paths import InstancePaths, instance_paths, project_directory, projects_directory


class Status(StrEnum):
    """What an instance is doing, as a person would say it."""

    RUNNING = "running"
    STARTING = "starting"
    UNHEALTHY = "unhealthy"
    STOPPED = "stopped"
    DORMANT = "dormant"
    INCOMPLETE = "incomplete"


_FROM_CONTAINER = {
    State.RUNNING: Status.RUNNING,
    State.STARTING: Status.STARTING,
    State.UNHEALTHY: Status.UNHEALTHY,
    State.CREATED: Status.STOPPED,
    State.STOPPED: Status.STOPPED,
}


@dataclass(frozen=True, slots=True)
class Observed:
    """One instance as it was found.

    Attributes:
        record: None when there is none, or when it can not be read: see `problem`.
        has_workspace: whether the finished clone is there.
        has_state: whether a state directory is there at all.
        problem: what is wrong with the record; a NewerRecord is not ours to touch.
        stopping: whether a call that stops it is at work, or was killed: the engine goes on then.
    """

    name: str
    record: Record | None
    has_workspace: bool
    has_state: bool
    container: Container | None
    problem: CspaceError | None = None
    stopping: bool = False

    @property
    def exists(self) -> bool:
        return self.has_state or self.container is not None

    @property
    def status(self) -> Status:
        """A workspace without a container is dormant, a container without one incomplete."""
        if not self.has_workspace or self.record is None or self.record.restoring is not None:
            return Status.INCOMPLETE
        return _FROM_CONTAINER[self.container.state] if self.container else Status.DORMANT


def observe_instance(engine: Engine, user: Path, project_id: str, name: str) -> Observed:
    """Look at one instance; one that does not exist is an Observed too."""
    containers = engine.list_containers(labels.of_instance(project_id, name))
    return _join(user, project_id, name, _without_gate(containers))


def get_instance(engine: Engine, user: Path, project_id: str, name: str) -> Observed:
    """Look at one instance.

    Raises:
        NotFound: there is none of that name in this project.
    """
    observed = observe_instance(engine, user, project_id, name)
    if not observed.exists:
        raise NotFound(
            f"there is no instance {name!r} in this project",
            hint=f"cspace list, or cspace up {name}",
        )
    return observed


def list_instances(engine: Engine, user: Path, project_id: str) -> tuple[Observed, ...]:
    """List what exists of a project's instances, by name."""
    containers: dict[str, list[Container]] = {}
    for container in engine.list_containers(labels.of_project(project_id)):
        # Anybody can put any label on a container; no path is made of it.
        if is_name(name := container.labels.get(labels.INSTANCE, "")):
            containers.setdefault(name, []).append(container)
    return tuple(
        _join(user, project_id, name, _without_gate(containers.get(name, ())))
        for name in sorted({*containers, *state_names(user, project_id)})
    )


def _without_gate(containers: Iterable[Container]) -> Container | None:
    """Find the container that an instance is; what its gate publishes are its ports."""
    each = sorted(containers, key=lambda one: labels.ROLE in one.labels)
    if not each or labels.ROLE in each[0].labels:
        return None
    ports = sorted((port for one in each for port in one.ports), key=lambda port: port.container)
    return replace(each[0], ports=tuple(ports))


def project_ids(user: Path) -> tuple[str, ...]:
    """List the projects that a directory of instances is kept for; needs no engine."""
    place = projects_directory(user)
    found = place.iterdir() if place.is_dir() else ()
    return tuple(sorted(each.name for each in found if each.is_dir()))


def state_names(user: Path, project_id: str) -> tuple[str, ...]:
    """List the names that have a state directory; needs no engine."""
    try:
        entries = sorted(os.scandir(project_directory(user, project_id)), key=lambda e: e.name)
    except FileNotFoundError:
        return ()
    return tuple(
        entry.name
        for entry in entries
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
    )


def read_record(paths: InstancePaths) -> tuple[Record | None, CspaceError | None]:
    """Read an instance's record, or say what is wrong with it; a name without a workspace has none.

    The problem's hint is a command.
    """
    hint = f"cspace down {paths.state.name}"
    try:
        return load_record(paths.record), None
    except FileNotFoundError:
        missing = CspaceError(f"{paths.record} is missing", hint=hint)
        return None, missing if _has_workspace(paths) else None
    except CspaceError as error:
        return None, error
    except OSError as error:
        return None, CspaceError(str(expected(error)), hint=hint)


def _has_workspace(paths: InstancePaths) -> bool:
    return paths.workspace.is_dir() and not paths.workspace.is_symlink()


def _join(user: Path, project_id: str, name: str, container: Container | None) -> Observed:
    paths = instance_paths(user, project_id, name)
    record, problem = read_record(paths)
    return Observed(
        name=name,
        record=record,
        has_workspace=_has_workspace(paths),
        has_state=paths.state.is_dir(),
        container=container,
        problem=problem,
        stopping=paths.stopping.exists(),
    )
