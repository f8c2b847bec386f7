"""`cspace notes resolve|forget`: says how something was settled, and removes a memory."""

from __future__ import annotations

from typing import Annotated

import typer

from cspace.cli import render
from cspace.cli.ask import confirm_removal
from cspace.cli.notes_options import Reference
from cspace.cli.notes_show import plain_memory, show_memory
from cspace.cli.options import AsJson, Yes
from cspace.cli.typed import read_given
from cspace.deps import Deps


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(resolve)
    app.command()(forget)


def resolve(
    context: typer.Context,
    reference: Reference,
    *,
    text: Annotated[
        str, typer.Option(metavar="TEXT", help="How it was settled; - reads it from stdin.")
    ],
    allow_secret: Annotated[
        bool, typer.Option("--allow-secret", help="Keep it though it looks like it has a secret.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say how a blocker or a review finding was settled.

    It stays, and is resolved from then on.

    Example: cspace notes resolve blockers:1a2b3c4 --text "The limit is per token."
    """
    deps: Deps = context.obj
    said = read_given("--text", text)
    memory = deps.notes().resolve(reference, said, allow_secret=allow_secret)
    if as_json:
        render.show_json(memory=plain_memory(memory))
    else:
        render.show_lines([f"{memory.reference}  {memory.status}: {memory.resolution}"])


def forget(
    context: typer.Context, reference: Reference, *, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Remove a memory from its commit for good, after your yes.

    Its text goes out of the note; once others sync, out of theirs too. Git's history of the notes
    still has it: a secret that was kept has to be changed where it is used.

    Example: cspace notes forget decisions:1a2b3c4 --yes
    """
    deps: Deps = context.obj
    store = deps.notes()
    memory = store.get(reference)
    if not yes:
        if not as_json:
            show_memory(memory, first=True)
        confirm_removal(f"forget {memory.reference} for good?", as_json=as_json)
    gone = store.forget(f"{memory.namespace}:{memory.commit}/{memory.id}")
    copies = [one.reference for one in store.iter_copies(gone)]
    if as_json:
        render.show_json(forgotten=plain_memory(gone, body=True), copies=copies)
        return
    render.show_lines([f"{memory.reference}  forgotten"])
    if copies:
        render.note(f"the same memory still stands on other commits: {', '.join(copies)}")
