"""Takes over what instances proposed: joins their outboxes with the table of projects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cspace.memory.outbox import Ingested, ingest
from cspace.memory.projects import Known, Projects
from cspace.memory.proposals import Proposals
from cspace.project import project_id


def take_over_proposals(user: Path, proposals: Proposals) -> Ingested:
    """Let what all instances of this user proposed wait for a person; see `ingest`.

    Raises:
        CspaceError: the table of projects can not be read, or the proposals are locked.
    """
    projects, names = Projects(proposals.store.root), dict[str, str]()

    def name_of(wanted: str) -> str | None:
        claimed = projects.name_of_id(wanted)
        if claimed is None and not names:
            names.update((id_, one.name) for one in projects.list() for id_ in _ids(one))
        return claimed or names.get(wanted)

    return ingest(user, proposals, name_of)


def _ids(known: Known) -> Iterator[str]:
    """Give the id of a repository's project: that of its main worktree, or of a bare one itself."""
    if known.directory is not None:
        main = known.directory.parent if known.directory.name == ".git" else known.directory
        yield project_id(main)
