"""Writes a memory into one tar file: a manifest of hashes first, then every regular file.

An agent may write to the memory meanwhile: each file is read once, and the manifest tells what was
read of it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import IO

from cspace import beneath, files
from cspace.clock import Clock
from cspace.errors import Conflict, CspaceError, NotFound
from cspace.events import Event, Report, State
from cspace.files import TEMPORARY_SUFFIX, Owner
from cspace.migration import manifest
from cspace.migration.manifest import Entry, Manifest, dump_manifest
from cspace.paths import MEMORY

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something in the memory that is not exported."""

    path: PurePosixPath
    reason: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What was exported, by path."""

    manifest: Manifest
    left_out: tuple[LeftOut, ...]


@dataclass(slots=True)
class _Packing:
    """The members so far: a file's hash is known when it was read, and stands before all of them.

    Attributes:
        body: an unnamed file that holds the members, without the end of an archive.
    """

    body: IO[bytes]
    report: Report
    entries: list[Entry] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    size: int = 0

    def leave_out(self, path: PurePosixPath, reason: str) -> None:
        self.left_out.append(LeftOut(path, reason))

    def add(self, path: PurePosixPath, descriptor: int) -> None:
        """Pack a regular file; what is appended meanwhile is not read."""
        status = os.fstat(descriptor)
        self.size += status.st_size
        if len(self.entries) == manifest.MAX_FILES or self.size > manifest.MAX_TOTAL_BYTES:
            raise CspaceError(
                f"the memory is too large: over {manifest.MAX_FILES} files or"
                f" {manifest.MAX_TOTAL_BYTES} bytes",
                hint=f"look for what is no memory there: du -ah {MEMORY} | sort -h",
            )
        member = _member(str(manifest.PLACE / path), status.st_size)
        member.mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
        member.mtime = max(int(status.st_mtime), 0)
        self.body.write(_header(member))
        digest = self._copy(path, descriptor, status.st_size)
        self.body.write(_padding(status.st_size))
        self.entries.append(Entry(path, status.st_size, digest))
        self.report(Event("memory", "export", State.ADVANCED, done=self.size))

    def _copy(self, path: PurePosixPath, descriptor: int, size: int) -> str:
        digest, left = hashlib.sha256(), size
        while left:
            part = os.read(descriptor, min(left, _CHUNK))
            if not part:
                raise Conflict(
                    f"{str(path)!r} became shorter while it was read", hint="the same command again"
                )
            digest.update(part)
            self.body.write(part)
            left -= len(part)
        return digest.hexdigest()


def export_memory(root: Path, out: IO[bytes], now: Clock, report: Report) -> Exported:
    """Write the memory of a project as a tar stream; the same memory gives the same bytes.

    But for the time in the manifest. Links are not followed, and nothing but regular files is
    exported.

    Raises:
        NotFound: there is no memory.
        Conflict: a file became shorter while it was read.
    """
    with tempfile.TemporaryFile() as body:
        packing = _Packing(body, report)
        _walk_memory(root, packing)
        listed = Manifest(root.name, now(), tuple(packing.entries))
        head = dump_manifest(listed)
        out.write(_header(_member(manifest.NAME, len(head))) + head + _padding(len(head)))
        body.seek(0)
        while part := body.read(_CHUNK):
            out.write(part)
        out.write(b"\0" * 2 * tarfile.BLOCKSIZE)
    return Exported(listed, tuple(packing.left_out))


@contextlib.contextmanager
def new_file(path: Path, owner: Owner, *, force: bool) -> Iterator[IO[bytes]]:
    """Give what becomes the file at path when the block ends well, whole at once.

    Raises:
        Conflict: something stands there already, and it is not to be replaced, or no file.
        NotFound: the directory does not exist.
    """
    if not path.parent.is_dir():
        raise NotFound(
            f"{str(path.parent)!r} does not exist", hint=f"mkdir -p {quote(str(path.parent))}"
        )
    if os.path.lexists(path):
        if not force:
            raise _taken(path)
        if not path.is_file():
            raise Conflict(f"{str(path)!r} is not a file", hint="another name")
    # One that only its owner reads: memories are not for everybody on a machine.
    with files.temporary(path, b"", mode=0o600, owner=owner) as written:
        with written.open("r+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if force:
            written.replace(path)
        else:
            try:
                os.link(written, path)
            except FileExistsError:
                raise _taken(path) from None
    files.sync_directory(path.parent)


def _taken(path: Path) -> Conflict:
    return Conflict(f"{str(path)!r} exists already", hint="another name, or --force to replace it")


def _walk_memory(root: Path, packing: _Packing) -> None:
    try:
        directory = beneath.open_directory(root, PurePosixPath(MEMORY))
    except FileNotFoundError:
        raise NotFound(
            f"{root / MEMORY} does not exist: there is nothing to export", hint="cspace init"
        ) from None
    except OSError as error:
        raise CspaceError(
            f"{root / MEMORY} is not a directory of its own: {error.strerror}", hint="cspace doctor"
        ) from error
    try:
        _walk(directory, PurePosixPath(), packing)
    finally:
        os.close(directory)


def _walk(directory: int, path: PurePosixPath, packing: _Packing) -> None:
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    for entry in entries:
        below = path / entry.name
        reason = _refusal(entry, below)
        try:
            if reason:
                packing.leave_out(below, reason)
            elif entry.is_dir(follow_symlinks=False):
                _inside(directory, entry.name, below, packing)
            else:
                _pack(directory, entry.name, below, packing)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise  # where we write, and not what we read
            packing.leave_out(below, f"it can not be read: {error.strerror}")


def _refusal(entry: os.DirEntry[str], path: PurePosixPath) -> str:
    if entry.is_symlink():
        return "it is a link"
    if entry.name.lower() == ".git":
        return "it belongs to a git repository"
    if entry.name.endswith(TEMPORARY_SUFFIX):
        return "it is a temporary file of cspace"
    if entry.is_dir(follow_symlinks=False):
        return "it is nested too deep" if len(path.parts) > beneath.MAX_DEPTH else ""
    return "" if entry.is_file(follow_symlinks=False) else "it is a device, a FIFO or a socket"


def _inside(parent: int, name: str, path: PurePosixPath, packing: _Packing) -> None:
    directory = beneath.open_child(parent, name)
    try:
        _walk(directory, path, packing)
    finally:
        os.close(directory)


def _pack(parent: int, name: str, path: PurePosixPath, packing: _Packing) -> None:
    descriptor = beneath.open_child_file(parent, name)
    try:
        packing.add(path, descriptor)
    finally:
        os.close(descriptor)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def _header(member: tarfile.TarInfo) -> bytes:
    # GNU's form holds any name as its very bytes.
    return member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _padding(size: int) -> bytes:
    return b"\0" * (-size % tarfile.BLOCKSIZE)
