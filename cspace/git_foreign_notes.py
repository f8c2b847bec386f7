"""Commit notes that come from somebody else's repository, which may be anything, and go there.

As in `cspace.git`, nothing here is ever pointed at a workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from cspace import git_objects
from cspace.errors import CspaceError
from cspace.git import AS_STORED, git
from cspace.git_import import AUTHOR

MOST_NOTES = 500_000
LARGEST_NOTE = 16 << 20
_HEX = re.compile(rb"[0-9a-f]+")


def check_notes(repository: Path, commit: str) -> None:
    """Refuse a commit that holds what is no note; errors as for `iter_notes`."""
    for _ in iter_notes(repository, commit):
        pass  # each is looked at


def iter_notes(repository: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Yield the object and the blob of each note that a commit holds.

    What somebody could have put in the place of notes is refused, early where it is endless.

    Raises:
        CspaceError: with what is wrong.
    """
    if (kind := git_objects.object_type(repository, commit)) != "commit":
        raise CspaceError(f"it is a {kind}, not a commit of notes")
    for number, entry in enumerate(git_objects.iter_tree(repository, commit, trees=True)):
        if number >= MOST_NOTES:
            raise CspaceError(f"it holds more than {MOST_NOTES} notes")
        name = _name(entry, len(commit))
        if entry.kind == "blob":
            yield name, entry.id


def _name(entry: git_objects.TreeEntry, length: int) -> str:
    """Return what a path of notes names, which has so many letters where it is a note's.

    Raises:
        CspaceError: it is no such path.
    """
    if entry.kind not in ("blob", "tree") or entry.mode not in ("100644", "100755", "040000"):
        raise CspaceError(f"it holds a {entry.kind} of mode {entry.mode}, which is no note")
    if not _HEX.fullmatch(name := entry.path.replace(b"/", b"")):
        raise CspaceError("it holds a path that names no object")
    if entry.kind == "blob" and len(name) != length:
        raise CspaceError("it holds a path that names no object")
    if entry.size > LARGEST_NOTE:
        raise CspaceError(f"it holds a note of {entry.size} bytes")
    return name.decode("ascii")


def put_on_top(repository: Path, ours: str, theirs: str | None, at: datetime) -> str:
    """Store a commit with our tree on theirs, and return it; of our history it has nothing.

    Args:
        theirs: None where they have none.
    """
    name, _, address = AUTHOR.rstrip(">").partition(" <")
    when = f"{int(at.timestamp())} +0000"
    identity = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", name), ("EMAIL", address), ("DATE", when))
    }
    parent = ("-p", theirs) if theirs else ()
    words = ("commit-tree", f"{ours}^{{tree}}", *parent, "-m", "Notes synced by 'cspace notes'")
    return git(repository, *words, env=AS_STORED | identity).text
