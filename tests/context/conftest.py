"""A store below an empty project, with a clock that the test moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace.context.records import Origin
from cspace.context.store import ContextStore
from tests.conftest import Clock


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def store(root: Path, clock: Clock) -> ContextStore:
    return ContextStore(root, Origin(author="ann"), clock=clock)
