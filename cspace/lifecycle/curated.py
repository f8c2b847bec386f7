"""What an instance is given of curated memory: some scopes to read, an outbox to propose with."""

from __future__ import annotations

import contextlib
from pathlib import PurePosixPath

from cspace import beneath, files
from cspace.instance.curated import REJECTED
from cspace.lifecycle.host import Host
from cspace.memory.personas import Personas
from cspace.memory.projects import Projects
from cspace.memory.scopes import Kind, Scope
from cspace.paths import InstancePaths, curated_memory


def concerned_scopes(host: Host) -> tuple[str, ...]:
    """Return the scopes that an instance would be given now; claims no name and makes nothing.

    Raises:
        CspaceError: the table of projects or the persona's marker can not be read.
    """
    project = _projects(host).expected(host.project.common_directory, host.project.id)
    persona = Personas(curated_memory(host.user), host.owner).active()
    scopes = [Scope(Kind.GLOBAL), Scope(Kind.USER), Scope(Kind.PROJECT, project)]
    scopes += [Scope(Kind.PERSONA, persona)] if persona else []
    return tuple(map(str, scopes))


def ensure_curated(host: Host, name: str) -> None:
    """Claim the project's name, and make what is mounted of curated memory, with its owner.

    Raises:
        CspaceError: a link or a file is in the way.
    """
    _projects(host).claim(host.project.common_directory, host.project.id)
    paths, owner = host.paths(name), host.owner
    files.ensure_directory(paths.curated, owner=owner, mode=0o700)
    for each in (*concerned_scopes(host), REJECTED):
        beneath.ensure_directory(paths.curated, PurePosixPath(each), owner=owner)
    files.ensure_directory(paths.outbox.parent, owner=owner, mode=0o700)
    beneath.ensure_directory(paths.outbox.parent, PurePosixPath(paths.outbox.name), owner=owner)


def _projects(host: Host) -> Projects:
    return Projects(curated_memory(host.user), host.owner, host.report)


def forget_outbox(paths: InstancePaths) -> None:
    """Remove an outbox in which nothing lies."""
    for place in (paths.outbox, paths.outbox.parent):
        with contextlib.suppress(OSError):
            place.rmdir()
