"""`cspace memory export|import`: a memory that moves between machines."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
