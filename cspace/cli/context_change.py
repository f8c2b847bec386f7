"""`cspace context edit` and `rm`: what people change in records that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import entries, render
from cspace.cli.ask import confirm_removal
from cspace.cli.editor import edited
from cspace.cli.options import AsJson, Yes
from cspace.deps import Deps
from cspace.errors import PartialFailure

if TYPE_CHECKING:  # they load YAML
    from cspace.context.editing import Original


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(edit)
    app.command()(rm)


def edit(
    context: typer.Context,
    entry: Annotated[
        str,
        typer.Argument(
            metavar="ENTRY",
            help="direction, principles, roadmap, or an entry's slug.",
            autocompletion=entries.complete_editable,
        ),
    ],
) -> None:
    """Edit a file of the context, and show what changed.

    Your editor, VISUAL or EDITOR, gets a copy. Where another changed the file meanwhile, nothing is
    written, the exit code is 4, and your copy is kept.

    Example: cspace context edit roadmap
    """
    from cspace.context import editing  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    original = editing.load_original(deps.context_to_read(), entry)
    with edited(original.path.name, original.content, deps.environ) as after:
        if after == original.content:
            render.note("nothing changed; an editor that returns at once has to wait: code --wait")
            return
        render.show_lines(editing.unified_diff(original, after))
        with deps.context_to_change() as store:
            editing.save_edited(store, original, after)
    _note_oddities(original, after)


def _note_oddities(original: Original, after: bytes) -> None:
    """Say what is odd in a file since it was edited."""
    from cspace.context.oddities import iter_new_oddities  # noqa: PLC0415  loads YAML

    for one in iter_new_oddities(original.kind, original.stem, original.content, after):
        render.note(f"note: {original.path} {one.problem}")


def rm(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="ENTRY...",
            help="Whole slugs, or KIND/SLUG.",
            autocompletion=entries.complete_entry,
        ),
    ],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove decisions, discoveries or findings.

    All names are looked at before the first entry goes. Not inside instances.

    Example: cspace context rm 2026-04-14-use-sqlite --yes
    """
    from cspace.context.removing import plan_removal, remove_planned  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    planned = plan_removal(deps.context_to_read(), names)
    if not yes:
        for one in planned:
            render.note(f"  {one.kind}/{one.slug}  {one.title}")
        confirm_removal(f"Remove {render.count(len(planned), 'record')}?", as_json=as_json)
    with deps.context_to_change() as store:
        result = remove_planned(store, planned)
    if as_json:
        render.show_json(removed=result.removed, kept=result.kept)
    else:
        render.show_lines(f"removed {path}" for path in result.removed)
    if len(planned) == len(result.kept) == 1:
        raise result.kept[0].error
    if result.kept:
        raise PartialFailure("\n".join(f"{one.path} stays: {one.error}" for one in result.kept))
