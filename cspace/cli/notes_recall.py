"""`cspace notes recall`: finds memories of commits, by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.notes_options import (
    Namespaces,
    Since,
    Spec,
    Status,
    Tags,
    check_since,
    parse_namespaces,
    path_in,
)
from cspace.cli.notes_show import files_of, plain_memory, show_files, show_memory
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import NotFound

if TYPE_CHECKING:
    from cspace.notes.question import Recalled, Recollection


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(recall)


def recall(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="Words, or a sentence.")],
    *,
    namespace: Namespaces = None,
    spec: Spec = None,
    tags: Tags = None,
    file: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Only of commits that touched this file, or one in this directory."
        ),
    ] = None,
    reviewed: Annotated[
        str | None, typer.Option(metavar="PATH", help="Only review findings about this file.")
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Only of commits whose author's name or mail has this."),
    ] = None,
    since: Since = None,
    status: Status = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=100, metavar="N", help="At most this many [10].")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Each whole, with its body.")] = False,
    files: Annotated[
        bool, typer.Option("--files", help="Whole, and the files that the commits changed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find memories of commits, the best first.

    Filters hold before the best are chosen. By words and by meaning; by words only where there is
    no model, which is said. Where nothing is found the exit code is 3.

    Examples: cspace notes recall why redis · cspace notes recall "token expiry" --file src/auth
    """
    from cspace.index.embedder import Missing  # noqa: PLC0415  only what it is needed for
    from cspace.notes.question import DEFAULT_LIMIT, Question  # noqa: PLC0415  as above

    deps: Deps = context.obj
    catalog, embedder = deps.notes_catalog(), deps.embedder()
    top = catalog.store.repository
    question = Question(
        " ".join(query),
        namespaces=parse_namespaces(namespace),
        spec=spec,
        tags=tuple(tags or ()),
        file=path_in(top, reviewed),
        path=path_in(top, file),
        author=author,
        since=check_since(since),
        status=status,
        limit=limit or DEFAULT_LIMIT,
    )
    missing = embedder if isinstance(embedder, Missing) else None
    found = catalog.recall(question, None if isinstance(embedder, Missing) else embedder)
    ...
