"""`cspace memory migrate`: a legacy volume into the project."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
