"""What git is asked on the host, beyond what the features' own tests show."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace import git, git_objects, proc
from cspace.errors import CommandFailed, CspaceError


def test_a_file_of_a_commit_is_read_up_to_a_limit(repo: Path) -> None:
    size = len(b"# Sample\n")
    assert git_objects.read_file(repo, "HEAD", "README.md", limit=size) == b"# Sample\n"
    with pytest.raises(CspaceError, match=rf"README\.md in HEAD has {size} bytes"):
        git_objects.read_file(repo, "HEAD", "README.md", limit=size - 1)
    with pytest.raises(CommandFailed, match="missing"):
        git_objects.read_file(repo, "HEAD", "missing", limit=size)


def test_how_remotes_are_pushed_is_read_with_order_and_any_name(repo: Path) -> None:
    assert git.push_settings(repo) == ()
    for key, value in (
        ("remote.b.push", "refs/heads/*"),
        ("remote.b.push", "^refs/heads/x"),
        ("remote.a b.c.mirror", "on"),
        ("remote.off.mirror", "0"),
        ("remote.none.url", "x"),
    ):
        proc.run("git", "-C", repo, "config", "--add", key, value, ok=(0, 1))
    assert git.push_settings(repo) == (
        git.PushSetting("a b.c", mirror=True, refspecs=()),
        git.PushSetting("b", mirror=False, refspecs=("refs/heads/*", "^refs/heads/x")),
        git.PushSetting("off", mirror=False, refspecs=()),
    )
