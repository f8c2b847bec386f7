"""`cspace context playbook`: an agent's first turn, with the project's direction in it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cspace.cli import render
from cspace.deps import Deps
from cspace.errors import UsageError


class Whom(StrEnum):
    """Whom a playbook is for; the core's own enum would load YAML for every command."""

    COORDINATOR = "coordinator"
    IMPLEMENTER = "implementer"


def register(app: typer.Typer) -> None:
    """Add the command to the group of the context."""
    app.command()(playbook)


def playbook(
    context: typer.Context,
    whom: Annotated[
        Whom, typer.Argument(metavar="coordinator|implementer", help="Whom it is for.")
    ],
    file: Annotated[
        Path | None, typer.Option(metavar="TEMPLATE", help="A template of your own instead.")
    ] = None,
) -> None:
    """Print an agent's first turn.

    A template's ${STRATEGIC_CONTEXT_PREAMBLE} becomes what direction.md and roadmap.md hold, byte
    for byte.

    Example: claude "$(cspace context playbook implementer)"
    """
    from cspace.context import playbook as playbooks  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    preamble = playbooks.load_preamble(deps.context_to_read())
    template = _read(file) if file else playbooks.load_template(playbooks.Playbook(whom.value))
    if playbooks.PLACEHOLDER not in template:
        render.note(f"note: {file} does not hold {playbooks.PLACEHOLDER.decode()}")
    sys.stdout.buffer.write(playbooks.render_playbook(template, preamble))
    sys.stdout.buffer.flush()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"--file {file} can not be read: {error.strerror}",
            hint="name a readable file, or leave --file out",
        ) from None
