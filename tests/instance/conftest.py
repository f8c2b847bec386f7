"""A host's repository and a workspace that was cloned from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.instance.snapshot_trees import clone, make_host


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return make_host(tmp_path)


@pytest.fixture
def workspace(host: Path, tmp_path: Path) -> Path:
    return clone(host, tmp_path / "workspace")
