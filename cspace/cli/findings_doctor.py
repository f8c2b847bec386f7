"""`cspace findings doctor`: findings whose commits say something else."""

from __future__ import annotations

import typer

from cspace.cli.doctor import show_diagnoses
from cspace.cli.options import AsJson
from cspace.deps import Deps


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor")(findings_doctor)


def findings_doctor(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Compare findings with the commits that resolve them.

    A commit names a finding by (cs-finding:SLUG) in its message. Says which findings are open
    though a commit that is checked out names them, which are resolved by none, and which do not
    exist, each with the command that repairs it. Changes nothing.

    Example: cspace findings doctor
    """
    from cspace.doctor.findings import examine_findings  # noqa: PLC0415  loads the context store

    deps: Deps = context.obj
    found = examine_findings(deps.context_to_read(), deps.project)
    show_diagnoses(found, as_json=as_json, said="findings doctor found")
