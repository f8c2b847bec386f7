"""`cspace quarantine`: what was moved aside, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.ask import confirm_removal
from cspace.cli.options import AsJson, Yes
from cspace.deps import Deps, make_deps
from cspace.errors import CspaceError
from cspace.events import ignore

if TYPE_CHECKING:
    from cspace.quarantine.shelf import Quarantined

app = typer.Typer()


def _complete_id(incomplete: str) -> list[str]:
    from cspace.quarantine.shelf import list_quarantined  # noqa: PLC0415  only when a shell asks

    try:
        things = list_quarantined(make_deps(ignore).project.root)
    except CspaceError:
        return []
    return [thing.id for thing in things if thing.id.startswith(incomplete)]


Id = Annotated[
    str, typer.Argument(help="As `list` shows it.", metavar="ID", autocompletion=_complete_id)
]


@app.command("list")
def list_things(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List what was moved aside, oldest first.

    Example: cspace quarantine list
    """
    from cspace.quarantine.shelf import list_quarantined  # noqa: PLC0415  not for `--help`

    deps: Deps = context.obj
    things = list_quarantined(deps.project.root)
    if as_json:
        render.show_json(quarantined=things)
    elif things:
        render.show_table(("ID", "MOVED", "KIND", "WAS AT"), [_row(thing) for thing in things])
    else:
        render.note("nothing is in quarantine")


@app.command()
def restore(
    context: typer.Context,
    id_: Id,
    *,
    to: Annotated[
        Path | None, typer.Option(help="Another path than where it was; must not exist.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a thing back where it was, or at another path.

    Example: cspace quarantine restore 1f0e9a2b --to ../looked-at
    """
    from cspace.quarantine import shelf  # noqa: PLC0415  as above

    deps: Deps = context.obj
    path = shelf.restore(deps.project.root, id_, to.absolute() if to else None)
    if as_json:
        render.show_json(id=id_, path=path)
    else:
        render.show_lines([f"restored {str(path)!r}"])
    if to is None:
        render.note("note: the next command that uses the shared directories moves it again")


@app.command()
def remove(
    context: typer.Context,
    id_: Id,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a thing for good.

    Example: cspace quarantine remove 1f0e9a2b --yes
    """
    from cspace.quarantine import shelf  # noqa: PLC0415  as above

    deps: Deps = context.obj
    if not yes:
        thing = shelf.get_quarantined(deps.project.root, id_)
        confirm_removal(f"Delete {thing.id} for good?", as_json=as_json)
    gone = shelf.remove(deps.project.root, id_)
    if as_json:
        render.show_json(removed=gone)
    else:
        render.show_lines([f"removed {gone.id}"])


def _row(thing: Quarantined) -> tuple[str, str, str, str]:
    moved = render.moment(thing.moved) if thing.moved else "-"
    return thing.id, moved, thing.kind or "-", repr(thing.path) if thing.path else "-"
