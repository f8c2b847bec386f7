"""How a change of git's configuration looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cspace.cli import render

if TYPE_CHECKING:  # `cspace --help` has no use for git
    from cspace.git_config import Setting


def show_changes(
    changes: Sequence[Setting], notices: Iterable[str], *, dry_run: bool, as_json: bool
) -> None:
    """Show what was changed, or would be."""
    if as_json:
        render.show_json(changes=changes, notices=notices, dry_run=dry_run)
        return
    lines = [line for change in changes for line in _describe(change)]
    render.show_lines(lines or ["nothing to do: it is so already"])
    for notice in notices:
        render.note(f"note: {notice}")


def _describe(change: Setting) -> tuple[str, ...]:
    """Return a setting's place, and what it was and becomes, one line each."""
    what = f"{change.where}: {change.key or 'line'}"
    before, after = (value or "(absent)" for value in (change.before, change.after))
    return (what, f"  before: {before}", f"  after:  {after}")
