"""git's merge driver for findings."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path, PurePosixPath

from cspace import beneath, files, git_commits
from cspace.context.finding_parts import parse_parts
from cspace.context.merge import reconcile
from cspace.errors import CspaceError


def merge_documents(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """Merge three versions of a finding, and return the result and whether it has no conflict.

    A part that both sides changed in different ways stands there twice, between git's markers.

    Raises:
        CommandFailed: git takes one of them for no text.
    """
    if theirs in (base, ours):
        return ours, True
    if base == ours:
        return theirs, True
    ready = reconcile(base, ours, theirs)
    merged, clean = git_commits.merge_lines(ready.base, ready.ours, ready.theirs)
    if clean and _updates(merged) != _updates(ready.ours):
        # Lines of both sides made a heading mean something else: a person has to look.
        return git_commits.merge_lines(base, ours, theirs)[0], False
    return merged, clean


def _updates(document: bytes) -> list[tuple[str, str]]:
    return [block.key for block in parse_parts(document).blocks]


def merge_files(ancestor: Path, ours: Path, theirs: Path, name: str) -> None:
    """Merge three files into ours, as git asks a driver to.

    Args:
        name: what the file is called in the repository, for the error.

    Raises:
        CspaceError: exit 1: a conflict; ours has both sides between markers.
        CspaceError: a file can not be read or merged; ours is as it was.
    """
    versions = [_read(path) for path in (ancestor, ours, theirs)]
    merged, clean = merge_documents(*versions)
    mode = stat.S_IMODE(ours.lstat().st_mode)
    if merged != versions[1]:
        files.write_atomic(ours, merged, mode=mode)
    if not clean:
        raise CspaceError(
            f"{name}: both sides changed the same part",
            hint=f"choose between the markers in it, then: git add {shlex.quote(name)}",
        )


def _read(path: Path) -> bytes:
    try:
        return beneath.read_file(path.parent, PurePosixPath(path.name))
    except OSError as error:
        raise CspaceError(f"{path}: {error.strerror}: a regular file is needed there") from error
