"""Opens the context of a project: on the host, or inside an instance."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from pathlib import Path

from cspace import git
from cspace.context.journal import FileJournal
from cspace.context.place import store_root
from cspace.context.records import Origin
from cspace.context.store import ContextStore, check_root
from cspace.errors import CspaceError
from cspace.events import Report
from cspace.owner import find_owner
from cspace.paths import INSIDE, user_directory
from cspace.project import beyond_agents, refuse_instance
from cspace.quarantine.shelf import sweep


def open_context(
    root: Path, environ: Mapping[str, str], report: Report, *, sweeps: bool = True
) -> ContextStore:
    """Return the store of a project, signing with the instance's or the user's name.

    A linked worktree has no brain of its own: its main worktree's is opened. On a host, what could
    run or redirect there is moved aside first, and reported.

    Args:
        sweeps: False for what only looks: then nothing is moved.

    Raises:
        NotFound: root is not a directory.
    """
    project = root.absolute()
    check_root(project)
    root = store_root(project)
    user = _user() or Origin().author
    # Clients pass on as much of the environment as they like; the host's name is the instance's.
    instance = environ.get("CSPACE_INSTANCE") or (socket.gethostname() if root != project else None)
    origin = Origin(instance or user, instance, lambda: _head(project))
    if instance is not None:
        return ContextStore(root, origin, find_owner(), journal=_instance_journal())
    root, journal = _on_host(project)
    if sweeps:
        sweep(root, find_owner(), report)
    return ContextStore(root, origin, find_owner(), journal=journal)


def _instance_journal() -> FileJournal | None:
    """Return the instance's journal; one that an earlier version made has none."""
    directory = Path(INSIDE.journal)
    return FileJournal(directory, socket.gethostname()) if os.path.ismount(directory) else None


def _on_host(project: Path) -> tuple[Path, FileJournal | None]:
    """Return the root that holds the context, and the journal of its repository where there is one.

    Asks git once; in a linked worktree more often.
    """
    try:
        refuse_instance(project, user_directory(Path.home()))
        worktree = git.find_worktree(beyond_agents(project))
        if worktree is None:
            return project, None
        journal = FileJournal(worktree.common_directory / "cspace", "cspace on the host")
        if worktree.git_directory == worktree.common_directory:
            # Of a directory below a project nothing is recorded, so nothing needs a journal.
            whole = worktree.top.resolve() == project.resolve()
            return project, journal if whole else None
        main = git.main_worktree(worktree)
        return (main.resolve(), journal) if main is not None else (project, None)
    except (CspaceError, RuntimeError):  # no git here, or no home
        return project, None


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without an account
        return None


def _head(root: Path) -> str | None:
    try:
        refuse_instance(root, user_directory(Path.home()))
        return git.resolve(beyond_agents(root), "HEAD")
    except (CspaceError, RuntimeError):  # no git here, or no home: the record does without
        return None
