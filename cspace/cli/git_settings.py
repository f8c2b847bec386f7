"""How a change of git's configuration looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `cspace --help` has no use for git
    from cspace.git_config import Setting


def describe_setting(change: Setting) -> tuple[str, ...]:
    """Return a setting's place, and what it was and becomes, one line each."""
    what = f"{change.where}: {change.key or 'line'}"
    before, after = (value or "(absent)" for value in (change.before, change.after))
    return (what, f"  before: {before}", f"  after:  {after}")
