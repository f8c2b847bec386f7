"""`cspace context-server`: the context of one project for models, over stdio."""

from __future__ import annotations

import gc
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from cspace.deps import Deps


def context_server(
    context: typer.Context,
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
    deps: Deps = context.obj
    store = deps.open_context(root)
    # mcp costs half a second, which no other command should pay.
    from cspace.mcp import context_server as server  # noqa: PLC0415

    gc.enable()  # off for short commands
    server.build(store, version=_version()).run("stdio")


def _version() -> str:
    try:
        return metadata.version("cspace")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "checkout"
