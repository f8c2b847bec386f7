"""One look at a directory of documents, through one descriptor.

A call that looks at thousands of documents opens their directory once: every name is then looked up
in that very directory, whatever is swapped for it meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from cspace import beneath
from cspace.errors import CspaceError

SUFFIX = ".md"
_CHUNK = 1024 * 1024
# O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# What no line and no JSON can show, and what could be taken for a line of its own.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class UnreadableDocument(CspaceError):
    """A link, a FIFO, a directory, another's file: it is left as it is."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is left as it is, and why."""

    path: str
    reason: str


class Document(NamedTuple):
    """What was read of a file.

    Attributes:
        status: of the very file that was read, as it was before the first byte.
        steady: whether the file was the same after the last byte.
    """

    content: bytes
    status: os.stat_result
    steady: bool


class Stamp(NamedTuple):
    """What a change of a file's content can not leave as it is, even one that resets its times."""

    device: int
    inode: int
    size: int
    mtime: int
    ctime: int


def stamp_of(status: os.stat_result) -> Stamp:
    """Return a file's stamp."""
    return Stamp(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """A directory that is held open.

    Attributes:
        relative: where it is, for messages.
        descriptor: None where there is no such directory; then it holds nothing.
    """

    relative: PurePosixPath
    descriptor: int | None

    def list_names(self) -> list[str]:
        """Return the names of all that the directory holds, in no order.

        Not of documents only: of ten thousand names a caller looks at few.
        """
        if self.descriptor is None:
            return []
        before = os.fstat(self.descriptor).st_mtime_ns
        names = os.listdir(self.descriptor)  # noqa: PTH208  Path takes no descriptor
        if os.fstat(self.descriptor).st_mtime_ns != before:  # as in scan
            names = list({*names, *os.listdir(self.descriptor)})  # noqa: PTH208
        return names

    def list_stems(self) -> list[str]:
        """Return the names of what looks like a document, in no order."""
        return [name[: -len(SUFFIX)] for name in self.list_names() if is_document(name)]

    def scan(self) -> Iterator[tuple[str, os.stat_result]]:
        """Give each document's name and status; the same name twice where it changes meanwhile.

        Where the directory changes while it is read, it is read once more: not every file system
        then gives the names that were there all the time.
        """
        if self.descriptor is None:
            return
        before = os.fstat(self.descriptor).st_mtime_ns
        yield from self._scan(self.descriptor)
        if os.fstat(self.descriptor).st_mtime_ns != before:
            yield from self._scan(self.descriptor)

    def _scan(self, descriptor: int) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if is_document(entry.name):
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.name[: -len(SUFFIX)], entry.stat(follow_symlinks=False)

    def status(self, stem: str) -> os.stat_result | None:
        """Return a document's status, None when there is none; a link's is the link's own."""
        try:
            return os.stat(stem + SUFFIX, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return None

    def read(self, stem: str, *, start: int | None = None) -> Document:
        """Read a document.

        Args:
            start: only this many of its first bytes, however many it has; None for all.

        Raises:
            FileNotFoundError: there is no such document.
            UnreadableDocument: it is not a regular file, not ours to read, or too big.
        """
        if self.descriptor is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), stem)
        return _read_named(self.relative, stem + SUFFIX, self.descriptor, start)


def is_document(name: str) -> bool:
    """Whether a name is a document's: hidden files, locks and all others are none."""
    return name.endswith(SUFFIX) and name[0] != "."


def read_document(path: PurePosixPath, directory: int, *, start: int | None = None) -> Document:
    """Read the document that directory holds under path's last component.

    Args:
        path: names it in messages.
        start: only this many of its first bytes, however many it has; None for all.
    """
    return _read_named(path.parent, path.name, directory, start)


def _read_named(
    parent: PurePosixPath, name: str, directory: int, start: int | None = None
) -> Document:
    # A path costs as much as opening the file: it is made for messages only.
    if _UNFIT.search(name):
        raise UnreadableDocument(f"{show_path(parent / name)}: its name can not be shown")
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=directory)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableDocument(f"{parent / name}: {reason(error)}") from error
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableDocument(f"{parent / name}: not a regular file")
        if start is None:
            content = _read_whole(descriptor, before.st_size)
        else:
            content = os.read(descriptor, start)
        if content is None:
            raise UnreadableDocument(f"{parent / name}: larger than {beneath.MAX_BYTES} bytes")
        return Document(content, before, _is_unchanged(before, os.fstat(descriptor)))
    except OSError as error:
        raise UnreadableDocument(f"{parent / name}: {reason(error)}") from error
    finally:
        os.close(descriptor)


def _is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    # Of one descriptor, whose device and inode are the same.
    return (
        before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
        and before.st_size == after.st_size
    )


def _read_whole(descriptor: int, size: int) -> bytes | None:
    """Return what a file holds, None when that is too much; size is only where to start."""
    if size > beneath.MAX_BYTES:
        return None
    chunks = [os.read(descriptor, size + 1)]
    total = len(chunks[0])
    if total == size:  # one more was asked for, so this is the end
        return chunks[0]
    while chunks[-1] and total <= beneath.MAX_BYTES:
        chunks.append(os.read(descriptor, _CHUNK))
        total += len(chunks[-1])
    return b"".join(chunks) if total <= beneath.MAX_BYTES else None


def show_path(path: PurePosixPath) -> str:
    """Return a path for people: what can not be shown is escaped."""
    return _UNFIT.sub(lambda mark: mark[0].encode("unicode_escape").decode(), str(path))


def reason(error: OSError) -> str:
    """Say what is wrong with a path that an agent could have swapped."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a link or another file stands where cspace expects its own"
    return error.strerror or str(error)
