"""Finds the FIFOs in a workspace for which git, which expects files, would wait for good."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from cspace.instance.snapshot_manifest import LeftOut
from cspace.instance.snapshot_walk import FIFO

_IN_WORK_TREE = frozenset({b".gitignore", b".gitattributes"})
_READ = (b"config", b"config.worktree", b"index", b"shallow")
# `objects/info/commit-graphs/…` is the deepest file; git borrows no further than from a fifth.
_DEPTH, _BORROWED = 2, 5


def find_in_work_tree(specials: Iterable[LeftOut]) -> bytes | None:
    """Return of what a walk found a FIFO that git would open while it lists files."""
    return next((one.path for one in specials if one.reason == FIFO and _is_opened(one.path)), None)


def look_for_any(workspace: Path) -> bytes | None:
    """Return such a FIFO of a work tree that changes all the time."""
    top = os.fsencode(workspace)
    for directory, below, names in os.walk(top):
        if directory == top:
            below[:] = [name for name in below if name != b".git"]
        for name in names:
            path = os.path.join(directory, name)  # noqa: PTH118  names are bytes
            relative = path[len(top) + 1 :]
            if _is_opened(relative) and is_fifo(path):
                return relative
    return None


def _is_opened(path: bytes) -> bool:
    parts = path.split(b"/")
    return parts[-1] in _IN_WORK_TREE or b".git" in parts


def find_in_repository(directory: bytes) -> bytes | None:
    """Return a FIFO that git would open while it reads objects, also through links."""
    named = (directory + b"/" + name for name in _READ)
    found = next((path for path in named if is_fifo(path)), None)
    return found or next(_iter_borrowed(directory + b"/objects"), None)


def is_fifo(path: bytes) -> bool:
    """Tell whether a path leads to a FIFO."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116  names are bytes
    except (OSError, ValueError):
        return False


def _iter_borrowed(store: bytes) -> Iterator[bytes]:
    stores, seen = [store], set[tuple[int, int]]()
    for _ in range(_BORROWED + 1):
        for one in stores:
            yield from _iter_fifos(one, seen, _DEPTH)
        stores = [other for one in stores for other in _alternates(one)]


def _iter_fifos(directory: bytes, seen: set[tuple[int, int]], depth: int) -> Iterator[bytes]:
    try:
        status = os.stat(directory)  # noqa: PTH116  names are bytes
        if (status.st_dev, status.st_ino) in seen:
            return
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(directory) as scan:
            children = list(scan)
    except OSError:
        return
    for child in children:
        if child.is_dir() and depth:
            yield from _iter_fifos(child.path, seen, depth - 1)
        elif not child.is_file() and is_fifo(child.path):
            yield child.path


def _alternates(store: bytes) -> Iterator[bytes]:
    """Yield the stores that one borrows from; only called where none of its files is a FIFO."""
    try:
        with open(store + b"/info/alternates", "rb") as file:  # noqa: PTH123  names are bytes
            lines = file.read(1 << 20).split(b"\n")
    except OSError:
        return
    for line in lines:
        if line and not line.startswith(b"#"):
            yield os.path.join(store, _unquote(line))  # noqa: PTH118  names are bytes


def _unquote(line: bytes) -> bytes:
    """Return the path of a line, which git may have quoted."""
    if not (line.startswith(b'"') and line.endswith(b'"') and len(line) > 1):
        return line
    try:
        return line[1:-1].decode("unicode_escape").encode("latin-1")
    except ValueError:
        return line
