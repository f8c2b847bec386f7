"""Proposals of one memory root, in an empty home."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace.memory.proposals import Proposals
from cspace.memory.store import MemoryStore
from tests.conftest import Clock


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Return a `~/.cspace` that does not exist yet."""
    return tmp_path / ".cspace"


@pytest.fixture
def proposals(user: Path, clock: Clock) -> Proposals:
    user.mkdir()
    return Proposals(MemoryStore(user / "memory", by="person", now=clock))
