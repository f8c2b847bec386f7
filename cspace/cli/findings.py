"""`cspace findings`: what is known to be wrong or odd, and where it stands."""

from __future__ import annotations

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps

app = typer.Typer(help="Read and update findings.", no_args_is_help=True)


@app.command("list")
def list_findings(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List findings, the newest first.

    Example: cspace findings list
    """
    from cspace.context import listing  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    found = listing.list_findings(deps.open_context(deps.project.root), listing.Wanted())
    if as_json:
        render.show_json(findings=found.entries, left_out=found.left_out, skipped=found.skipped)
    else:
        rows = [(one.date, one.status, one.slug, one.title) for one in found.entries]
        render.show_table(("DATE", "STATUS", "SLUG", "TITLE"), rows)
