"""Writes that are whole or absent, and locks.

A temporary file is named `.<name>.<random>.cspace-tmp` and holds a flock while its writer lives, so
that another container, whose process ids mean nothing here, can tell debris from work in progress.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace.errors import Conflict, CspaceError

TEMPORARY_SUFFIX = ".cspace-tmp"
LOCK_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Owner:
    """Who a created file belongs to."""

    uid: int
    gid: int


def write_atomic(
    path: Path, data: str | bytes, *, mode: int = 0o644, owner: Owner | None = None
) -> None:
    """Replace path with data: a reader sees the old file or the new one, never a mix.

    Protects one write: a read-modify-write still needs a lock.

    Raises:
        OSError: nothing was changed and no temporary file was left behind.
    """
    with temporary(path, data, mode=mode, owner=owner) as written:
        written.replace(path)
    sync_directory(path.parent)


def publish(
    path: Path, data: str | bytes, *, mode: int = 0o644, owner: Owner | None = None
) -> None:
    """Create path with data, whole at once, never over anything that is there.

    link(2) has O_EXCL's rule and, unlike it, no moment in which the file is empty.

    Raises:
        FileExistsError: the name is taken; nothing was changed.
        OSError: nothing was changed and no temporary file was left behind.
    """
    publish_first_free((path,), data, mode=mode, owner=owner)


def publish_first_free(
    candidates: Iterable[Path], data: str | bytes, *, mode: int = 0o644, owner: Owner | None = None
) -> Path:
    """Create the first of the candidates that is free, as `publish` does, and return it.

    Args:
        candidates: paths in one directory, in the order to try; may be endless.

    Raises:
        FileExistsError: every name is taken; nothing was changed.
    """
    candidates = iter(candidates)
    first = next(candidates)
    with temporary(first, data, mode=mode, owner=owner) as written:
        for path in itertools.chain((first,), candidates):
            with contextlib.suppress(FileExistsError):
                os.link(written, path)
                sync_directory(path.parent)
                return path
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(first))


@contextlib.contextmanager
def temporary(
    path: Path, data: str | bytes, *, mode: int = 0o600, owner: Owner | None = None
) -> Iterator[Path]:
    """Give a temporary file beside path that holds data, for as long as the block lasts."""
    content = data.encode("utf-8") if isinstance(data, str) else data
    written, descriptor = _create_temporary(path)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.fchmod(descriptor, mode)
        give(descriptor, owner)
        os.fsync(descriptor)
        yield written
    finally:
        with contextlib.suppress(FileNotFoundError):
            written.unlink()
        os.close(descriptor)


def _create_temporary(path: Path) -> tuple[Path, int]:
    while True:
        temporary = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}{TEMPORARY_SUFFIX}")
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # A sweeper that came between the two calls took the file for debris.
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)


def sweep(directory: Path) -> None:
    """Remove the temporary files in directory whose writer is gone."""
    for path in _list_temporary(directory):
        with contextlib.suppress(OSError), _free(path):
            path.unlink()


def list_abandoned(directory: Path) -> tuple[Path, ...]:
    """List the temporary files that `sweep` would remove; none where there is no directory."""
    try:
        return tuple(path for path in _list_temporary(directory) if not is_locked(path))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _list_temporary(directory: Path) -> list[Path]:
    return sorted(
        Path(entry.path)
        for entry in os.scandir(directory)
        if entry.name.startswith(".") and entry.name.endswith(TEMPORARY_SUFFIX)
    )


@contextlib.contextmanager
def _free(path: Path) -> Iterator[None]:
    """Hold a file that nobody holds; raises OSError where somebody does."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Tell whether somebody holds the lock of path at this moment; creates nothing."""
    try:
        with _free(path):
            return False
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False


def sync_directory(directory: Path) -> None:
    """Make a rename or link in directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def give(target: int | Path, owner: Owner | None) -> None:
    """Give a file that we just created to its owner; nothing to do unless we are root."""
    if owner is not None and os.geteuid() == 0:
        os.chown(target, owner.uid, owner.gid, follow_symlinks=isinstance(target, int))


def may_write(found: os.stat_result, owner: Owner) -> bool:
    """Tell whether owner, or its group, may write to what has this status."""
    by_group = found.st_gid == owner.gid and found.st_mode & stat.S_IWGRP
    return found.st_uid == owner.uid or bool(by_group) or bool(found.st_mode & stat.S_IWOTH)


def ensure_directory(path: Path, *, owner: Owner | None = None, mode: int = 0o755) -> None:
    """Create path and its missing parents, all of them the owner's; leave what exists as it is.

    Raises:
        CspaceError: something on the way exists and is not a directory.
    """
    if not path.parent.is_dir():
        ensure_directory(path.parent, owner=owner, mode=mode)
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        if not path.is_dir():
            raise CspaceError(f"{path} is in the way: a directory is needed there") from None
    else:
        give(path, owner)


@contextlib.contextmanager
def lock(
    path: Path, *, timeout: float, holder: str, owner: Owner | None = None, name: str | None = None
) -> Iterator[int]:
    """Hold the advisory lock of path, which stays in place: unlinking it would split the waiters.

    Gives the descriptor that holds it. A program that inherits it holds the lock with us, and after
    a kill in our place.

    Args:
        timeout: seconds to wait for another holder.
        holder: who we are, for the error that a waiter gets. Best effort.
        name: what a waiter's error calls the locked thing; the path by default.

    Raises:
        Conflict: somebody else held it for the whole time.
    """
    descriptor = _open_lock(path, owner, f"{name}.lock" if name else str(path))
    try:
        _acquire(descriptor, name or str(path), timeout)
        _sign(descriptor, f"{holder}\n")
        yield descriptor
        # The next holder may be one who can not sign: no name is better than the wrong one.
        _sign(descriptor, "")
        # Whatever runs on in the background after a good end does not hold it any longer.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _open_lock(path: Path, owner: Owner | None, shown: str) -> int:
    # Published with its mode: a process with a strict umask must not shut out other uids.
    if not os.path.lexists(path):
        with contextlib.suppress(FileExistsError):
            publish(path, b"", owner=owner)
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, os.O_RDWR | flags)
    except (PermissionError, IsADirectoryError):
        descriptor = os.open(path, os.O_RDONLY | flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CspaceError(
            f"{shown} is not a regular file, so it can not be a lock",
            hint=f"look at it and move it away: ls -ld {shown}",
        )
    return descriptor


def _sign(descriptor: int, text: str) -> None:
    # Another uid's lock file is opened read-only: flock works on it, signing does not. A file of
    # two names may be somebody's text.
    with contextlib.suppress(OSError):
        if os.fstat(descriptor).st_nlink == 1:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, text.encode(), 0)


def _signature(descriptor: int) -> str:
    """Return who signed a lock; its content is whatever somebody wrote there."""
    lines = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip().splitlines()
    name = lines[0] if lines else ""
    return "".join(mark for mark in name if mark.isprintable()) or "another process"


def _acquire(descriptor: int, locked: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Conflict(
                    f"{locked} has been locked by {_signature(descriptor)} for {timeout:g} s",
                    hint="wait for it to end, then try again",
                ) from None
            time.sleep(LOCK_POLL_SECONDS)
        else:
            return
