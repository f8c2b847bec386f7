"""Tells whether a workspace is still what an archive of it holds."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import Conflict
from cspace.instance.snapshot_manifest import Entry, Kind, Manifest, show

_TYPES = {Kind.FILE: stat.S_IFREG, Kind.DIRECTORY: stat.S_IFDIR, Kind.LINK: stat.S_IFLNK}


def check_unchanged(workspace: Path, manifest: Manifest) -> None:
    """Compare kind, mode, size and time of every archived path with the workspace, reading no file.

    A path that is new or gone changes the time of its directory. Containers of ours are stopped
    before an archive is made, but anything else of the user's can write there.

    Raises:
        Conflict: something was written since the workspace was packed.
    """
    below = defaultdict[bytes, list[Entry]](list)
    for entry in manifest.entries:
        if entry.path:
            below[os.path.dirname(entry.path)].append(entry)  # noqa: PTH120  names are bytes
    for directory, entries in below.items():
        try:
            opened = beneath.open_directory(workspace, PurePosixPath(os.fsdecode(directory)))
        except OSError:
            raise _changed(directory) from None
        try:
            for entry in entries:
                _compare(opened, entry)
        finally:
            os.close(opened)
    top = next((entry for entry in manifest.entries if not entry.path), None)
    if top is not None and not _is_same(workspace.lstat(), top):
        raise _changed(b".")


def _compare(directory: int, entry: Entry) -> None:
    name = os.path.basename(entry.path)  # noqa: PTH119  names are bytes
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        raise _changed(entry.path) from None
    if not _is_same(found, entry):
        raise _changed(entry.path)


def _is_same(found: os.stat_result, entry: Entry) -> bool:
    return (
        stat.S_IFMT(found.st_mode) == _TYPES[entry.kind]
        and stat.S_IMODE(found.st_mode) == entry.mode
        and found.st_mtime_ns == entry.mtime_ns
        and (entry.kind is not Kind.FILE or found.st_size == entry.size)
    )


def _changed(path: bytes) -> Conflict:
    return Conflict(
        f"{show(path)} changed in the workspace after it was packed",
        hint="stop what writes there, then try again",
    )
