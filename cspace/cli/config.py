"""`cspace config`: what is set and where it comes from."""

from __future__ import annotations

import json

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps

app = typer.Typer(help="Show settings and where they come from.", no_args_is_help=True)


@app.command()
def show(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Show every setting in force here, with its value and its source."""
    from cspace.settings.load import list_entries  # noqa: PLC0415  heavy: pydantic

    deps: Deps = context.obj
    entries = list_entries(deps.load_settings())
    if as_json:
        render.show_json(settings=entries)
        return
    rows = [(one.key, json.dumps(one.value, ensure_ascii=False), one.source) for one in entries]
    render.show_table(("KEY", "VALUE", "SOURCE"), rows)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a settings file."""
    from cspace.settings.load import settings_schema  # noqa: PLC0415  heavy: pydantic

    typer.echo(json.dumps(settings_schema(), indent=2))
