"""Writes that are whole or absent, locks, and paths opened component by component.

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
from pathlib import Path, PurePosixPath

from cspace.errors import Conflict, CspaceError

TEMPORARY_SUFFIX = ".cspace-tmp"
# What somebody else may write is read up to here: far above what a person writes, below what would
# hurt a reader of many.
MAX_BYTES = 8 * 1024 * 1024
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


def ensure_beneath(root: Path, relative: PurePosixPath, *, owner: Owner | None = None) -> None:
    """Create the directories of relative below root, without following a link in any component.

    Raises:
        CspaceError: a component is a link or anything else that is not a directory.
    """
    try:
        os.close(open_directory(root, relative, create=True, owner=owner))
    except OSError as error:
        raise CspaceError(
            f"{root / relative}: {error.filename} is not a directory of its own: {error.strerror}",
            hint=f"look at it and move it away: ls -ld {root / relative}",
        ) from error


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
    descriptor = _open_lock(path, owner)
    try:
        _acquire(descriptor, name or str(path), timeout)
        # Another uid's lock file is opened read-only: flock works on it, naming ourselves does not.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{holder}\n".encode(), 0)
        yield descriptor
        # Whatever runs on in the background after a good end does not hold it any longer.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _open_lock(path: Path, owner: Owner | None) -> int:
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o644)
    except FileExistsError:
        try:
            descriptor = os.open(path, os.O_RDWR | flags)
        except PermissionError:
            descriptor = os.open(path, os.O_RDONLY | flags)
    else:
        give(descriptor, owner)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CspaceError(f"{path} is not a regular file, so it can not be a lock")
    return descriptor


def _acquire(descriptor: int, locked: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                name = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "unknown"
                raise Conflict(
                    f"{locked} has been locked by {name} for {timeout:g} s",
                    hint="wait for it to end, then try again",
                ) from None
            time.sleep(LOCK_POLL_SECONDS)
        else:
            return


def open_directory(
    root: Path, relative: PurePosixPath, *, create: bool = False, owner: Owner | None = None
) -> int:
    """Open a directory below root without following a link in any component.

    The caller closes the descriptor.

    Args:
        create: make missing components below root, all of them the owner's.

    Raises:
        OSError: root or a component is missing, a link, or not a directory.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    directory = os.open(root, flags)
    for part in relative.parts:
        try:
            made = create and _make_directory(part, directory)
            child = os.open(part, flags | os.O_NOFOLLOW, dir_fd=directory)
            if made:
                give(child, owner)
        finally:
            os.close(directory)
        directory = child
    return directory


def _make_directory(name: str, parent: int) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def ensure_link(
    root: Path, relative: PurePosixPath, target: str, *, owner: Owner | None = None
) -> None:
    """Make relative below root a link to target; another link or an empty directory gives way.

    Raises:
        CspaceError: something with content is in the way, or a parent is not a directory.
    """
    ensure_beneath(root, relative.parent, owner=owner)
    with pinned(root, relative.parent) as parent:
        path = parent / relative.name
        if path.is_symlink():
            if path.readlink() == Path(target):
                return
            path.unlink()
        try:
            if path.exists():
                path.rmdir()
            path.symlink_to(target)
        except OSError as error:
            raise CspaceError(
                f"{root / relative} is in the way: a link to {target} is needed there",
                hint=f"look at it and move it away: ls -ld {root / relative}",
            ) from error
        give(path, owner)


def set_aside(root: Path, relative: PurePosixPath) -> None:
    """Rename what is at relative below root to `<name>.aside`, `<name>.aside-2` and on.

    A link stays, and so does an empty directory: neither holds anything.
    """
    with contextlib.suppress(FileNotFoundError), pinned(root, relative.parent) as parent:
        path = parent / relative.name
        if path.is_symlink() or (path.is_dir() and not any(path.iterdir())):
            return
        names = (f"{relative.name}.aside-{number}" for number in itertools.count(2))
        for name in itertools.chain((f"{relative.name}.aside",), names):
            if not os.path.lexists(parent / name):
                path.rename(parent / name)
                return


@contextlib.contextmanager
def pinned(
    root: Path, relative: PurePosixPath, *, create: bool = False, owner: Owner | None = None
) -> Iterator[Path]:
    """Give a path to a directory below root that stays the same one, whatever is swapped.

    It leads through our own descriptor, so every function that takes a path works below it. Errors
    as for `open_directory`.
    """
    descriptor = open_directory(root, relative, create=create, owner=owner)
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def open_beneath(root: Path, relative: PurePosixPath, *, flags: int = os.O_RDONLY) -> int:
    """Open a regular file below root without following a link in any component.

    Any component can be swapped for a link while we look, so each one is opened from its parent's
    descriptor. The caller closes the descriptor.

    Raises:
        OSError: a component is missing, a link, or not a directory.
        CspaceError: the path leaves root, or is not a regular file.
    """
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise CspaceError(f"{relative} is not a path below {root}")
    directory = open_directory(root, relative.parent)
    try:
        # O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
        descriptor = os.open(
            relative.name,
            flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
            0o644,
            dir_fd=directory,
        )
    finally:
        os.close(directory)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CspaceError(f"{root / relative} is not a regular file")
    return descriptor


def read_beneath(root: Path, relative: PurePosixPath) -> bytes:
    """Read a regular file below root without following links; errors as for `open_beneath`.

    Raises:
        CspaceError: it has more than MAX_BYTES, too.
    """
    return read_limited(open_beneath(root, relative), str(root / relative))


def read_limited(descriptor: int, name: str) -> bytes:
    """Read a file to its end and close it.

    Raises:
        CspaceError: it has more than MAX_BYTES; name says in the message which it is.
    """
    with os.fdopen(descriptor, "rb") as file:
        # Not by its size, which can grow meanwhile.
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise CspaceError(f"{name}: larger than {MAX_BYTES} bytes")
    return content
