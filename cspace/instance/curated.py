"""The curated memory that an instance sees, and the outbox for what its agent proposes."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def mounted_scopes(container: Container | None) -> tuple[str, ...]:
    """Return the scopes that a container was made with, by its label."""
    said = container.labels.get(labels.SCOPES, "") if container else ""
    return tuple(each for each in said.split() if _SCOPE.fullmatch(each))
