"""A memory as Claude Code writes it, in a project of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.claude_memory.place import Place, project_place
from tests.conftest import Clock

ROLE = """\
---
name: role
description: "Who the user is: a pilot"
metadata:
  node_type: memory
  type: user
  modified: 2026-02-26T10:30:00.500Z
  originSessionId: ae7e3662
---

The user flies at night.
"""
RELEASE = """\
---
name: release-process
description: How releases are made
type: project
---
Tag first. **Why:** the build reads the tag.
"""
INDEX = "- [Role](role.md) — flying\n- [Release process](./deep/release%20process.md) — tags\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return project_place(tmp_path / "project")


@pytest.fixture
def filled(place: Place, clock: Clock) -> Place:
    """Return a memory with an index and two files, the second of three days ago."""
    put(place, "MEMORY.md", INDEX)
    put(place, "role.md", ROLE)
    path = put(place, "deep/release process.md", RELEASE)
    then = clock().timestamp() - 3 * 86_400
    os.utime(path, (then, then))
    return place


def put(place: Place, name: str, content: str | bytes) -> Path:
    path = place.directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
