"""`cspace sessions migrate`: transcripts of legacy volumes."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
