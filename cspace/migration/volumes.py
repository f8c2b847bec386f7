"""Legacy volumes as sources."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from cspace import beneath
from cspace.alive import is_alive, own_mark
from cspace.engine.model import Engine
from cspace.errors import CspaceError
from cspace.files import Owner
from cspace.migration.index import is_stub
from cspace.migration.legacy import memory_volumes
from cspace.migration.model import Source, Target
from cspace.paths import INDEX, MEMORY

SUFFIX = "legacy"
MIGRATE = "cspace memory migrate"
# Whose container it is, and of which process.
_READING = "dev.cspace.migration"
_PROCESS = "dev.cspace.migration.process"


def clear_readers(engine: Engine, user: Path) -> None:
    """Remove the containers through which a user read volumes in calls that were killed.

    They keep a volume from being removed.

    Args:
        user: `~/.cspace`.
    """
    for container in engine.list_containers({_READING: str(user)}):
        if not is_alive(container.labels.get(_PROCESS, "")):
            engine.remove(container)


def volume_source(engine: Engine, user: Path, volume: str) -> Source:
    """Return a volume as a source."""

    @contextlib.contextmanager
    def opened() -> Iterator[BinaryIO]:
        clear_readers(engine, user)
        labels = {_READING: str(user), _PROCESS: own_mark()}
        with engine.open_volume(volume, labels=labels) as stream:
            yield stream

    return Source(f"volume {volume}", SUFFIX, opened)


def find_memory_volume(engine: Engine, directory: str) -> str | None:
    """Find the volume of a project's memory by the name of the project's directory.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    there = {volume.name for volume in engine.list_volumes()}
    return next((name for name in memory_volumes(directory) if name in there), None)


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


def memory_target(root: Path, owner: Owner) -> Target:
    """Return a project's memory as the target of a memory's volume: each file keeps its path."""
    return Target(root, PurePosixPath(MEMORY), owner, lambda path: path)
