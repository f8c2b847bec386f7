"""What an agent can plant in a directory that the host uses too."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from cspace import proc


def plant_repository(directory: Path, canary: Path) -> None:
    """Make `.git` in a directory whose settings touch canary when git looks at its work tree."""
    proc.run("git", "init", "--quiet", directory)
    touch = f"touch {shlex.quote(str(canary))}; false"
    proc.run("git", "-C", directory, "config", "core.fsmonitor", touch)


def plant_bare_repository(directory: Path, canary: Path) -> None:
    """Make a directory itself a repository, with a work tree and the same settings."""
    plant_repository(directory, canary)
    for path in (directory / ".git").iterdir():
        path.rename(directory / path.name)
    (directory / ".git").rmdir()
    proc.run("git", "config", "--file", directory / "config", "core.worktree", directory)


def plant_worktree(directory: Path, common: Path, canary: Path) -> None:
    """Make a directory the git directory of a worktree, whose repository is common."""
    plant_repository(common, canary)
    for path in (common / ".git").iterdir():
        path.rename(common / path.name)
    (common / ".git").rmdir()
    (common / "HEAD").rename(directory / "HEAD")
    (directory / "commondir").write_text(f"{common.name}\n", encoding="utf-8")
    for file, key, value in (
        ("config", "core.repositoryformatversion", "1"),
        ("config", "extensions.worktreeConfig", "true"),
        ("config.worktree", "core.worktree", str(directory)),
    ):
        place = common if file == "config" else directory
        proc.run("git", "config", "--file", place / file, key, value)


def status_runs(directory: Path, canary: Path) -> bool:
    """Tell whether plain `git status` in a directory touches the canary."""
    canary.unlink(missing_ok=True)
    words = ["git", "-C", str(directory), "status"]
    subprocess.run(words, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return canary.exists()


def nest(directory: Path, depth: int) -> None:
    """Make directories in each other, deeper than any path can name, with a link at the end."""
    deepest = os.open(directory, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=deepest)
        deeper = os.open("d", os.O_RDONLY, dir_fd=deepest)
        os.close(deepest)
        deepest = deeper
    os.symlink("/etc", "link", dir_fd=deepest)
    os.close(deepest)
