"""The orchestrator's own directory, which `adopt` links: the one link that is followed."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import MALFORMED, CspaceError
from cspace.files import Owner, write_atomic
from cspace.memory.scopes import Kind

ADOPTED = PurePosixPath(".adopted.json")


def record_adopted(root: Path, target: Path | None, owner: Owner | None = None) -> None:
    """Remember where the link of the orchestrator's scope leads; None for nowhere.

    Args:
        target: absolute.
    """
    text = json.dumps({Kind.ORCHESTRATOR: None if target is None else str(target)})
    write_atomic(root / ADOPTED, f"{text}\n", mode=0o600, owner=owner)


def find_adopted(root: Path) -> Path | None:
    """Return the directory that `adopt` recorded, None where it recorded none."""
    try:
        values = json.loads(beneath.read_file(root, ADOPTED))
        target = values[Kind.ORCHESTRATOR]
        return Path(target) if isinstance(target, str) and target.startswith("/") else None
    except (*MALFORMED, OSError, CspaceError):
        return None
