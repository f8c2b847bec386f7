"""`cspace memory`: what people and agents remember, and Claude's own memory beside it."""

from __future__ import annotations

import typer

from cspace.cli import (
    memory_claude,
    memory_decide,
    memory_history,
    memory_migrate,
    memory_place,
    memory_projects,
    memory_proposals,
    memory_read,
    memory_transfer,
    memory_write,
)

app = typer.Typer()
memory_read.register(app)
memory_write.register(app)
memory_proposals.register(app)
memory_decide.register(app)
memory_place.register(app)
memory_projects.register(app)
memory_history.register(app)
memory_claude.register(app)
memory_migrate.register(app)
memory_transfer.register(app)
