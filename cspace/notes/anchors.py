"""The commits that memories stand on: who made them, and what they touched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cspace.errors import UsageError
from cspace.git import AS_STORED, git
from cspace.git_objects import object_types

LONGEST_PATH, MOST_SHOWN = 4096, 100


def authors_of(repository: Path, commits: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the author's name and address of each commit that is there."""
    asked = "".join(f"{one}\n" for one in commits).encode("ascii")
    words = ("--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H%x00%aN%x00%aE")
    said = git(repository, "rev-list", *words, stdin=asked, env=AS_STORED).text if asked else ""
    rows = (line.split("\0") for line in said.split("\n"))
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def commits_touching(repository: Path, commits: Iterable[str], path: str) -> frozenset[str]:
    """Return which of these commits changed a file, or any below a directory, by this name.

    It costs what those commits changed, and not the length of the history. A merge counts where it
    differs from any parent. A file that was renamed later is found by the name that it had.

    Args:
        path: from the top of the repository.

    Raises:
        UsageError: path leads out of the repository.
    """
    spec = f":(top,literal){_inside(path)}"
    there = object_types(repository, commits)
    asked = "".join(f"{one}\n" for one, kind in there.items() if kind == "commit")
    words = ("--stdin", "-r", "-m", "--root", "--name-only", "-z", "--no-renames", "--", spec)
    said = git(repository, "diff-tree", *words, stdin=asked.encode("ascii"), env=AS_STORED).text
    return frozenset(said.split("\0")).intersection(there)


def _is_a_path(text: str) -> bool:
    """Whether a file may be called so, and a program be told."""
    try:
        return "\0" not in text and len(os.fsencode(text)) <= LONGEST_PATH
    except UnicodeEncodeError:
        return False


def _inside(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or not _is_a_path(path):
        raise UsageError(
            f"path {path[:MOST_SHOWN]!r} is not one in the repository",
            hint="name it from the repository's top, as git ls-files does",
        )
    return "/".join(parts)
