"""What is written to a workspace while it is archived is noticed before anything is removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.errors import Conflict
from cspace.instance.archive import list_archives, load_manifest
from cspace.instance.unchanged import check_unchanged
from tests.conftest import Clock
from tests.instance.snapshot_trees import archive_now, followed_by, git, isolated, place


def swap(top: Path) -> None:
    (top / "src").rename(top.parent / "elsewhere")
    (top / "src").symlink_to(top.parent / "elsewhere")


CHANGES: dict[str, Callable[[Path], object]] = {
    "new file": lambda top: (top / "src/new").write_text("x"),
    "new file at the top": lambda top: (top / "new").write_text("x"),
    "written": lambda top: (top / "src/main.py").write_text("x"),
    "touched": lambda top: os.utime(top / "src/main.py"),
    "mode": lambda top: (top / "src/main.py").chmod(0o600),
    "gone": lambda top: (top / "src/main.py").unlink(),
    "link": lambda top: (top / "other").replace(top / "link"),
    "a link in place of a directory": swap,
    "commit": lambda top: git(top, "commit", "--quiet", "--allow-empty", "-m", "late"),
}


@pytest.fixture
def workspace(workspace: Path) -> Path:
    (workspace / "link").symlink_to("nowhere")
    (workspace / "other").symlink_to("src/main.py")
    return workspace


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_after_the_packing_is_a_conflict_and_leaves_no_archive(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock, change: Callable[[Path], object]
) -> None:
    late = followed_by(lambda _: change(workspace))
    with pytest.raises(Conflict, match="changed in the workspace after it was packed"):
        archive_now(host, place(tmp_path, workspace), late, clock)
    assert list_archives(host) == ()


def test_what_did_not_change_is_no_conflict(
    host: Path, workspace: Path, tmp_path: Path, clock: Clock
) -> None:
    archive = archive_now(host, place(tmp_path, workspace), isolated, clock)
    (workspace / "src/main.py").read_bytes()
    check_unchanged(workspace, load_manifest(host, archive))
