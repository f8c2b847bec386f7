"""Keeps an instance's sessions where they outlive it, also those that an earlier cspace did not."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterable
from pathlib import PurePosixPath
from shlex import quote
from typing import BinaryIO

from cspace import beneath, files
from cspace.errors import CspaceError, expected
from cspace.files import Owner
from cspace.migration.names import iter_marked
from cspace.paths import INSIDE, InstancePaths

_MARK = "older"
_MEMORY = PurePosixPath(INSIDE.memory).relative_to(INSIDE.projects)
_PROJECTS = PurePosixPath(INSIDE.projects).relative_to(INSIDE.claude)
_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})
_CHUNK = 1024 * 1024


def ensure_sessions(paths: InstancePaths, owner: Owner) -> None:
    """Make what the sessions and the memory are mounted on; what is in the way is moved aside.

    Raises:
        CspaceError: it can not be made.
    """
    files.ensure_directory(paths.sessions, owner=owner, mode=0o700)
    beneath.ensure_way(paths.sessions, _MEMORY, owner=owner)
    projects = _projects(paths)
    beneath.ensure_way(paths.state, projects, owner=owner)
    with beneath.pinned(paths.state, projects) as place:
        earlier = any(place.iterdir())
    if earlier:
        # A container that an earlier cspace made mounts the memory there.
        beneath.ensure_way(paths.state, projects / _MEMORY, owner=owner)


def move_earlier(paths: InstancePaths, owner: Owner) -> None:
    """Move what an earlier cspace left in an instance's own directory to where it outlives that.

    No container may run. Nothing is overwritten: another file of that name is kept beside as
    `<stem>.older<suffix>`. Links and special files stay, except in directories that move whole.

    Raises:
        CspaceError: some of it could not be moved; what was moved already is found again.
    """
    try:
        source = beneath.open_directory(paths.state, _projects(paths), unlock=True)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if _holds_something(source):
            files.ensure_directory(paths.sessions, owner=owner, mode=0o700)
            target = beneath.open_directory(
                paths.sessions.parent, PurePosixPath(paths.sessions.name), unlock=True
            )
            try:
                _merge(source, target, 0)
            finally:
                os.close(target)
    except (CspaceError, OSError) as error:
        place = paths.state / _projects(paths)
        raise CspaceError(
            f"the transcripts in {place} can not be moved to {paths.sessions}: {expected(error)}",
            hint=f"to keep them: cp -an {quote(str(place))}/. {quote(str(paths.sessions))}"
            f" && cspace down {paths.state.name}; to lose them: --discard {paths.state.name}",
        ) from error
    finally:
        os.close(source)


def forget_empty(paths: InstancePaths) -> bool:
    """Remove a sessions directory in which nothing lies; tell whether there is one afterwards."""
    whole = PurePosixPath(paths.sessions.name, _MEMORY)
    for place in (whole, *whole.parents[:-1]):
        with (
            contextlib.suppress(OSError),
            beneath.pinned(paths.sessions.parent, place.parent) as parent,
        ):
            (parent / place.name).rmdir()
    return paths.sessions.is_dir()


def _projects(paths: InstancePaths) -> PurePosixPath:
    return PurePosixPath(paths.claude.name) / _PROJECTS


def _holds_something(directory: int) -> bool:
    with os.scandir(directory) as entries:
        return next(entries, None) is not None


def _merge(source: int, target: int, depth: int) -> None:
    for name in os.listdir(source):
        mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            _move_directory(name, source, target, depth)
        elif stat.S_ISREG(mode):
            _move_file(name, source, target)
    os.fsync(target)


def _move_directory(name: str, source: int, target: int, depth: int) -> None:
    # To move a directory is to write to it, and its owner may have no right to.
    below = beneath.open_child(source, name, unlock=True)
    try:
        if _renamed(name, (name,), source, target):
            return
        # A deeper one moves whole.
        there = _open_to_merge(name, target) if depth < beneath.MAX_DEPTH else None
        if there is None:
            _renamed(name, iter_marked(name, _MARK), source, target)
            return
        try:
            _merge(below, there, depth + 1)
        finally:
            os.close(there)
    finally:
        os.close(below)
    with contextlib.suppress(OSError):  # links, and what else did not move
        os.rmdir(name, dir_fd=source)


def _renamed(name: str, free: Iterable[str], source: int, target: int) -> bool:
    """Move a directory to the first name that nothing has but an empty directory."""
    for each in free:
        try:
            os.rename(name, each, src_dir_fd=source, dst_dir_fd=target)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        else:
            return True
    return False


def _open_to_merge(name: str, target: int) -> int | None:
    try:
        return beneath.open_child(target, name, unlock=True)
    except NotADirectoryError:
        return None


def _move_file(name: str, source: int, target: int) -> None:
    for free in itertools.chain((name,), iter_marked(name, _MARK)):
        with contextlib.suppress(FileExistsError):
            os.link(name, free, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
            break
        if _same(name, source, free, target):
            break
    os.unlink(name, dir_fd=source)


def _same(name: str, source: int, other: str, target: int) -> bool:
    """Tell whether two names are regular files with the same bytes; one not ours to read is not."""
    try:
        with _opened(name, source) as ours, _opened(other, target) as theirs:
            here, there = os.fstat(ours.fileno()), os.fstat(theirs.fileno())
            if here.st_size != there.st_size:
                return False
            pairs = iter(lambda: (ours.read(_CHUNK), theirs.read(_CHUNK)), (b"", b""))
            return os.path.samestat(here, there) or all(mine == its for mine, its in pairs)
    except OSError:
        return False


def _opened(name: str, parent: int) -> BinaryIO:
    return os.fdopen(beneath.open_child_file(parent, name), "rb")
