"""Where the bytes of a migration lie until all of them are on the disk: beside the target.

No agent can write there, and what a killed call left is removed by the next one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace import beneath, files
from cspace.files import TEMPORARY_SUFFIX, Owner, give
from cspace.migration import place
from cspace.migration.model import Target
from cspace.migration.progress import Progress
from cspace.migration.stream import CHUNK_BYTES, Entry

LOCK_SECONDS = 60.0
_ZEROS = bytes(CHUNK_BYTES)
# What some file system can not hold is no time that a file was changed.
_LATEST = 2**32
_SUFFIX = f".migration{TEMPORARY_SUFFIX}"
# As that of a document: that is what every project has git ignore.
_LOCK = ".md.lock"


@dataclass(frozen=True, slots=True)
class Staging:
    """A directory of files, each named by its number.

    Attributes:
        directory: its descriptor.
    """

    directory: int
    owner: Owner

    def write(self, name: str, entry: Entry, progress: Progress) -> str:
        """Write an entry's content, keep its time, and return its SHA-256."""
        digest = hashlib.sha256()
        with self._create(name) as descriptor:
            for chunk in entry.read():
                digest.update(chunk)
                progress.advance(len(chunk))
                _write(descriptor, chunk)
            if entry.size >= CHUNK_BYTES:
                os.ftruncate(descriptor, entry.size)  # it may end with a hole
            if 0 <= entry.modified < _LATEST:
                os.utime(descriptor, (entry.modified, entry.modified))
        return digest.hexdigest()

    def copy(self, name: str, other: str) -> None:
        """Write what another file holds, with its time."""
        source = os.open(other, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.directory)
        try:
            status = os.fstat(source)
            with self._create(name) as descriptor:
                for chunk in place.read_chunks(source):
                    _write(descriptor, chunk)
                os.ftruncate(descriptor, status.st_size)
                os.utime(descriptor, ns=(status.st_mtime_ns, status.st_mtime_ns))
        finally:
            os.close(source)

    def read(self, name: str) -> bytes:
        """Return what a small file holds."""
        return beneath.read_limited(beneath.open_child_file(self.directory, name), name)

    def replace(self, name: str, content: bytes) -> None:
        """Give a file other content."""
        os.unlink(name, dir_fd=self.directory)
        with self._create(name) as descriptor:
            _write(descriptor, content)

    @contextlib.contextmanager
    def _create(self, name: str) -> Iterator[int]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=self.directory)
        try:
            os.fchmod(descriptor, 0o644)
            give(descriptor, self.owner)
            yield descriptor
        finally:
            os.close(descriptor)


def _write(descriptor: int, chunk: bytes) -> None:
    if chunk == _ZEROS:
        os.lseek(descriptor, len(chunk), os.SEEK_CUR)  # the hole of a sparse file
        return
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def locked(target: Target) -> Iterator[Path]:
    """Let one migration at a time into a target, and clear what a killed one left.

    Gives the directory that the target's place lies in.

    Raises:
        Conflict: another one was at work for LOCK_SECONDS.
        CspaceError: that directory is a link, or none.
    """
    above = target.place.parent
    beneath.ensure_directory(target.root, above, owner=target.owner)
    with beneath.pinned(target.root, above) as directory:
        lock = directory / f".{target.place.name}{_LOCK}"
        shown = str(target.root / target.place)
        # What a kill left while it made the lock is the same file, and in use once we hold that.
        files.sweep(directory)
        with files.lock(
            lock, timeout=LOCK_SECONDS, holder="a migration", owner=target.owner, name=shown
        ):
            _clear(directory / _name(target))
            yield directory


@contextlib.contextmanager
def staging(target: Target, directory: Path) -> Iterator[Staging]:
    """Make a directory for the files of a migration, for as long as the block lasts."""
    path = directory / _name(target)
    path.mkdir(0o700)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            give(descriptor, target.owner)
            yield Staging(descriptor, target.owner)
        finally:
            os.close(descriptor)
    finally:
        _clear(path)


def list_staged(above: Path) -> tuple[tuple[Path, Path], ...]:
    """List the directories for migrations to a place in above, each with the lock of its place.

    Whose lock nobody holds is what a killed migration left.
    """
    names = (path.name.removesuffix(_SUFFIX) for path in sorted(above.glob(f".*{_SUFFIX}")))
    return tuple((above / f"{name}{_SUFFIX}", above / f"{name}{_LOCK}") for name in names)


def _name(target: Target) -> str:
    return f".{target.place.name}{_SUFFIX}"


def _clear(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)
