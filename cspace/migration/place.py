"""Looks at the target, whose directories and files an agent can swap while we look."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cspace import beneath
from cspace.errors import CspaceError
from cspace.migration.model import Target
from cspace.migration.names import fold

CHUNK_BYTES = 256 * 1024
# What opening something says that is not what it should be.
OBSTACLES = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO})


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands at a name.

    Attributes:
        digest: SHA-256 of a file; None where there is none that can be read.
        obstacle: says what else stands there; empty for a file and for nothing.
    """

    digest: str | None = None
    obstacle: str = ""


ABSENT = Standing()


@dataclass(frozen=True)
class Place:
    """A target as it is found; each directory is listed once."""

    target: Target
    _listed: dict[PurePosixPath, dict[str, set[str]]] = field(default_factory=dict)

    def names(self, directory: PurePosixPath) -> dict[str, set[str]]:
        """Return the names in a directory, by what is the same to some file system.

        Raises:
            OSError: it is not a directory of its own; one that is missing holds nothing.
        """
        if directory not in self._listed:
            names: dict[str, set[str]] = {}
            for name in self._list(directory):
                names.setdefault(fold(name), set()).add(name)
            self._listed[directory] = names
        return self._listed[directory]

    def _list(self, directory: PurePosixPath) -> list[str]:
        try:
            descriptor = self.open(directory)
        except FileNotFoundError:
            return []
        try:
            return os.listdir(descriptor)  # noqa: PTH208  Path takes no descriptor
        finally:
            os.close(descriptor)

    def open(self, directory: PurePosixPath, *, create: bool = False) -> int:
        """Open a directory, as `beneath.open_directory` does; the caller closes it."""
        place = self.target.place / directory
        return beneath.open_directory(
            self.target.root, place, create=create, owner=self.target.owner
        )

    def look(self, path: PurePosixPath) -> Standing:
        """Say what stands at a path."""
        try:
            parent = self.open(path.parent)
        except OSError as error:
            return look_away(error)
        try:
            return look(parent, path.name)
        finally:
            os.close(parent)

    def read_small(self, path: PurePosixPath) -> bytes | None:
        """Read a file that a person could have written; None where it is missing, or larger."""
        try:
            return beneath.read_file(self.target.root, self.target.place / path)
        except (OSError, CspaceError):
            return None


def look(parent: int, name: str) -> Standing:
    """Say what stands at a name in an open directory."""
    try:
        descriptor = beneath.open_child_file(parent, name)
    except OSError as error:
        return look_away(error)
    try:
        return Standing(digest_of(descriptor))
    except OSError as error:
        return look_away(error)
    finally:
        os.close(descriptor)


def look_away(error: OSError) -> Standing:
    """Say what stands where a file can not be opened."""
    if error.errno == errno.ENOENT:
        return ABSENT
    if error.errno in OBSTACLES:
        return Standing(obstacle="in the target something that is not a file is in its way")
    return Standing(obstacle=f"the target's own can not be read: {error.strerror}")


def digest_of(descriptor: int) -> str:
    """Return the SHA-256 of an open file, in hex."""
    digest = hashlib.sha256()
    for chunk in read_chunks(descriptor):
        digest.update(chunk)
    return digest.hexdigest()


def read_chunks(descriptor: int) -> Iterator[bytes]:
    """Read an open file to its end."""
    while chunk := os.read(descriptor, CHUNK_BYTES):
        yield chunk
