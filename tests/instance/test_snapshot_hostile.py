"""A workspace's own configuration neither runs nor changes what is packed.

Each test first shows that the plant works against plain git.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CommandFailed
from cspace.instance.snapshot_manifest import Carried, LeftOut
from cspace.instance.snapshot_pack import BUNDLE
from tests.instance.snapshot_trees import (
    git,
    manifest_of,
    pack,
    plant_index_bomb,
    plant_tree_bomb,
    there_and_back,
)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """Return a program that passes its input on and leaves the file `sprung` beside itself."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexec cat\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def springs(trap: Path) -> bool:
    """Tell whether the trap has sprung since the last time, and set it again."""
    mark = trap.with_name("sprung")
    sprung = mark.exists()
    mark.unlink(missing_ok=True)
    return sprung


def test_a_planted_filter_is_not_run(host: Path, workspace: Path, trap: Path) -> None:
    git(workspace, "config", "filter.evil.clean", str(trap))
    git(workspace, "config", "filter.evil.smudge", str(trap))
    git(workspace, "config", "filter.evil.required", "true")
    (workspace / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    (workspace / "file.txt").write_text("content\n", encoding="utf-8")
    git(workspace, "add", "file.txt")
    assert springs(trap)
    before, after = there_and_back(host, workspace)
    assert not springs(trap)
    assert after == before


def test_a_planted_fsmonitor_is_not_run(host: Path, workspace: Path, trap: Path) -> None:
    git(workspace, "config", "core.fsmonitor", str(trap))
    git(workspace, "status", "--porcelain")
    assert springs(trap)
    before, after = there_and_back(host, workspace)
    assert not springs(trap)
    assert after == before


def test_planted_hooks_are_not_run(host: Path, workspace: Path, trap: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "workspace/hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc"):
        for place in (hooks, workspace / ".git/hooks"):
            place.mkdir(exist_ok=True)
            (place / name).write_bytes(trap.read_bytes())
            (place / name).chmod(0o755)
    git(workspace, "tag", "from-hooks")
    assert springs(trap)
    git(workspace, "config", "core.hooksPath", "hooks")
    git(workspace, "tag", "from-hooks-path")
    assert springs(trap)
    before, after = there_and_back(host, workspace)
    assert not springs(trap)
    assert after == before


def test_core_worktree_hazard_it_does_not_lead_the_archive_elsewhere(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "private.txt").write_text("private", encoding="utf-8")
    git(workspace, "config", "core.worktree", str(elsewhere))
    assert "private.txt" in git(workspace, "status", "--porcelain")
    before, after = there_and_back(host, workspace)
    assert b"private.txt" not in after
    assert after == before


def test_planted_includes_aliases_and_line_endings_change_nothing(
    host: Path, workspace: Path, trap: Path
) -> None:
    (workspace / "more.config").write_text(f"[core]\n\tfsmonitor = {trap}\n", encoding="utf-8")
    git(workspace, "config", "include.path", str(workspace / "more.config"))
    git(workspace, "config", "alias.cat-file", f"!{trap}")
    git(workspace, "config", "core.autocrlf", "true")
    (workspace / "unix.txt").write_bytes(b"a\nb\n")
    (workspace / "dos.txt").write_bytes(b"a\r\nb\r\n")
    git(workspace, "status", "--porcelain")
    assert springs(trap)
    before, after = there_and_back(host, workspace)
    assert not springs(trap)
    assert (after[b"unix.txt"][3], after[b"dos.txt"][3]) == (b"a\nb\n", b"a\r\nb\r\n")
    assert after == before


def test_a_planted_replacement_does_not_change_what_is_archived(
    host: Path, workspace: Path
) -> None:
    first = git(workspace, "rev-parse", "HEAD")
    git(workspace, "replace", "HEAD", "HEAD~1")
    assert git(workspace, "show", "-s", "--format=%s", "HEAD") == "Add .gitignore"
    before, after = there_and_back(host, workspace)
    assert after == before
    kept = git(workspace, "--no-replace-objects", "show", "-s", "--format=%s", first)
    assert kept == "Add src/main.py"


def test_a_link_to_a_directory_outside_is_a_link_and_is_not_followed(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("private", encoding="utf-8")
    (workspace / "link").symlink_to(outside)
    assert (workspace / "link/private.txt").exists()
    before, after = there_and_back(host, workspace)
    assert after[b"link"][0] == "l"
    assert b"link/private.txt" not in after
    assert after == before
    assert (outside / "private.txt").exists()


@pytest.mark.parametrize("worktree", [".", "linked"])
def test_a_tree_that_holds_itself_billions_of_times_ends_no_packing(
    host: Path, workspace: Path, worktree: str
) -> None:
    git(workspace, "worktree", "add", "--quiet", "--detach", "linked")
    plant_tree_bomb(workspace, git(workspace / worktree, "rev-parse", "--git-path", "HEAD"))
    with pytest.raises(CommandFailed, match="no answer within"):
        proc.run("git", "-C", workspace / worktree, "ls-tree", "-r", "HEAD", timeout=0.5)
    before, after = there_and_back(host, workspace)
    assert after == before


def test_an_index_that_folds_billions_of_paths_ends_no_packing(host: Path, workspace: Path) -> None:
    plant_index_bomb(workspace)
    with pytest.raises(CommandFailed, match="no answer within"):
        proc.run("git", "-C", workspace, "ls-files", "--stage", timeout=0.5)
    before, after = there_and_back(host, workspace)
    assert after == before


@pytest.mark.parametrize("name", ["config", "objects/info/alternates", "index"])
def test_a_fifo_in_the_git_directory_holds_up_no_archive(
    host: Path, workspace: Path, tmp_path: Path, name: str
) -> None:
    (workspace / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(workspace / ".git" / name)
    pack(workspace, tmp_path / "exchange")
    manifest = manifest_of(tmp_path / "exchange" / BUNDLE, host)
    assert manifest.repositories[0].carried is Carried.FILES
    assert "is a FIFO" in manifest.problems[0].reason


def test_a_fifo_for_an_ignore_file_holds_up_no_archive(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "a.log").write_text("ignored", encoding="utf-8")
    os.mkfifo(workspace / "src/.gitignore")
    pack(workspace, tmp_path / "exchange")
    manifest = manifest_of(tmp_path / "exchange" / BUNDLE, host)
    assert manifest.left_out == (LeftOut(b"src/.gitignore", 0, "a FIFO"),)
    assert {b"a.log", b"src/main.py"} <= {entry.path for entry in manifest.entries}
