"""Commit notes as git keeps them: one blob for each annotated object, below any fan-out.

As in `cspace.git`, nothing here is ever pointed at a workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path


def list_notes(repository: Path, tip: str) -> dict[str, str]:
    """Return the blob of each annotated object, whatever the fan-out.

    Args:
        tip: a notes commit, or a ref to one.
    """
    raise NotImplementedError


def changed_notes(repository: Path, old: str, new: str) -> dict[str, str | None]:
    """Return the objects whose notes differ between two notes commits, with their new blob.

    None stands for a note that is gone.
    """
    raise NotImplementedError


def read_notes(repository: Path, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each blob's id and bytes, in the order asked; one that is missing is left out."""
    raise NotImplementedError


def write_notes(
    repository: Path,
    ref: str,
    expected: str | None,
    changes: Mapping[str, bytes | None],
    at: datetime,
) -> str:
    """Move a notes ref from expected to a new commit with some notes changed, and return that.

    Args:
        expected: the commit that the ref is at; None where there is no such ref.
        changes: a note's new bytes by its object; None removes it.

    Raises:
        Conflict: the ref is somewhere else; nothing was changed.
        CommandFailed: git said no.
    """
    raise NotImplementedError
