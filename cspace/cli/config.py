"""`cspace config`: what is set and where it comes from."""

from __future__ import annotations

import json

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps

app = typer.Typer()


@app.command()
def show(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Show every setting in force here, with its value and its source.

    What a project's files set and is not trusted is not in force: it comes last, and says so.

    Example: cspace config show --json
    """
    from cspace.settings.load import list_entries, list_untrusted  # noqa: PLC0415  pydantic

    deps: Deps = context.obj
    loaded = deps.survey_settings()
    entries, untrusted = list_entries(loaded), list_untrusted(loaded)
    if as_json:
        render.show_json(settings=entries, untrusted=untrusted)
        return
    rows = [(one.key, _dump(one.value), one.source) for one in entries]
    rows += [(one.key, _dump(one.value), f"not in force: {one.source}") for one in untrusted]
    render.show_table(("KEY", "VALUE", "SOURCE"), rows)
    if untrusted:
        render.note("what is not in force widens access; to look at it and allow it: cspace trust")


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a settings file.

    Example: cspace config schema > cspace.schema.json
    """
    from cspace.settings.load import settings_schema  # noqa: PLC0415  heavy: pydantic

    typer.echo(json.dumps(settings_schema(), indent=2))
