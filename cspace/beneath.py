"""Paths below a directory that others write to, opened component by component.

Any component can be swapped for a link while we look, so each one is opened from its parent's
descriptor and none is followed.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterator, Set
from pathlib import Path, PurePosixPath

from cspace.errors import CspaceError
from cspace.files import Owner, give

# What somebody else may write is read up to here: far above what a person writes, below what would
# hurt a reader of many.
MAX_BYTES = 8 * 1024 * 1024
# Nobody nests notes this deep. Deeper, our descriptors or Python's stack would end where somebody
# else wants them to.
MAX_DEPTH = 64
_REPOSITORY = {"objects", "refs"}
_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def makes_repository(names: Set[str]) -> bool:
    """Whether a directory of these lower-case names is a git repository as soon as it has a HEAD.

    git then reads settings in it, which can run programs.
    """
    return names >= _REPOSITORY or "commondir" in names


def ensure_directory(root: Path, relative: PurePosixPath, *, owner: Owner | None = None) -> None:
    """Create the directories of relative below root, without following a link in any component.

    Raises:
        CspaceError: a component is a link or anything else that is not a directory.
    """
    try:
        os.close(open_directory(root, relative, create=True, owner=owner))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise CspaceError(
                f"{root / relative} can not be made: {error.strerror}",
                hint=f"see who owns what it lies in: ls -ld {root}",
            ) from error
        raise CspaceError(
            f"{root / relative}: {error.filename} is not a directory of its own: {error.strerror}",
            hint=f"look at it and move it away: ls -ld {root / relative}",
        ) from error


def open_directory(
    root: Path,
    relative: PurePosixPath,
    *,
    create: bool = False,
    owner: Owner | None = None,
    unlock: bool = False,
) -> int:
    """Open a directory below root without following a link in any component.

    The caller closes the descriptor.

    Args:
        create: make missing components below root, all of them the owner's.
        unlock: give the owner back the rights on a component that somebody took away.

    Raises:
        OSError: root or a component is missing, a link, or not a directory.
        CspaceError: the path leaves root.
    """
    if relative.is_absolute() or ".." in relative.parts:
        raise CspaceError(f"{relative} is not a path below {root}")
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    directory = os.open(root, flags)
    for part in relative.parts:
        try:
            made = create and _make_directory(part, directory)
            child = open_child(directory, part, unlock=unlock)
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
    # What is written into it survives a power cut only together with its name.
    os.fsync(parent)
    return True


def open_child(parent: int, name: str, *, unlock: bool = False) -> int:
    """Open a directory by its parent's descriptor and its name; the caller closes it.

    Raises:
        OSError: it is missing, a link, not a directory, or not ours to read.
    """
    handle = os.open(name, os.O_PATH | _DIRECTORY, dir_fd=parent)
    try:
        # A path through the handle leads to this very directory, and to no link.
        place = f"/proc/self/fd/{handle}"
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if unlock and mode & stat.S_IRWXU != stat.S_IRWXU:
            with contextlib.suppress(PermissionError):
                Path(place).chmod(mode | stat.S_IRWXU)
        return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)


def open_child_file(parent: int, name: str) -> int:
    """Open a regular file in an open directory, and no link; the caller closes it.

    Raises:
        OSError: it is missing, a link, not a regular file, or not ours to read.
    """
    # O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return descriptor


def ensure_link(
    root: Path, relative: PurePosixPath, target: str, *, owner: Owner | None = None
) -> None:
    """Make relative below root a link to target; another link or an empty directory gives way.

    Raises:
        CspaceError: something with content is in the way, or a parent is not a directory.
    """
    ensure_directory(root, relative.parent, owner=owner)
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
        if not path.is_symlink() and not (path.is_dir() and not any(path.iterdir())):
            _rename_aside(path)


def _rename_aside(path: Path) -> None:
    names = (f"{path.name}.aside-{number}" for number in itertools.count(2))
    for name in itertools.chain((f"{path.name}.aside",), names):
        if not os.path.lexists(path.with_name(name)):
            path.rename(path.with_name(name))
            return


def ensure_way(root: Path, relative: PurePosixPath, *, owner: Owner | None = None) -> None:
    """Create the directories of relative below root, whatever an agent made of them before.

    What is not a directory, a link too, is renamed to `<name>.aside`, `<name>.aside-2` and on;
    rights that were taken from the owner of one come back. Nothing is lost or followed.

    Raises:
        OSError: root itself is a link, or no directory.
        CspaceError: a component is swapped while we look.
    """
    with contextlib.ExitStack() as opened:
        directory = open_directory(root.parent, PurePosixPath(root.name), unlock=True)
        opened.callback(os.close, directory)
        for part in relative.parts:
            try:
                directory = open_child(directory, part, unlock=True)
            except FileNotFoundError:
                break
            except NotADirectoryError:
                _rename_aside(Path(f"/proc/self/fd/{directory}/{part}"))
                break
            opened.callback(os.close, directory)
    ensure_directory(root, relative, owner=owner)


@contextlib.contextmanager
def pinned(
    root: Path,
    relative: PurePosixPath,
    *,
    create: bool = False,
    owner: Owner | None = None,
    unlock: bool = False,
) -> Iterator[Path]:
    """Give a path to a directory below root that stays the same one, whatever is swapped.

    It leads through our own descriptor, so every function that takes a path works below it.
    Arguments and errors as for `open_directory`.
    """
    descriptor = open_directory(root, relative, create=create, owner=owner, unlock=unlock)
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def open_file(root: Path, relative: PurePosixPath, *, flags: int = os.O_RDONLY) -> int:
    """Open a regular file below root without following a link in any component.

    Any component can be swapped for a link while we look, so each one is opened from its parent's
    descriptor. The caller closes the descriptor.

    Raises:
        OSError: a component is missing, a link, or not a directory.
        CspaceError: the path leaves root, or is not a regular file.
    """
    if not relative.name:
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


def read_file(root: Path, relative: PurePosixPath) -> bytes:
    """Read a regular file below root without following links; errors as for `open_file`.

    Raises:
        CspaceError: it has more than MAX_BYTES, too.
    """
    return read_limited(open_file(root, relative), str(root / relative))


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
