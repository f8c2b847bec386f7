"""`cspace context-server`: the context of one project for models, over stdio."""

from __future__ import annotations

import gc
import getpass
import os
import socket
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace import git
from cspace.cli.render import progress
from cspace.errors import CspaceError
from cspace.owner import find_owner
from cspace.paths import INSIDE, user_directory
from cspace.project import beyond_agents, refuse_instance

if TYPE_CHECKING:  # the store loads YAML, which only this command should pay for
    from cspace.context.store import ContextStore


def context_server(
    root: Annotated[
        Path | None,
        typer.Option(
            help="The project's directory; $CLAUDE_PROJECT_DIR or the current one by default."
        ),
    ] = None,
) -> None:
    """Serve the project's context to a model.

    Over stdin and stdout, until stdin ends.

    Example: cspace context-server --root .
    """
    store = open_store(root or Path(os.environ.get("CLAUDE_PROJECT_DIR") or "."))
    # mcp costs half a second, which no other command should pay.
    from cspace.mcp import context_server as server  # noqa: PLC0415

    gc.enable()  # off for short commands
    server.build(store, version=_version()).run("stdio")


def open_store(root: Path) -> ContextStore:
    """Return the store of a project, signing with the instance's or the user's name.

    Raises:
        NotFound: root is not a directory.
    """
    from cspace.context.records import Origin  # noqa: PLC0415  as above
    from cspace.context.store import ContextStore  # noqa: PLC0415
    from cspace.quarantine.shelf import sweep  # noqa: PLC0415

    project = root.absolute()
    root = _store_root(project)
    user = _user() or Origin().author
    # Clients pass on as much of the environment as they like; the host's name is the instance's.
    instance = os.environ.get("CSPACE_INSTANCE") or (
        socket.gethostname() if root != project else None
    )
    origin = Origin(instance or user, instance, lambda: _head(project))
    store = ContextStore(root, origin, find_owner())
    store.check_root()
    if instance is None:
        sweep(root, find_owner(), progress)
    return store


def _store_root(root: Path) -> Path:
    """Return the root that really holds the context: beside the workspace, inside an instance.

    There `/workspace/.cspace/context` is a link, which the store would rightly refuse to follow.
    """
    store = Path(INSIDE.context_store)
    if root == Path(INSIDE.workspace) and os.path.ismount(store):
        return store.parent.parent
    return root


def _version() -> str:
    try:
        return metadata.version("cspace")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "checkout"


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
