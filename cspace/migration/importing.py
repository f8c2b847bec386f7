"""Reads an exported memory: all of it is checked before any of it is used."""

from __future__ import annotations

import contextlib
import hashlib
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from cspace.errors import MALFORMED, CspaceError, NotFound
from cspace.migration import manifest
from cspace.migration.manifest import Entry, Manifest, parse_manifest
from cspace.migration.model import Source

SUFFIX = "imported"
AGAIN = "export it anew: cspace memory export FILE.tar"
_CHUNK = 1024 * 1024
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


@dataclass(frozen=True, slots=True)
class Export:
    """An exported memory that was checked, and where its files are read from."""

    manifest: Manifest
    source: Source


@contextlib.contextmanager
def open_export(path: Path) -> Iterator[Export]:
    """Give an exported memory for as long as the block lasts.

    Raises:
        NotFound: there is no such file.
        CspaceError: it is not an exported memory, or not a whole one.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"{str(path)!r} does not exist", hint=AGAIN) from None
    with file, read_export(file, str(path)) as export:
        yield export


@contextlib.contextmanager
def read_export(stream: IO[bytes], name: str) -> Iterator[Export]:
    """Give an exported memory that comes from a stream; errors as for `open_export`.

    It is copied into an unnamed file first: what was checked is what is used, whoever writes to the
    file meanwhile.
    """
    with tempfile.TemporaryFile() as spool:
        listed = _check(_Spool(stream, spool), name)
        spool.flush()

        @contextlib.contextmanager
        def again() -> Iterator[BinaryIO]:
            # Not the same description, whose position all openings would share.
            with Path(f"/proc/self/fd/{spool.fileno()}").open("rb") as opened:
                yield opened

        yield Export(listed, Source(f"export {name}", SUFFIX, again))


def wanted(path: PurePosixPath) -> PurePosixPath | None:
    """Return where a member belongs in the memory; None for the manifest."""
    return path.relative_to(manifest.PLACE) if path.is_relative_to(manifest.PLACE) else None


def _check(spool: _Spool, name: str) -> Manifest:
    """Compare every member with the manifest.

    Raises:
        CspaceError: names the file, and what is wrong in it.
    """
    start = spool.read(8)
    spool.seek(0)
    for magic, kind in _COMPRESSED.items():
        if start.startswith(magic):
            raise CspaceError(
                f"{name!r} is compressed ({kind}): an exported memory is a plain tar file",
                hint="decompress it first",
            )
    try:
        file = cast("BinaryIO", spool)
        with tarfile.open(
            fileobj=file, mode="r:", encoding="utf-8", errors="surrogateescape"
        ) as tar:
            listed = _read_manifest(tar)
            _check_members(tar, listed)
    except CspaceError as error:
        raise CspaceError(f"{name!r}: {error}", hint=error.hint or AGAIN) from error
    except (tarfile.TarError, EOFError, *MALFORMED) as error:
        raise CspaceError(f"{name!r} is not a whole tar file: {error}", hint=AGAIN) from error
    return listed


def _read_manifest(tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    if first is None or first.name != manifest.NAME:
        raise CspaceError(f"its first member is not {manifest.NAME}: it is not an exported memory")
    _check_regular(first)
    if first.size > manifest.MAX_MANIFEST_BYTES:
        raise CspaceError(
            f"{manifest.NAME} has {first.size} bytes: more than {manifest.MAX_MANIFEST_BYTES}"
        )
    return parse_manifest(b"".join(_iter_content(tar, first)))


def _check_members(tar: tarfile.TarFile, listed: Manifest) -> None:
    missing = {str(manifest.PLACE / one.path): one for one in listed.files}
    seen = set[str]()
    while member := tar.next():
        tar.members.clear()  # type: ignore[attr-defined]  # it keeps every member that it met
        if member.name in seen:
            raise CspaceError(f"{member.name!r} is in it twice")
        entry = missing.pop(member.name, None)
        if entry is None:
            raise CspaceError(f"{member.name[:200]!r} is in it, and not in {manifest.NAME}")
        seen.add(member.name)
        _check_regular(member)
        _check_content(tar, member, entry)
    if missing:
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise CspaceError(f"{min(missing)!r} is missing{more}")


def _check_regular(member: tarfile.TarInfo) -> None:
    if not member.isreg() or member.issparse():
        raise CspaceError(f"{member.name!r} is not a plain file")


def _check_content(tar: tarfile.TarFile, member: tarfile.TarInfo, entry: Entry) -> None:
    if member.size != entry.size:
        raise CspaceError(f"{member.name!r} has {member.size} bytes, not {entry.size}")
    digest = hashlib.sha256()
    for part in _iter_content(tar, member):
        digest.update(part)
    if digest.hexdigest() != entry.sha256:
        raise CspaceError(f"{member.name!r} has not the hash that {manifest.NAME} names")


def _iter_content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = cast("IO[bytes]", tar.extractfile(member))  # of a regular file it is never None
    left = member.size
    while left:
        part = file.read(min(left, _CHUNK))
        if not part:
            raise CspaceError(f"it ends within {member.name!r}")
        left -= len(part)
        yield part


class _Spool:
    """A copy of a stream that grows as far as somebody reads: a bomb is refused at its beginning.

    Nobody reads much at once either: a name of a gigabyte stays where it is.
    """

    def __init__(self, stream: IO[bytes], file: IO[bytes]) -> None:
        self._stream = stream
        self._file = file
        self._position = 0
        self._copied = 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _CHUNK:
            raise tarfile.ReadError(f"a header of {size} bytes")
        while self._copied < self._position + size:
            part = self._stream.read(_CHUNK)
            if not part:
                break
            self._file.seek(self._copied)
            self._copied += self._file.write(part)
        self._file.seek(self._position)
        found = self._file.read(size)
        self._position += len(found)
        return found

    def seek(self, position: int) -> int:
        self._position = position
        return position

    def tell(self) -> int:
        return self._position
