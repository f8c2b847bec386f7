"""A project with shared directories, and what a sweep of it says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.events import Event
from cspace.files import Owner
from cspace.lifecycle.init import init_project
from cspace.quarantine.shelf import Quarantined, sweep
from tests.conftest import Clock

OWNER = Owner(os.geteuid(), os.getegid())
Sweep = Callable[[], tuple[Quarantined, ...]]


@pytest.fixture
def project(repo: Path) -> Path:
    init_project(repo, OWNER)
    return repo


@pytest.fixture
def said() -> list[str]:
    """Collect what sweeps report."""
    return []


@pytest.fixture
def swept(project: Path, said: list[str], clock: Clock) -> Sweep:
    def report(event: Event) -> None:
        said.append(event.detail)

    return lambda: sweep(project, OWNER, report, now=clock)
