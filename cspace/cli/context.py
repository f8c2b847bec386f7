"""`cspace context`: what a project's people and agents know together."""

from __future__ import annotations

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps

app = typer.Typer(help="Read and curate decisions, discoveries and findings.", no_args_is_help=True)


@app.command("list")
def list_entries(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List decisions, discoveries and findings, the newest first.

    Example: cspace context list
    """
    from cspace.context.listing import list_entries as list_all  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    found = list_all(deps.open_context(deps.project.root))
    if as_json:
        render.show_json(entries=found.entries, left_out=found.left_out, skipped=found.skipped)
    else:
        rows = [(one.date, one.kind, one.slug, one.title) for one in found.entries]
        render.show_table(("DATE", "KIND", "SLUG", "TITLE"), rows)
