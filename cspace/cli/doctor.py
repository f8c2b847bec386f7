"""`cspace doctor`: what is broken, and what repairs it."""

from __future__ import annotations

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import Diagnosed


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(doctor)


def doctor(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Say what is broken, and the command that repairs it.

    It changes nothing itself.

    Example: cspace doctor
    """
    from cspace.doctor.checks import examine  # noqa: PLC0415  loads the context store
    from cspace.doctor.model import Patient  # noqa: PLC0415

    deps: Deps = context.obj
    found = examine(Patient(deps.engine, deps.project, deps.user, deps.environ))
    render.show_diagnoses(found, as_json=as_json)
    if found:
        raise Diagnosed(f"doctor found {render.count(len(found), 'thing')}")
