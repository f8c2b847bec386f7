"""`cspace memory list|show|search|recall|doctor`: reads Claude's memory."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
