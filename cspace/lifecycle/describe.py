"""Says everything about one instance that a person would ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cspace.engine.model import Engine, Mount, Port
from cspace.instance import labels
from cspace.instance.compose import instance_mounts
from cspace.instance.curated import mounted_scopes
from cspace.instance.models import mounted_models
from cspace.instance.names import check_name
from cspace.instance.observe import Observed, Status, get_instance, list_instances
from cspace.lifecycle.observed_egress import observe_egress
from cspace.paths import instance_paths
from cspace.project import Project


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
        egress: what was just observed that the instance can reach.
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


def list_ports(engine: Engine, user: Path, project: Project, name: str) -> tuple[Port, ...]:
    """List where the ports of one instance are published.

    Raises:
        NotFound: there is none of that name.
    """
    found = get_instance(engine, user, project.id, check_name(name)).container
    return found.ports if found else ()


def describe(engine: Engine, user: Path, project: Project, name: str) -> Description:
    """Describe one instance.

    Raises:
        NotFound: there is none of that name.
    """
    found = get_instance(engine, user, project.id, check_name(name))
    return _describe_each(engine, user, project, (found,))[0]


def describe_all(engine: Engine, user: Path, project: Project) -> tuple[Description, ...]:
    """Describe every instance of a project, by name."""
    return _describe_each(engine, user, project, list_instances(engine, user, project.id))


def _describe_each(
    engine: Engine, user: Path, project: Project, found: tuple[Observed, ...]
) -> tuple[Description, ...]:
    egress = observe_egress(engine, user, project.id, found)
    return tuple(_describe(each, user, project, egress[each.name]) for each in found)


def _describe(observed: Observed, user: Path, project: Project, egress: str) -> Description:
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
        mounts=instance_mounts(
            project.root, paths, mounted_scopes(container), mounted_models(container)
        ),
        secrets=tuple(sorted(names)),
        egress=egress,
        problem=str(observed.problem) if observed.problem else None,
    )
