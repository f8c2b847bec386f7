"""What a project is: the real path of a repository's main worktree."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from cspace import git
from cspace.errors import UsageError
from cspace.paths import (
    FROM_AGENTS,
    outboxes_directory,
    projects_directory,
    sessions_directory,
)

SLUG_LENGTH = 30


@dataclass(frozen=True, slots=True)
class Project:
    """A repository that instances are made of.

    Attributes:
        id: `<slug>-<8 hex of the path's hash>`; two clones of one repository differ.
        root: the main worktree; it holds `.cspace/` for all linked worktrees.
        worktree: where the user stands; its HEAD is the base of a new instance.
        common_directory: what all worktrees share; by it curated memory knows the repository.
    """

    id: str
    root: Path
    worktree: Path
    common_directory: Path


@dataclass(frozen=True, slots=True)
class Repository:
    """All worktrees of one repository; a bare one's count too, though they are no project."""

    common_directory: Path
    worktree: git.Worktree = field(compare=False)

    @property
    def project_id(self) -> str:
        """The id of its project, by the main worktree; costs git where one stands in another."""
        main = git.main_worktree(self.worktree)
        return project_id(main.resolve() if main else self.common_directory)


def project_id(root: Path) -> str:
    """Name a project by its directory and the hash of its path."""
    import hashlib  # noqa: PLC0415  3 ms, which a hook has no need of

    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:SLUG_LENGTH].strip("-")
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{slug or 'project'}-{digest}"


def refuse_instance(start: Path, user: Path) -> None:
    """Refuse a directory in which git would meet a repository of an agent's.

    Args:
        user: `~/.cspace`.

    Raises:
        UsageError: start lies in an instance's workspace, or in what else an instance mounts.
    """
    places = (projects_directory(user), sessions_directory(user), outboxes_directory(user))
    if any(start.resolve().is_relative_to(place.resolve()) for place in places):
        raise UsageError(
            f"{start} belongs to an instance, whose git configuration is its agent's: cspace runs"
            " no git there",
            hint="cd into the project itself; for the workspace: cspace exec NAME -- git status",
        )


def refuse_agents(directory: Path, user: Path) -> None:
    """Refuse a directory that agents write to, an instance's or below a project's `.cspace`.

    Args:
        user: `~/.cspace`.

    Raises:
        UsageError: it is one.
    """
    refuse_instance(directory, user)
    if beyond_agents(directory.resolve()) != directory.resolve():
        raise UsageError(
            f"{directory} is written by agents: what lies there nobody has approved",
            hint="name a directory that only the orchestrator and you write to",
        )


def beyond_agents(start: Path) -> Path:
    """Return the directory above `.cspace` when start lies in what agents made below it.

    They may have planted a repository there; from anywhere else, start itself.
    """
    places = [directory.parts for directory in FROM_AGENTS]
    for place in (*reversed(start.resolve().parents), start.resolve()):
        if place.parts[-2:] in places:
            return place.parent.parent
    return start


def find_repository(start: Path) -> Repository | None:
    """Find the repository that start lies in, None outside of any.

    Args:
        start: outside of what agents made.

    Raises:
        CommandFailed: git refuses to read it.
    """
    worktree = git.find_worktree(beyond_agents(start))
    return Repository(worktree.common_directory.resolve(), worktree) if worktree else None


def find_project(start: Path) -> Project:
    """Find the project that start lies in.

    Raises:
        UsageError: start is not inside a work tree of a git repository.
        CommandFailed: git refuses to read it.
    """
    worktree = git.find_worktree(beyond_agents(start))
    if worktree is None:
        raise outside(start)
    main = git.main_worktree(worktree)
    if main is None:
        raise UsageError(
            f"{worktree.top} is a worktree of a bare repository: .cspace/ needs a main worktree",
            hint=f"work in a clone: git clone {worktree.common_directory}",
        )
    root = main.resolve()
    common = worktree.common_directory.resolve()
    return Project(project_id(root), root, worktree.top.resolve(), common)


def outside(start: Path) -> UsageError:
    """Return the error for a directory that is in no work tree of a repository."""
    return UsageError(
        f"{start} is not inside a git repository",
        hint="cd into your project, or make one: git init && git commit --allow-empty -m start",
    )
