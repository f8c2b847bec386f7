"""A project, and a function that archives a workspace of it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from cspace.instance.archive import Archive
from cspace.instance.exchange import Place
from cspace.project import Project, find_project
from tests.conftest import Clock
from tests.instance.snapshot_trees import archive_now, clone, isolated, make_host, place
from tests.lifecycle.brain import Brain


class Keep(Protocol):
    """Archives the workspace, a minute after the last archive."""

    def __call__(self, name: str = "mercury") -> Archive: ...


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return find_project(make_host(tmp_path))


@pytest.fixture
def workspace(project: Project, tmp_path: Path) -> Path:
    return clone(project.root, tmp_path / "workspace")


@pytest.fixture
def keep(project: Project, workspace: Path, tmp_path: Path, clock: Clock) -> Keep:
    def archived(name: str = "mercury") -> Archive:
        clock.advance(minutes=1)
        where = place(tmp_path, workspace)
        whose = Place(name, where.workspace, where.exchange, where.owner)
        return archive_now(project.root, whose, isolated, clock)

    return archived


@pytest.fixture
def brain(repo: Path, home: Path, clock: Clock) -> Brain:
    made = Brain(repo, home / ".cspace", clock)
    made.journal.mkdir(parents=True)
    return made
