"""The files of one memory: found without following a link, in directories that are held open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cspace import beneath
from cspace.claude_memory.place import Place
from cspace.docstore.opened import (
    Document,
    Opened,
    Skipped,
    UnreadableDocument,
    is_document,
    read_document,
    reason,
    show_path,
)
from cspace.errors import CspaceError, NotFound

# So that a directory that somebody filled does not keep a person waiting for ever.
MAX_NAMES = 100_000
MAX_TOTAL_BYTES = 128 * 1024 * 1024
# What the first lines of a file can take; more of it is not read for a list.
HEAD_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """A name below a memory.

    Attributes:
        path: relative to the memory.
        directory: what holds it, open for as long as the walk is at it.
        document: whether it is called like one, and is a regular file.
    """

    path: PurePosixPath
    directory: int
    document: bool


@dataclass(slots=True)
class Walk:
    """One look at a whole memory; what can not be read is noted in skipped."""

    place: Place
    skipped: list[Skipped] = field(default_factory=list)
    names: int = 0
    read: int = 0

    def found(self) -> Iterator[Found]:
        """Give every name, directory by directory, sorted; nothing where there is no memory.

        Raises:
            CspaceError: a link or anything else stands where the directory is expected.
        """
        try:
            descriptor = beneath.open_directory(self.place.root, self.place.relative)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CspaceError(
                f"{self.place.directory}: {reason(error)}",
                hint=f"look at it and move it away: ls -ld {self.place.directory}",
            ) from error
        yield from self._below(descriptor, PurePosixPath())

    def _below(self, descriptor: int, relative: PurePosixPath) -> Iterator[Found]:
        below = []
        try:
            for name in self._names(relative, descriptor):
                path = relative / name
                self.names += 1
                if self.names > MAX_NAMES:
                    self.skip(relative, f"more than {MAX_NAMES} names: the others are left out")
                    return
                kind = _kind(name, descriptor)
                if stat.S_ISDIR(kind):
                    below.append(path)
                elif kind:
                    document = is_document(name) and stat.S_ISREG(kind)
                    yield Found(path, descriptor, document)
            for path in below:
                yield from self._enter(descriptor, path)
        finally:
            os.close(descriptor)

    def _names(self, relative: PurePosixPath, descriptor: int) -> list[str]:
        try:
            return sorted(Opened(relative, descriptor).list_names())
        except OSError as error:
            self.skip(relative, reason(error))
            return []

    def _enter(self, parent: int, path: PurePosixPath) -> Iterator[Found]:
        if path.name.startswith("."):
            return
        if len(path.parts) > beneath.MAX_DEPTH:
            self.skip(path, f"deeper than {beneath.MAX_DEPTH} directories")
            return
        try:
            descriptor = beneath.open_child(parent, path.name)
        except FileNotFoundError:
            return
        except OSError as error:
            self.skip(path, reason(error))
            return
        yield from self._below(descriptor, path)

    def heads(self) -> Iterator[tuple[PurePosixPath, Document]]:
        """Give the beginning of every document: at most HEAD_BYTES of each."""
        return self._documents(HEAD_BYTES)

    def documents(self) -> Iterator[tuple[PurePosixPath, Document]]:
        """Give every document whole; beyond MAX_TOTAL_BYTES the others are noted in skipped."""
        return self._documents(None)

    def _documents(self, start: int | None) -> Iterator[tuple[PurePosixPath, Document]]:
        for one in self.found():
            document = self.load(one, start) if one.document else None
            if document is not None:
                yield one.path, document
            elif not one.document and is_document(one.path.name):
                self.skip(one.path, "not a regular file")

    def load(self, one: Found, start: int | None = None) -> Document | None:
        """Read a file, None where that is impossible."""
        if start is None and self.read > MAX_TOTAL_BYTES:
            self.skip(one.path, f"not read, after {MAX_TOTAL_BYTES} bytes of others")
            return None
        try:
            document = read_document(one.path, one.directory, start=start)
        except FileNotFoundError:
            return None  # removed since the directory was read
        except UnreadableDocument as error:
            self.skip(one.path, str(error).removeprefix(f"{show_path(one.path)}: "))
            return None
        self.read += len(document.content)
        return document

    def skip(self, path: PurePosixPath, why: str) -> None:
        """Note what is left out."""
        self.skipped.append(Skipped(show_path(path), why))


def _kind(name: str, directory: int) -> int:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except OSError:
        return 0


def read_memory(place: Place, path: PurePosixPath) -> Document:
    """Read one file whole.

    Raises:
        FileNotFoundError: there is none.
        UnreadableDocument: it is a link, a FIFO, too big, or not ours to read.
    """
    try:
        descriptor = beneath.open_directory(place.root, place.relative / path.parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableDocument(f"{show_path(path)}: {reason(error)}") from error
    try:
        return read_document(path, descriptor)
    finally:
        os.close(descriptor)


def missing(place: Place) -> NotFound:
    """Return what is said of a memory that holds nothing."""
    return NotFound(
        f"{place.directory} holds no memory yet",
        hint=f"Claude Code writes it: {place.writer}",
    )
