"""`cspace notes recall`: finds memories of commits, by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.notes_elsewhere import describe_empty
from cspace.cli.notes_options import (
    Namespaces,
    Since,
    Spec,
    Status,
    Tags,
    check_since,
    check_status,
    get_namespaces,
    path_in,
)
from cspace.cli.notes_show import count_memories, files_of, plain_memory, show_files, show_memory
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import NotFound

if TYPE_CHECKING:
    from cspace.index.embedder import Embedder, Missing
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
    from cspace.notes.question import DEFAULT_LIMIT, Question  # noqa: PLC0415  only what it needs

    deps: Deps = context.obj
    catalog, embedder = deps.notes_catalog(), deps.embedder()
    top = catalog.store.repository
    question = Question(
        " ".join(query),
        namespaces=get_namespaces(namespace),
        spec=spec,
        tags=tuple(tags or ()),
        file=path_in(top, reviewed),
        path=path_in(top, file),
        author=author,
        since=check_since(since),
        status=check_status(status),
        limit=limit or DEFAULT_LIMIT,
    )
    found = catalog.recall(question, embedder)
    then = files_of(top, (hit.memory for hit in found.hits)) if files else ()
    if as_json:
        hits = [_plain(hit, body=full or files) for hit in found.hits]
        told = {"files": then} if files else {}
        render.show_json(mode=found.mode, reason=found.reason, hits=hits, **told)
    else:
        _show(found, whole=full or files)
        show_files(then)
    _say_how(found, embedder)
    if not found.hits:
        raise NotFound(
            f"nothing here is about {question.query!r}",
            hint="other words, or fewer filters; what there is: cspace notes list"
            if catalog.store.tips()
            else describe_empty(catalog.store),
        )


def _plain(hit: Recollection, *, body: bool) -> dict[str, object]:
    return plain_memory(hit.memory, body=body) | {"score": hit.score, "why": hit.why}


def _show(found: Recalled, *, whole: bool) -> None:
    for number, hit in enumerate(found.hits):
        if whole:
            show_memory(hit.memory, first=number == 0)
        else:
            day = render.day(hit.memory.record.timestamp)
            render.show_lines([f"{hit.memory.reference}  {hit.memory.record.summary}"])
            render.show_lines([f"    {day}, {', '.join(_reasons(hit))}"])


def _reasons(hit: Recollection) -> Iterator[str]:
    """Say why a memory was found."""
    if hit.memory.status:
        yield hit.memory.status
    yield f"score {hit.score:.2f}"
    if hit.why.words:
        yield f"{' '.join(hit.why.words)} in {' and '.join(hit.why.fields)}"
    if hit.why.nearness is not None:
        yield f"meaning {hit.why.nearness:.2f}"


def _say_how(found: Recalled, embedder: Embedder | Missing) -> None:
    """Say whether meaning was looked at, and if not why."""
    if found.mode == "lexical":
        render.note(f"by words only: {found.reason}")
        render.note(f"hint: {getattr(embedder, 'hint', 'cspace notes reindex')}")
    else:
        render.note("by words and by meaning")
    if found.mode == "hybrid" and found.without_vector:
        many = count_memories(found.without_vector)
        render.note(f"{many} by words only until they are embedded: cspace notes reindex")
