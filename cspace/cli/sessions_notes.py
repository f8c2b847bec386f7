"""`cspace sessions list|show|update|doctor`: session notes."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
