"""`cspace context-server`: a project's context, curated memory or commit notes, for models."""

from __future__ import annotations

import contextlib
import gc
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.paths import INSIDE

if TYPE_CHECKING:
    from cspace.context.store import ContextStore


class Toolset(StrEnum):
    """What is served."""

    CONTEXT = "context"
    MEMORY = "memory"
    NOTES = "notes"


Http = Annotated[
    bool, typer.Option("--http", help="Serve over HTTP, for agents that do not share these files.")
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="With --http: where; a free port of 127.0.0.1 by default.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --http: the bearer token that every request has to carry, in a private file.",
    ),
]


def context_server(  # noqa: PLR0913, PLR0917  the command's options, each given by name
    context: typer.Context,
    root: Annotated[
        Path | None,
        typer.Option(
            help="The project's directory; $CLAUDE_PROJECT_DIR or the current one by default."
        ),
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Who signs records; the instance or the user by default."
        ),
    ] = None,
    http: Http = False,  # noqa: FBT002  typer reads the default
    listen: Listen = None,
    token_file: TokenFile = None,
    as_json: AsJson = False,  # noqa: FBT002  see above
    toolset: Annotated[
        Toolset, typer.Option(help="Which tools: for context, curated memory or commit notes.")
    ] = Toolset.CONTEXT,
) -> None:
    """Serve context, memory or commit notes to a model.

    Over stdin and stdout, until stdin ends; with --http over HTTP, until it is stopped. With --http
    stdout says the address. Without a token only this machine can reach it. Memory and notes are
    served over stdin and stdout alone.

    Examples: cspace context-server --root . · cspace context-server --toolset memory
    """
    deps: Deps = context.obj
    if toolset is not Toolset.CONTEXT:
        if author or http or listen or token_file or as_json:
            raise UsageError(
                f"--toolset {toolset} takes no other option than --root",
                hint=f"cspace context-server --toolset {toolset}",
            )
        (_serve_memory if toolset is Toolset.MEMORY else _serve_notes)(deps, root)
        return
    store = _signed(deps.open_context(root), author)
    gc.enable()  # off for short commands
    if http:
        _serve_http(store, listen, token_file, as_json=as_json)
    elif listen or token_file or as_json:
        raise UsageError("--listen, --token-file and --json need --http", hint="add --http")
    else:
        # mcp costs half a second, which no other command should pay.
        from cspace.mcp import context_server as server  # noqa: PLC0415

        server.build(store, version=_version()).run("stdio")


def _serve_memory(deps: Deps, root: Path | None) -> None:
    from cspace.instance.curated import told_by_mounts  # noqa: PLC0415  see above
    from cspace.mcp import memory_server  # noqa: PLC0415
    from cspace.mcp.memory_caller import Caller  # noqa: PLC0415

    environ = told_by_mounts(deps.environ)
    place = deps.directory / (root or environ.get("CLAUDE_PROJECT_DIR") or "")
    stands = replace(deps, directory=place, environ=environ)
    outbox = Path(INSIDE.outbox) if stands.inside else None
    gc.enable()  # off for short commands
    caller = Caller(stands.memory(), stands.here, outbox)
    memory_server.build(caller, version=_version()).run("stdio")


def _serve_notes(deps: Deps, root: Path | None) -> None:
    from cspace.mcp import notes_server  # noqa: PLC0415  see above
    from cspace.mcp.notes_caller import NotesCaller  # noqa: PLC0415

    place = deps.directory / (root or deps.environ.get("CLAUDE_PROJECT_DIR") or "")
    gc.enable()  # off for short commands
    caller = NotesCaller(lambda: deps.notes_catalog(place), deps.embedder, place)
    with contextlib.closing(caller):
        notes_server.build(caller, version=_version()).run("stdio")


def _signed(store: ContextStore, author: str | None) -> ContextStore:
    from cspace.context.signing import signed_by  # noqa: PLC0415  loads YAML

    return signed_by(store, author) if author else store


def _serve_http(
    store: ContextStore, listen: str | None, token_file: Path | None, *, as_json: bool
) -> None:
    from cspace.context.signing import for_callers_elsewhere  # noqa: PLC0415  see above
    from cspace.mcp import context_server, http  # noqa: PLC0415  see above

    address = http.parse_address(listen or http.DEFAULT_ADDRESS)
    token = http.load_token(token_file) if token_file else None
    http.check_exposure(address, token)
    listening, taken = http.open_socket(address)
    store = for_callers_elsewhere(store)
    server = context_server.build(store, version=_version(), remote=True)
    application = http.application(server, taken, token)
    if token is None:
        render.note("note: no token: every program on this machine can read and write the context")
    if as_json:
        render.show_json(url=taken.url)
    else:
        render.show_lines([taken.url])
    http.serve(application, listening)


def _version() -> str:
    from importlib import metadata  # noqa: PLC0415  as much as all commands together

    try:
        return metadata.version("cspace")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "checkout"
