"""`cspace config`: what is set and where it comes from."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cspace import git

if TYPE_CHECKING:  # pydantic costs 100 ms that `cspace --help` must not pay
    from cspace.settings.load import Entry

SCHEMA_VERSION = 1

app = typer.Typer(help="Show settings and where they come from.", no_args_is_help=True)


@app.command()
def show(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,  # noqa: FBT002  typer's way to declare a flag
) -> None:
    """Show every setting in force here, with its value and its source."""
    from cspace.settings.load import list_entries, load_settings  # noqa: PLC0415  heavy: pydantic

    loaded = load_settings(_find_root(Path.cwd()), home=Path.home(), environ=os.environ)
    entries = list_entries(loaded)
    typer.echo(_dump(_document(entries)) if as_json else _render_table(entries))


@app.command()
def schema() -> None:
    """Print the JSON Schema of a settings file."""
    from cspace.settings.load import settings_schema  # noqa: PLC0415  heavy: pydantic

    typer.echo(_dump(settings_schema()))


def _find_root(start: Path) -> Path | None:
    worktree = git.find_worktree(start)
    return None if worktree is None else git.main_worktree(worktree).resolve()


def _document(entries: tuple[Entry, ...]) -> dict[str, Any]:
    return {"schema_version": SCHEMA_VERSION, "settings": [asdict(entry) for entry in entries]}


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2)


def _render_table(entries: tuple[Entry, ...]) -> str:
    # ASCII JSON: values from a project's file can not write control characters to a terminal.
    rows = [("KEY", "VALUE", "SOURCE")]
    rows += [(entry.key, json.dumps(entry.value), entry.source) for entry in entries]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"{key:{widths[0]}}  {value:{widths[1]}}  {source}" for key, value, source in rows
    )
