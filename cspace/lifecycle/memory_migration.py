"""Brings a project's memory home from a legacy volume."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from cspace.engine.model import Engine
from cspace.errors import NotFound
from cspace.lifecycle.bring_home import Brought, Home, bring
from cspace.migration.legacy import is_memory_of, memory_volumes
from cspace.migration.model import Policy
from cspace.migration.volumes import MIGRATE, clear_readers, memory_target, volume_source

LIST = f"{MIGRATE} --list"


@dataclass(frozen=True, slots=True)
class Migrated:
    """What came of one volume.

    Attributes:
        removal: the command that removes the volume; None while it is needed, or used.
        users: the containers that use the volume, or did when it was going to be read.
    """

    volume: str
    brought: Brought
    removal: str | None
    users: tuple[str, ...]


def get_volume(engine: Engine, directory: str, volume: str | None) -> str:
    """Return the volume that a person named, or the one of the project's name.

    Raises:
        NotFound: there is none; says which others could be meant.
    """
    there = {each.name for each in engine.list_volumes()}
    wanted = (volume,) if volume is not None else memory_volumes(directory)
    found = next((name for name in wanted if name in there), None)
    if found is not None:
        return found
    alike = [] if volume else sorted(name for name in there if is_memory_of(name, directory))
    hint = f"{MIGRATE} --volume {shlex.quote(alike[0])}" if len(alike) == 1 else LIST
    raise NotFound(f"there is no volume {wanted[0]!r}: nothing to migrate", hint=hint)


def migrate(
    engine: Engine, home: Home, volume: str | None, policy: Policy, *, dry_run: bool
) -> Migrated:
    """Copy a legacy volume into the project's memory; the volume stays as it is.

    Args:
        volume: its name; the one that is named after the project by default.

    Raises:
        NotFound: there is no such volume.
        EngineUnavailable: the engine does not answer, which is never "nothing to migrate".
    """
    name = get_volume(engine, home.project.root.name, volume)
    if not dry_run:
        home.sweep()
    source = volume_source(engine, home.user, name)
    target = memory_target(home.project.root, home.owner)
    # One that is gone at the end may have written after the volume was read.
    users = _list_users(engine, name)
    brought = bring(source, target, policy, home.report, dry_run=dry_run)
    users |= _list_users(engine, name)
    removal = None
    if brought.dispensable and not users:
        # What a killed call left of its reading would hold the volume.
        clear_readers(engine, home.user)
        removal = f"docker volume rm {shlex.quote(name)}"
    return Migrated(name, brought, removal, tuple(sorted(users)))


def _list_users(engine: Engine, volume: str) -> set[str]:
    return {container.name for container in engine.volume_users(volume)}
