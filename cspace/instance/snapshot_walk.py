"""Looks at a workspace: every path below it, and where its repositories are. Follows no link."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from cspace.instance.snapshot_manifest import Entry, Kind, LeftOut
from cspace.paths import CONTEXT, MEMORY

# The host's data, mounted into the workspace: archived and restored with the host's repository.
SHARED = (os.fsencode(CONTEXT), os.fsencode(MEMORY))
# What is made from a repository's notes, and made anew where it is missing; it may be large.
_DERIVED = (b"index.db", b".index.db.")
FIFO = "a FIFO"
_SPECIAL = {
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: FIFO,
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_HEAD = re.compile(rb"ref: refs/.+|[0-9a-f]{40}\s*|[0-9a-f]{64}\s*", re.DOTALL)


@dataclass(slots=True)
class Tree:
    """What a walk found.

    Attributes:
        entries: every path, a directory before what is in it; files have no blob yet.
        repositories: git directories whose objects are left out of the entries.
        damaged: what should be such a git directory and is not.
        guarded: directories that hold a bare repository as plain files.
    """

    entries: list[Entry] = field(default_factory=list)
    specials: list[LeftOut] = field(default_factory=list)
    repositories: list[bytes] = field(default_factory=list)
    damaged: list[bytes] = field(default_factory=list)
    guarded: list[bytes] = field(default_factory=list)


def walk(root: Path, start: bytes = b"", *, repositories: bool = True) -> Tree:
    """List what is below root/start, sorted by name.

    Args:
        repositories: find git directories and leave their objects out.

    Raises:
        OSError: something vanished or can not be read; `filename` says what.
    """
    tree = Tree()
    pending = [start]
    while pending:
        path = pending.pop()
        absolute = join(root, path)
        tree.entries.append(_entry(path, os.lstat(absolute), b""))
        with os.scandir(absolute) as scan:
            children = {child.name: child for child in scan}
        hidden = _classify(tree, path, absolute, children) if repositories else b""
        below: list[bytes] = []
        for name in sorted(children):
            child = path + b"/" + name if path else name
            if child in SHARED or name == hidden or _is_derived(tree, path, name):
                continue
            if children[name].is_dir(follow_symlinks=False):
                below.append(child)
            else:
                _add(tree, child, children[name])
        if hidden:
            _add_alternates(tree, root, path)
        pending.extend(reversed(below))
    return tree


def join(root: Path, path: bytes) -> bytes:
    """Return the absolute name of a path below root."""
    return os.fsencode(root) + (b"/" + path if path else b"")


def _is_derived(tree: Tree, directory: bytes, name: bytes) -> bool:
    """Tell whether a file is our index in a git directory, or was to become it."""
    above, _, last = directory.rpartition(b"/")
    return last == b"cspace" and name.startswith(_DERIVED) and above in tree.repositories


def _add(tree: Tree, path: bytes, found: os.DirEntry[bytes]) -> None:
    status = found.stat(follow_symlinks=False)
    reason = _SPECIAL.get(stat.S_IFMT(status.st_mode))
    if reason is not None:
        tree.specials.append(LeftOut(path, 0, reason))
        return
    link = stat.S_ISLNK(status.st_mode)
    target = os.readlink(found.path) if link else b""  # noqa: PTH115  names are bytes
    tree.entries.append(_entry(path, status, target))


def _entry(path: bytes, status: os.stat_result, target: bytes) -> Entry:
    mode, changed = stat.S_IMODE(status.st_mode), status.st_mtime_ns
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, Kind.DIRECTORY, mode, changed)
    if stat.S_ISLNK(status.st_mode):
        return Entry(path, Kind.LINK, mode, changed, target=target)
    return Entry(path, Kind.FILE, mode, changed, size=status.st_size)


def _classify(
    tree: Tree, path: bytes, absolute: bytes, children: dict[bytes, os.DirEntry[bytes]]
) -> bytes:
    """Note what path is to git; return the name of its object store if it is left out."""
    parts = path.split(b"/")
    ours = b".git" in parts
    whole = (
        {b"HEAD", b"objects", b"refs"} <= children.keys()
        and children[b"objects"].is_dir(follow_symlinks=False)
        and children[b"refs"].is_dir()
        and _is_head(absolute + b"/HEAD")
    )
    if whole and ours:
        tree.repositories.append(path)
        return b"objects"
    if whole:
        # To git these are plain files of the work tree around them, and may be tracked as such.
        tree.guarded.append(path)
    elif (parts[-1] == b".git" and children) or (
        ours and {b"objects", b"config"} <= children.keys()
    ):
        tree.damaged.append(path)
    return b""


def _is_head(path: bytes) -> bool:
    mode = os.lstat(path).st_mode
    if not stat.S_ISREG(mode):
        return stat.S_ISLNK(mode)  # to open a FIFO would wait for good
    with open(path, "rb") as file:  # noqa: PTH123  names are bytes
        return _HEAD.fullmatch(file.read(4096)) is not None


def _add_alternates(tree: Tree, root: Path, path: bytes) -> None:
    """List the one file of an object store that is configuration and not derived."""
    child = path + b"/objects/info/alternates"
    try:
        status = os.lstat(join(root, child))
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISREG(status.st_mode):
        tree.entries.append(_entry(child, status, b""))
