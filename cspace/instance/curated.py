"""The curated memory that an instance sees, and the outbox for what its agent proposes."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from cspace.engine.model import Container, Mount
from cspace.instance import labels
from cspace.paths import INSIDE, InstancePaths

# One empty file for each text that a person refused, named by its hash.
REJECTED = ".rejected"
_SCOPE = re.compile(r"global|user|(?:projects|personas)/[a-z0-9][a-z0-9-]*", re.ASCII)
_VARIABLES = {"projects": "CSPACE_MEMORY_PROJECT", "personas": "CSPACE_PERSONA"}


def curated_mounts(paths: InstancePaths, scopes: Sequence[str]) -> tuple[Mount, ...]:
    """List what an instance mounts of these scopes: memories to read, an outbox to write to.

    Each directory by itself: what lies beside them is another project's or another persona's.

    Args:
        scopes: as `user`, `projects/web`; none for a container that an earlier cspace made.
    """
    if not scopes:
        return ()
    seen = (
        Mount(paths.curated / each, f"{INSIDE.curated}/{each}", read_only=True)
        for each in (*scopes, REJECTED)
    )
    return (*seen, Mount(paths.outbox, INSIDE.outbox))


def variables_of(scopes: Sequence[str]) -> dict[str, str]:
    """Return the variables that tell programs inside which project and persona is theirs."""
    named = (each.partition("/") for each in scopes)
    return {_VARIABLES[kind]: name for kind, _, name in named if kind in _VARIABLES}


def told_by_mounts(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment with an instance's own variables, where a client passed none of it on.

    On a host the environment as it is.
    """
    if environ.get("CSPACE_INSTANCE") or not os.path.ismount(INSIDE.outbox):
        return environ
    seen = (
        f"{kind}/{name}"
        for kind in _VARIABLES
        if (place := Path(INSIDE.curated, kind)).is_dir()
        for name in sorted(each.name for each in place.iterdir())[:1]
    )
    return {**environ, "CSPACE_INSTANCE": socket.gethostname(), **variables_of(tuple(seen))}


def mounted_scopes(container: Container | None) -> tuple[str, ...]:
    """Return the scopes that a container was made with, by its label."""
    said = container.labels.get(labels.SCOPES, "") if container else ""
    return tuple(each for each in said.split() if _SCOPE.fullmatch(each))
