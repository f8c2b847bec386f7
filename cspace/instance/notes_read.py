"""Reads the commit notes that came out of a workspace, which an agent may have written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from cspace import git_import
from cspace.errors import CspaceError
from cspace.git_foreign_notes import iter_notes
from cspace.instance.notes_merge import NOTES
from cspace.instance.work_view import Commit


def read_notes(
    repository: Path, commits: Iterable[Commit], notes: Mapping[str, str]
) -> tuple[Commit, ...]:
    """Return commits with their notes, by namespace; what can not be notes is left out."""
    by_commit: dict[str, dict[str, str]] = {one.id: {} for one in commits}
    for ref, tip in notes.items():
        with contextlib.suppress(CspaceError):
            for one, blob in list(iter_notes(repository, tip)):
                if one in by_commit:
                    by_commit[one][ref.removeprefix(f"{NOTES}/")] = blob
    with git_import.blob_reader(repository) as blobs:
        return tuple(
            replace(
                commit,
                notes={
                    name: (blobs.read(blob) or b"").decode("utf-8", "replace").rstrip("\n")
                    for name, blob in by_commit[commit.id].items()
                },
            )
            for commit in commits
        )
