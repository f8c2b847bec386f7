"""`cspace notes`: memories that belong to commits, in git notes."""

from __future__ import annotations

import typer

from cspace.cli import (
    notes_capture,
    notes_change,
    notes_configure,
    notes_index,
    notes_read,
    notes_recall,
    notes_rescue,
    notes_sync,
    notes_transfer,
)

app = typer.Typer()
for module in (
    *(notes_capture, notes_read, notes_recall, notes_index, notes_change),
    *(notes_sync, notes_rescue, notes_configure, notes_transfer),
):
    module.register(app)
