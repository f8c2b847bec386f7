"""`cspace memory`: what Claude Code remembers of a project, and old memories brought home."""

from __future__ import annotations

import typer

from cspace.cli import memory_migrate, memory_read, memory_transfer

app = typer.Typer()
memory_read.register(app)
memory_migrate.register(app)
memory_transfer.register(app)
