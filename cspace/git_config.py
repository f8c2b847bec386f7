"""What a command of ours changes in a repository's own configuration, and takes out again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cspace.git_commits import add_local_config, local_config, unset_local_config


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that changes.

    Attributes:
        where: the file that holds it.
        key: the key of git's configuration; empty for a line of the attributes.
        before, after: its value; None where it is absent.
    """

    where: str
    key: str
    before: str | None
    after: str | None


def plan_values(
    repository: Path, where: Path, values: Iterable[tuple[str, str]], *, undo: bool
) -> tuple[Setting, ...]:
    """Return what has to change so that keys have these values among theirs, or have them no more.

    Args:
        where: the common directory, for the plan to name its file.
    """
    found = []
    for key, value in values:
        if (value in local_config(repository, key)) == undo:
            before, after = (value, None) if undo else (None, value)
            found.append(Setting(str(where / "config"), key, before, after))
    return tuple(found)


def apply_values(repository: Path, settings: Iterable[Setting]) -> None:
    """Do what was planned; other values of the same keys stay as they are."""
    for one in settings:
        if one.after is not None:
            add_local_config(repository, one.key, one.after)
        elif one.before is not None:
            unset_local_config(repository, one.key, one.before)
