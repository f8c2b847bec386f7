"""`cspace sessions`: what sessions in instances left behind, and their notes."""

from __future__ import annotations

import typer

from cspace.cli import sessions_migrate, sessions_notes

app = typer.Typer()
sessions_notes.register(app)
sessions_migrate.register(app)
