"""Opens the context of a project: on the host, or inside an instance."""

from __future__ import annotations

import contextlib
import getpass
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from cspace import git
from cspace.context.place import store_root
from cspace.context.records import Origin
from cspace.context.store import ContextStore
from cspace.errors import CspaceError
from cspace.events import Report
from cspace.owner import find_owner
from cspace.paths import user_directory
from cspace.project import beyond_agents, refuse_instance
from cspace.quarantine.shelf import sweep


def open_context(
    root: Path, environ: Mapping[str, str], report: Report, *, sweeps: bool = True
) -> ContextStore:
    """Return the store of a project, signing with the instance's or the user's name.

    On a host, what could run or redirect there is moved aside first, and reported.

    Args:
        sweeps: False for what only looks: then nothing is moved.

    Raises:
        NotFound: root is not a directory.
    """
    project = root.absolute()
    root = store_root(project)
    user = _user() or Origin().author
    # Clients pass on as much of the environment as they like; the host's name is the instance's.
    instance = environ.get("CSPACE_INSTANCE") or (socket.gethostname() if root != project else None)
    origin = Origin(instance or user, instance, lambda: _head(project))
    store = ContextStore(root, origin, find_owner())
    store.check_root()
    if instance is None and sweeps:
        sweep(root, find_owner(), report)
    return store


@contextlib.contextmanager
def changing_context(
    root: Path, environ: Mapping[str, str], report: Report
) -> Iterator[ContextStore]:
    """Open the store for what a person changes there; errors as for `open_context`.

    Every command that writes records does it in such a block, so what has to follow a change on a
    host has its one place here.
    """
    yield open_context(root, environ, report)


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
