"""`cspace doctor`: what is broken, and what repairs it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.options import AsJson, complete_name
from cspace.deps import Deps
from cspace.errors import Diagnosed

if TYPE_CHECKING:
    from cspace.doctor.model import Diagnosis, Patient
    from cspace.lifecycle.examination import Examination


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(doctor)


def doctor(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="An instance to look into, too.",
            autocompletion=complete_name,
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Say what is broken, and the command that repairs it.

    It looks at this machine and this project, and with a NAME into that instance. It changes
    nothing itself. Where credentials come from is said in any case, never what they are.

    Examples: cspace doctor · cspace doctor mercury --json
    """
    from cspace.lifecycle.examination import examine_all  # noqa: PLC0415  loads the context store

    deps: Deps = context.obj
    found = examine_all(_patient(deps), name, deps.host)
    if not as_json:
        render.show_lines(_fact_lines(found, name))
    show_diagnoses(
        found.diagnoses,
        as_json=as_json,
        credentials=found.credentials,
        delivered=found.delivered,
        egress=found.egress,
    )


def _patient(deps: Deps) -> Patient:
    from cspace.doctor.model import Patient  # noqa: PLC0415  pulls in the engine's model

    return Patient(
        engine=deps.engine,
        project=deps.project,
        user=deps.user,
        environ=deps.environ,
        secrets=functools.cache(deps.find_secrets),
        report=deps.report,
    )


def _fact_lines(found: Examination, name: str | None) -> Iterator[str]:
    given = (("the next up gives", found.credentials), (f"{name} has", found.delivered))
    for whose, credentials in given:
        for one in credentials:
            source = f"{one.source}, {one.place}" if one.source else "an unknown source"
            yield f"credentials: {whose} {one.name}, from {source}"
    if found.egress is not None:
        yield f"egress: {name}, {found.egress}"


def show_diagnoses(
    found: tuple[Diagnosis, ...],
    *,
    as_json: bool,
    said: str = "doctor found",
    **parts: object,
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
