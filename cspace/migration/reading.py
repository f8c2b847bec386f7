"""Reads a source to its end, and hashes every file of it that is wanted."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cspace.beneath import MAX_BYTES
from cspace.events import Report
from cspace.migration.model import Source, Target
from cspace.migration.names import leaves, refuse
from cspace.migration.progress import Progress
from cspace.migration.stream import Entry, Kind, iter_entries
from cspace.paths import INDEX

# A sparse file can claim any size, and every byte of it is hashed and written.
MAX_FILE_BYTES = 64 * 1024**3
_NO_FILE = {
    Kind.LINK: "a link, which can lead anywhere",
    Kind.SPECIAL: "a device, a FIFO or a socket",
}
# Refusals that say nothing against the name.
BY_KIND = frozenset(_NO_FILE.values())


@dataclass(frozen=True, slots=True)
class Found:
    """Something of a source that is no directory.

    Attributes:
        path: relative to the target's place; the source's own where it can not be one.
        refusal: why it may not be written by itself; empty when it may.
        text: what an index holds, unless it is too large for one.
    """

    path: PurePosixPath
    origin: PurePosixPath
    size: int | None
    digest: str | None
    refusal: str = ""
    text: bytes | None = None


@dataclass(slots=True)
class Contents:
    """What a source holds; not frozen, since it fills itself while it is read.

    Attributes:
        files: what every file holds, by its own path, for the hard links that come later.
    """

    found: list[Found] = field(default_factory=list)
    others: int = 0
    files: dict[PurePosixPath, Found] = field(default_factory=dict)


def read_source(source: Source, target: Target, report: Report) -> Contents:
    """Read a source to its end.

    Raises:
        CspaceError: it is not a whole tar stream.
    """
    contents = Contents()
    with (
        contextlib.closing(iter_entries(source)) as entries,
        Progress(source.name, "read", report) as progress,
    ):
        for entry in entries:
            if entry.kind is not Kind.DIRECTORY:
                _take(contents, entry, target, progress)
    return contents


def find_path(name: str, target: Target) -> PurePosixPath | None:
    """Return where a name of a source belongs, safe or not; None for what is not wanted."""
    origin = PurePosixPath(name)
    return origin if leaves(name) else target.wanted(origin)


def _take(contents: Contents, entry: Entry, target: Target, progress: Progress) -> None:
    origin = PurePosixPath(entry.name)
    path = find_path(entry.name, target)
    if path is None:
        contents.others += entry.kind in (Kind.FILE, Kind.HARD_LINK)
        if entry.kind is Kind.FILE:
            contents.files[origin] = Found(origin, origin, entry.size, None)
        return
    refusal = leaves(entry.name) or refuse(path)
    if entry.kind is Kind.FILE:
        found = contents.files[origin] = _read(entry, path, origin, refusal, progress)
    elif entry.kind is Kind.HARD_LINK:
        found = _follow(contents, entry, path, refusal)
    else:
        found = Found(path, origin, None, None, refusal or _NO_FILE[entry.kind])
        contents.files[origin] = found
    contents.found.append(found)


def _read(
    entry: Entry, path: PurePosixPath, origin: PurePosixPath, refusal: str, progress: Progress
) -> Found:
    if entry.size > MAX_FILE_BYTES:
        too_large = f"larger than {MAX_FILE_BYTES} bytes"
        return Found(path, origin, entry.size, None, refusal or too_large)
    digest = hashlib.sha256()
    kept: list[bytes] | None = [] if path == INDEX and entry.size <= MAX_BYTES else None
    for chunk in entry.read():
        digest.update(chunk)
        progress.advance(len(chunk))
        if kept is not None:
            kept.append(chunk)
    text = b"".join(kept) if kept is not None else None
    return Found(path, origin, entry.size, digest.hexdigest(), refusal, text)


def _follow(contents: Contents, entry: Entry, path: PurePosixPath, refusal: str) -> Found:
    """Take a hard link for the file that it is."""
    lost = Found(path, path, 0, None, "a hard link to a file that is not taken over")
    first = contents.files.get(PurePosixPath(entry.leads), lost)
    if first.digest is None:
        why = refusal or (first.refusal if first.size is None else lost.refusal)
        return Found(path, PurePosixPath(entry.name), first.size, None, why)
    return Found(path, first.origin, first.size, first.digest, refusal, first.text)
