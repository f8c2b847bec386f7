"""Says everything about one instance that a person would ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cspace.engine.model import Engine, Mount, Port
from cspace.instance import labels
from cspace.instance.compose import instance_mounts
from cspace.instance.names import check_name
from cspace.instance.observe import Observed, Status, get_instance, list_instances
from cspace.paths import instance_paths
from cspace.project import Project

EGRESS_OPEN = "open: this version has no egress firewall"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of `cspace list`."""

    name: str
    status: Status
    branch: str | None
    workspace: Path
    ports: tuple[Port, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """One instance in full.

    Attributes:
        egress: what the instance can reach.
        problem: why its record can not be read, if that is so.
        secrets: names of the secrets that are delivered to it, never their values.
    """

    name: str
    status: Status
    branch: str | None
    base: str | None
    created: datetime | None
    workspace: Path
    container: str | None
    image: str | None
    version: str | None
    ports: tuple[Port, ...]
    mounts: tuple[Mount, ...]
    secrets: tuple[str, ...]
    egress: str
    problem: str | None


def list_rows(engine: Engine, user: Path, project: Project) -> tuple[Row, ...]:
    """List the instances of a project, by name."""
    return tuple(
        Row(
            name=observed.name,
            status=observed.status,
            branch=observed.record.branch if observed.record else None,
            workspace=instance_paths(user, project.id, observed.name).workspace,
            ports=observed.container.ports if observed.container else (),
        )
        for observed in list_instances(engine, user, project.id)
    )


def describe(engine: Engine, user: Path, project: Project, name: str) -> Description:
    """Describe one instance.

    Raises:
        NotFound: there is none of that name.
    """
    return _describe(get_instance(engine, user, project.id, check_name(name)), user, project)


def describe_all(engine: Engine, user: Path, project: Project) -> tuple[Description, ...]:
    """Describe every instance of a project, by name."""
    return tuple(
        _describe(observed, user, project) for observed in list_instances(engine, user, project.id)
    )


def _describe(observed: Observed, user: Path, project: Project) -> Description:
    paths = instance_paths(user, project.id, observed.name)
    record, container = observed.record, observed.container
    names = (path.name for path in paths.secrets.iterdir()) if paths.secrets.is_dir() else ()
    return Description(
        name=observed.name,
        status=observed.status,
        branch=record.branch if record else None,
        base=record.base if record else None,
        created=record.created if record else None,
        workspace=paths.workspace,
        container=container.name if container else None,
        image=container.image if container else None,
        version=container.labels.get(labels.VERSION) if container else None,
        ports=container.ports if container else (),
        mounts=instance_mounts(project.root, paths),
        secrets=tuple(sorted(names)),
        egress=EGRESS_OPEN,
        problem=str(observed.problem) if observed.problem else None,
    )
