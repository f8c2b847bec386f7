"""`cspace notes list|show`: the memories of commits, as git keeps them."""

from __future__ import annotations

from typing import Annotated

import typer

from cspace.cli import render
from cspace.cli.notes_elsewhere import describe_empty
from cspace.cli.notes_options import (
    Namespaces,
    Reference,
    Since,
    Spec,
    Status,
    Tags,
    check_since,
    check_status,
    get_namespaces,
)
from cspace.cli.notes_show import files_of, plain_memory, show_body, show_files, show_memory
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.notes.copies import without_copies
from cspace.notes.listing import Row, Wanted, list_memories


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("list")(list_all)
    app.command()(show)


def list_all(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    *,
    namespace: Namespaces = None,
    spec: Spec = None,
    tags: Tags = None,
    status: Status = None,
    since: Since = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the newest so many [all].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List memories of commits in the order of time.

    The number in front is for reading only: it changes as memories come. The reference stays.

    Examples: cspace notes list · cspace notes list --namespace blockers --status open
    """
    deps: Deps = context.obj
    names = get_namespaces(namespace)
    wanted = Wanted(names, spec, tuple(tags or ()), check_since(since), check_status(status), limit)
    store = deps.notes()
    found = list_memories(
        without_copies(store.repository, store.iter_memories(names or None)), wanted
    )
    if as_json:
        rows = [plain_memory(row.memory) | {"number": row.number} for row in found.rows]
        render.show_json(memories=rows, left_out=found.left_out)
        return
    render.show_lines(_line(row) for row in found.rows)
    if found.left_out:
        render.note(f"{found.left_out} older left out: raise --limit")
    elif not found.rows:
        none = "none is like that; all: cspace notes list"
        render.note(describe_empty(store) if wanted == Wanted() else none)


def show(
    context: typer.Context,
    reference: Reference,
    *,
    files: Annotated[
        bool, typer.Option("--files", help="The files too that the commit changed, as they were.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Only the body, byte for byte as it was given.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a memory, or all of a commit's in one namespace.

    Examples: cspace notes show decisions:1a2b3c4 · cspace notes show reviews:1a2b3c4/5f0c --files
    """
    deps: Deps = context.obj
    store = deps.notes()
    if raw and (files or as_json):
        raise UsageError("--raw prints a body and nothing else", hint="leave the other option out")
    if raw:
        show_body(store.get(reference))
        return
    found = store.find(reference) or (store.get(reference),)  # which says what is near
    then = files_of(store.repository, found) if files else ()
    if as_json:
        told = [plain_memory(memory, body=True) for memory in found]
        render.show_json(memories=told, **({"files": then} if files else {}))
        return
    for number, memory in enumerate(found):
        show_memory(memory, first=number == 0)
    show_files(then)


def _line(row: Row) -> str:
    memory = row.memory
    told = [memory.reference, *filter(None, (memory.status, memory.record.severity))]
    day = render.day(memory.record.timestamp)
    return f"{row.number:>3}. [{day}] {memory.record.summary} ({', '.join(told)})"
