"""Brings a project's memory home from a legacy volume, and finds the volumes that may hold one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.engine.model import Engine
from cspace.errors import CspaceError, NotFound
from cspace.lifecycle.bring_home import Brought, Home, bring
from cspace.migration.index import INDEX, is_stub
from cspace.migration.legacy import is_memory_of, memory_volumes
from cspace.migration.model import Policy
from cspace.migration.volumes import clear_readers, find_memory_volume, memory_target, volume_source
from cspace.paths import MEMORY

LIST = "cspace memory migrate --list"
MIGRATE = "cspace memory migrate"


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
    hint = f"cspace memory migrate --volume {shlex.quote(alike[0])}" if len(alike) == 1 else LIST
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


def find_forgotten(engine: Engine, root: Path) -> str | None:
    """Find the legacy volume of a project whose memory holds nothing yet; one call at most.

    What keeps us from looking is no news for a person who wants something else.
    """
    try:
        if not _is_empty(root):
            return None
        return find_memory_volume(engine, root.name)
    except (CspaceError, OSError):
        return None


def _is_empty(root: Path) -> bool:
    try:
        with beneath.pinned(root, PurePosixPath(MEMORY)) as memory:
            if {path.name for path in memory.iterdir()} - {INDEX.name}:
                return False
            return is_stub(beneath.read_file(memory, INDEX))
    except FileNotFoundError:
        return True
