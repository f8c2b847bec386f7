"""What a project is: the real path of a repository's main worktree."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from cspace import git
from cspace.errors import UsageError

SLUG_LENGTH = 30


@dataclass(frozen=True, slots=True)
class Project:
    """A repository that instances are made of.

    Attributes:
        id: `<slug>-<8 hex of the path's hash>`; two clones of one repository differ.
        root: the main worktree; it holds `.cspace/` for all linked worktrees.
        worktree: where the user stands; its HEAD is the base of a new instance.
    """

    id: str
    root: Path
    worktree: Path


def project_id(root: Path) -> str:
    """Name a project by its directory and the hash of its path."""
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:SLUG_LENGTH].strip("-")
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{slug or 'project'}-{digest}"


def find_project(start: Path) -> Project:
    """Find the project that start lies in.

    Raises:
        UsageError: start is not inside a work tree of a git repository.
        CommandFailed: git refuses to read it.
    """
    worktree = git.find_worktree(start)
    if worktree is None:
        raise UsageError(
            f"{start} is not inside a git repository",
            hint="cd into your project, or make one: git init && git commit --allow-empty -m start",
        )
    main = git.main_worktree(worktree)
    if main is None:
        raise UsageError(
            f"{worktree.top} is a worktree of a bare repository: .cspace/ needs a main worktree",
            hint=f"work in a clone: git clone {worktree.common_directory}",
        )
    root = main.resolve()
    return Project(project_id(root), root, worktree.top.resolve())
