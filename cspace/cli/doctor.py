"""`cspace doctor`: what is broken, and what repairs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cspace.cli import render
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import Diagnosed

if TYPE_CHECKING:
    from cspace.doctor.model import Diagnosis


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
    show_diagnoses(found, as_json=as_json)


def show_diagnoses(
    found: tuple[Diagnosis, ...], *, as_json: bool, said: str = "doctor found", **parts: object
) -> None:
    """Print what was found.

    Args:
        parts: stand beside it in JSON.

    Raises:
        Diagnosed: it is something.
    """
    if as_json:
        render.show_json(**parts, diagnoses=found)
    elif found:
        render.show_lines(
            line
            for one in found
            for line in (f"{one.check}: {one.problem}", f"  repair: {one.repair}")
        )
    else:
        render.show_lines(["nothing found"])
    if found:
        raise Diagnosed(f"{said} {render.count(len(found), 'thing')}")
