"""Legacy volumes as sources."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from cspace.engine.model import Engine
from cspace.files import Owner
from cspace.migration.legacy import memory_volumes
from cspace.migration.model import Source, Target
from cspace.paths import MEMORY

SUFFIX = "legacy"
_READING = "dev.cspace.migration"


def reading(user: Path, volume: str) -> dict[str, str]:
    """Return the label of the containers through which one user reads a volume.

    Args:
        user: `~/.cspace`.
    """
    return {_READING: f"{user}: {volume}"}


def volume_source(engine: Engine, user: Path, volume: str) -> Source:
    """Return a volume as a source."""
    marks = reading(user, volume)
    return Source(f"volume {volume}", SUFFIX, lambda: engine.open_volume(volume, labels=marks))


def find_memory_volume(engine: Engine, directory: str) -> str | None:
    """Find the volume of a project's memory by the name of the project's directory.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    there = {volume.name for volume in engine.list_volumes()}
    return next((name for name in memory_volumes(directory) if name in there), None)


def memory_target(root: Path, owner: Owner) -> Target:
    """Return a project's memory as the target of a memory's volume: each file keeps its path."""
    return Target(root, PurePosixPath(MEMORY), owner, lambda path: path)
