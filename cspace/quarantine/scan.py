"""Finds what could run or redirect on the host in the directories that instances write to.

Every directory is opened from its parent's descriptor and no link is followed, since an agent can
swap any component while we look.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.beneath import MAX_DEPTH
from cspace.paths import SHARED


class Kind(StrEnum):
    """Why something may not stay where it is; UNREADABLE is only named."""

    LINK = "link"
    SPECIAL = "special"
    GIT = "git"
    REPOSITORY = "repository"
    DEEP = "deep"
    UNREADABLE = "unreadable"

    @property
    def reason(self) -> str:
        """What it is, as the end of a sentence."""
        return _REASONS[self]


_REASONS = {
    Kind.LINK: "a link, which can lead anywhere on this machine",
    Kind.SPECIAL: "a device, a FIFO or a socket",
    Kind.GIT: "what git takes for a repository, whose settings can run programs",
    Kind.REPOSITORY: "what makes its directory a git repository, whose settings can run programs",
    Kind.DEEP: f"nested deeper than {MAX_DEPTH} directories",
    Kind.UNREADABLE: "a directory that can not be read, so nobody knows what is in it",
}


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something that may not stay.

    Attributes:
        parent: the descriptor of its directory; open until the next one is asked for.
        path: relative to the project.
    """

    parent: int
    path: PurePosixPath
    kind: Kind


def iter_foreign(root: Path, *, unlock: bool = False) -> Iterator[Foreign]:
    """Yield what may not stay below the shared directories of a project; moves nothing.

    A shared directory that is missing, or is itself not a directory, holds nothing.

    Args:
        unlock: give the owner back the rights on a directory that somebody took away.
    """
    for path in SHARED:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            parent = beneath.open_directory(root, path.parent)
            try:
                yield from _below(parent, path, 0, unlock=unlock)
            finally:
                os.close(parent)


def _below(parent: int, path: PurePosixPath, depth: int, *, unlock: bool) -> Iterator[Foreign]:
    try:
        directory = beneath.open_child(parent, path.name, unlock=unlock)
    except (FileNotFoundError, NotADirectoryError):
        return  # gone, or swapped, since its parent was read
    except OSError:
        yield Foreign(parent, path, Kind.UNREADABLE)
        return
    try:
        foreign, below = _sort(directory, deepest=depth == MAX_DEPTH)
        for name, kind in foreign:
            yield Foreign(directory, path / name, kind)
        for name in below:
            yield from _below(directory, path / name, depth + 1, unlock=unlock)
    finally:
        os.close(directory)


def _sort(directory: int, *, deepest: bool) -> tuple[list[tuple[str, Kind]], list[str]]:
    """Return what may not stay in a directory, and its subdirectories that may."""
    foreign, below, heads, known = list[tuple[str, Kind]](), list[str](), list[str](), set[str]()
    with os.scandir(directory) as entries:
        for entry in entries:
            # Some file systems do not tell .git from .GIT, and then git does not either.
            name = entry.name.lower()
            known.add(name)
            if kind := _kind(entry, name, deepest=deepest):
                foreign.append((entry.name, kind))
            elif name == "head":
                heads.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                below.append(entry.name)
    # Its HEAD alone is moved: the directory may be mounted in an instance that runs.
    if beneath.makes_repository(known):
        foreign += [(name, Kind.REPOSITORY) for name in heads]
    return foreign, below


def _kind(entry: os.DirEntry[str], name: str, *, deepest: bool) -> Kind | None:
    if name == ".git":
        return Kind.GIT
    if entry.is_symlink():
        return Kind.LINK
    if entry.is_dir(follow_symlinks=False):
        return Kind.DEEP if deepest else None
    return None if entry.is_file(follow_symlinks=False) else Kind.SPECIAL
