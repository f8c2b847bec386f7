"""Reads a tar stream once, entry by entry; a stream that is cut or broken is an error."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO, cast

from cspace.errors import MALFORMED, CspaceError
from cspace.migration.model import Source

CHUNK_BYTES = 256 * 1024
# tarfile reads a long name or a table of attributes whole, whatever size its header claims.
MAX_HEADER_BYTES = 1024 * 1024
MAX_ENTRIES = 1_000_000
_END = bytes(tarfile.BLOCKSIZE)


class Kind(StrEnum):
    """What an entry is; SPECIAL is a device, a FIFO or what tarfile does not know."""

    FILE = "file"
    HARD_LINK = "hard link"
    LINK = "link"
    DIRECTORY = "directory"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a stream.

    Attributes:
        name: as it stands there; bytes that are no UTF-8 are lone surrogates.
        size: bytes of a file.
        modified: seconds since 1970, whatever the stream says.
        leads: where a link leads, empty for all others.
        read: gives a file's content in chunks, once, before the next entry is asked for.
    """

    name: str
    kind: Kind
    size: int
    modified: float
    leads: str
    read: Callable[[], Iterator[bytes]]


def iter_entries(source: Source) -> Generator[Entry]:
    """Read a source from its beginning to its end.

    The caller closes what it does not read to its end.

    Raises:
        CspaceError: it is not a whole tar stream, or has more than MAX_ENTRIES entries.
    """
    with source.open() as stream:
        forward = _Forward(stream)
        with _translated(source):
            yield from _entries(source, forward)
        # Where a header is broken or the stream is cut between two entries tarfile just ends.
        if forward.last != _END:
            raise _broken(source, "it ends without a mark of its end")


@contextlib.contextmanager
def _translated(source: Source) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, *MALFORMED) as error:
        raise _broken(source, str(error)) from error


def _broken(source: Source, why: str) -> CspaceError:
    return CspaceError(
        f"{source.name} can not be read to its end: {why}",
        hint="try again; nothing of it was taken over",
    )


def _entries(source: Source, forward: _Forward) -> Iterator[Entry]:
    # Not mode "r|": that copies all that it reads into buffers of its own.
    archive = tarfile.TarFile(
        fileobj=cast("BinaryIO", forward), encoding="utf-8", errors="surrogateescape"
    )
    count = 0
    while (member := archive.next()) is not None:
        # It keeps all that it ever read; its stubs do not know that.
        archive.members.clear()  # type: ignore[attr-defined]
        count += 1
        if count > MAX_ENTRIES:
            raise ValueError(f"it has more than {MAX_ENTRIES:,} entries")
        yield _entry(source, archive, forward, member)


def _entry(
    source: Source, archive: tarfile.TarFile, forward: _Forward, member: tarfile.TarInfo
) -> Entry:
    def read() -> Iterator[bytes]:
        with _translated(source):
            if member.issparse():
                yield from _read_sparse(archive, member)
            else:
                yield from forward.read_file(member.offset_data, member.size)

    kind = _kind(member)
    if kind is Kind.FILE and member.size < 0:
        raise ValueError(f"{member.name!r} has a size of {member.size}")
    leads = member.linkname if kind in (Kind.LINK, Kind.HARD_LINK) else ""
    return Entry(member.name, kind, member.size, float(member.mtime), leads, read)


def _kind(member: tarfile.TarInfo) -> Kind:
    if member.isreg():
        return Kind.FILE
    if member.isdir():
        return Kind.DIRECTORY
    if member.islnk():
        return Kind.HARD_LINK
    return Kind.LINK if member.issym() else Kind.SPECIAL


def _read_sparse(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = archive.extractfile(member)
    while file is not None and (chunk := file.read(CHUNK_BYTES)):
        yield chunk


class _Forward(io.RawIOBase):
    """A stream with the positions that tarfile wants, which only go forward."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self._position = 0
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_HEADER_BYTES:
            raise ValueError(f"a header claims to have {size} bytes")
        self.last = self._stream.read(size)
        self._position += len(self.last)
        return self.last

    def tell(self) -> int:
        return self._position

    def seekable(self) -> bool:
        return True

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        missing = position - self._position
        if missing < 0 or whence != io.SEEK_SET:
            raise ValueError("its parts are not in order")
        while missing and (chunk := self.read(min(missing, CHUNK_BYTES))):
            missing -= len(chunk)
        return self._position

    def read_file(self, start: int, size: int) -> Iterator[bytes]:
        """Give a file's content in chunks; raises EOFError where the stream ends in it."""
        self.seek(start)
        while size:
            chunk = self.read(min(size, CHUNK_BYTES))
            if not chunk:
                raise EOFError("it ends in a file")
            size -= len(chunk)
            yield chunk
