"""Has git itself fetch a remote's notes and carry notes along, where a person asked for it.

What is fetched goes into the tracking namespace and not over ours. `remote.*.push` is nobody's
business here: a refspec there would change what a plain `git push` sends.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cspace import git
from cspace.errors import Conflict
from cspace.git_config import Setting, apply_values, plan_values
from cspace.git_import import Place
from cspace.notes.namespaces import PREFIX
from cspace.notes.remote import TRACKING, find_remote, list_remotes

REWRITE = ("notes.rewriteRef", f"{PREFIX}*")
_MODE = "notes.rewriteMode"
# Git's own default. What it joins, records and all, is read as before; by the other modes it drops
# the one note, or sorts the lines of both.
_SAFE_MODES = (None, "concatenate")


@dataclass(frozen=True, slots=True)
class Configured:
    """What changed, or would; and why it may have no effect, one sentence each."""

    changes: tuple[Setting, ...]
    notices: tuple[str, ...]


def configure(
    repository: Path,
    place: Place,
    remote: str | None = None,
    *,
    undo: bool = False,
    dry_run: bool = False,
) -> Configured:
    """Add our values to the repository's own configuration, or take them out; nothing else changes.

    `git fetch` then fetches notes, and `git commit --amend` and `git rebase` copy them to the new
    commits. What is so already stays.

    Args:
        remote: None for origin or the only one; without any remote only git's rewriting is set.

    Raises:
        NotFound: there is no such remote.
        Conflict: git would not keep both of two notes; nothing was changed.
    """
    if not undo:
        _check_mode(repository)
    values = [*_fetched(repository, remote), REWRITE]
    changes = plan_values(repository, place.common_directory, values, undo=undo)
    if not dry_run:
        apply_values(repository, changes)
    return Configured(changes, () if undo else tuple(_notices(repository)))


def _fetched(repository: Path, remote: str | None) -> list[tuple[str, str]]:
    if remote is None and not list_remotes(repository):
        return []
    name = find_remote(repository, remote).name
    return [(f"remote.{name}.fetch", f"+{PREFIX}*:{TRACKING}/{name}/*")]


def _check_mode(repository: Path) -> None:
    mode = git.config_value(repository, _MODE)
    if mode not in _SAFE_MODES:
        raise Conflict(
            f"{_MODE} is {mode!r}: of two notes that meet on one commit git would not keep both",
            hint=f"git config --show-origin {_MODE}; for this repository:"
            f" git config --local {_MODE} concatenate",
        )


def _notices(repository: Path) -> list[str]:
    return [
        f"{key} is false: git {what} leaves notes where they are"
        for what, key in (("commit --amend", "notes.rewrite.amend"),
                          ("rebase", "notes.rewrite.rebase"))
        if git.config_value(repository, key) is not None and not git.is_configured(repository, key)
    ]  # fmt: skip
