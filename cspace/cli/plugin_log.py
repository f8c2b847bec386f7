"""`cspace plugin log`: keeps what is typed in a repository, for debugging; off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.owner import find_owner

if TYPE_CHECKING:
    from cspace.hooks.prompt_log import PromptLog

app = typer.Typer(help="Keep this repository's prompts, for debugging; off by default.")


@app.command()
def on(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Keep what is typed here from now on, in a private file.

    The plugin's hook writes it. A prompt with what looks like a secret is left out.

    Example: cspace plugin log on
    """
    log = _find(context.obj)
    log.switch_on(find_owner())
    _show_state(log, as_json=as_json)


@app.command()
def off(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Keep no more; what was kept stays.

    Example: cspace plugin log off
    """
    log = _find(context.obj)
    log.switch_off()
    _show_state(log, as_json=as_json)


@app.command()
def status(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Say whether prompts are kept, and where.

    Example: cspace plugin log status
    """
    _show_state(_find(context.obj), as_json=as_json)


@app.command()
def show(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Show what was kept, the oldest first.

    Example: cspace plugin log show
    """
    kept = tuple(_find(context.obj).read())
    if as_json:
        render.show_json(prompts=kept)
        return
    for one in kept:
        withheld = f"(left out: {'; '.join(one.withheld)})"
        render.show_lines([f"{one.time}  {withheld if one.text is None else one.text}"])
    if not kept:
        render.note("nothing was kept; to keep prompts from now on: cspace plugin log on")


def _find(deps: Deps) -> PromptLog:
    from cspace.hooks.prompt_log import PromptLog  # noqa: PLC0415  few commands do

    return PromptLog(deps.project.common_directory)


def _show_state(log: PromptLog, *, as_json: bool) -> None:
    if as_json:
        render.show_json(on=log.is_on, path=str(log.path))
    else:
        render.show_lines([f"{'on' if log.is_on else 'off'}: {log.path}"])
