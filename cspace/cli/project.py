"""`cspace init`: prepares a repository."""

from __future__ import annotations

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.owner import find_owner


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(init)


def init(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Prepare this repository: .cspace.json, .mcp.json, .gitignore and .cspace/.

    What is there already keeps its content, so it can be run again.

    Example: cspace init && git add -A && git commit -m "Use cspace"
    """
    from cspace.lifecycle.init import init_project  # noqa: PLC0415  loads the context store

    deps: Deps = context.obj
    result = init_project(deps.project.root, find_owner(), deps.report)
    if as_json:
        render.show_json(root=result.root, changed=result.changed, quarantined=result.quarantined)
    elif result.changed:
        render.show_lines([*(f"created or changed {name}" for name in result.changed)])
        render.note("next: git add -A && git commit, then: cspace up mercury")
    else:
        render.show_lines(["nothing to do: this project is prepared"])
