"""The bytes of a workspace: named by hash, written into a scratch repository in one pass."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.errors import Conflict
from cspace.instance.snapshot_git import Scratch
from cspace.instance.snapshot_manifest import Entry, Kind, LeftOut, show
from cspace.instance.snapshot_walk import join

CHUNK = 1 << 20
_IDENTITY = "cspace <cspace@localhost>"


@dataclass(frozen=True, slots=True)
class Keep:
    """Objects that one commit shall hold: commits as its parents, the others in its tree."""

    ref: str
    commits: tuple[str, ...]
    blobs: tuple[str, ...]
    trees: tuple[str, ...]


def leave_out(
    entries: Iterable[Entry], ignored: Collection[bytes], *, each: int, total: int
) -> tuple[list[Entry], list[LeftOut]]:
    """Divide entries: of the ignored files the smallest come along, up to total bytes together.

    Args:
        each: bytes above which an ignored file is left out.
    """
    candidates = [e for e in entries if e.kind is Kind.FILE and e.path in ignored]
    budget, dropped = total, dict[bytes, LeftOut]()
    for entry in sorted(candidates, key=lambda e: (e.size, e.path)):
        if entry.size > each:
            dropped[entry.path] = LeftOut(
                entry.path, entry.size, f"ignored by git and above {each} bytes"
            )
        elif entry.size > budget:
            dropped[entry.path] = LeftOut(
                entry.path, entry.size, f"ignored files are above {total} bytes together"
            )
        else:
            budget -= entry.size
    kept = [entry for entry in entries if entry.path not in dropped]
    return kept, [dropped[path] for path in sorted(dropped)]


def name_blobs(root: Path, entries: Iterable[Entry], object_format: str) -> list[Entry]:
    """Return the entries with the id that git gives to each file's raw bytes.

    Raises:
        Conflict: a file is being written while it is read.
    """
    return [
        replace(entry, blob=_blob_id(root, entry, object_format))
        if entry.kind is Kind.FILE
        else entry
        for entry in entries
    ]


def holds_blob(path: bytes, entry: Entry) -> bool:
    """Tell whether path is a file with the bytes of entry, and with no other name."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if (status.st_size, status.st_nlink) != (entry.size, 1) or not stat.S_ISREG(status.st_mode):
            return False
        digest = _digest(entry, "sha1" if len(entry.blob) == 40 else "sha256")
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == entry.blob


def _digest(entry: Entry, object_format: str) -> hashlib._Hash:
    return hashlib.new(object_format, b"blob %d\0" % entry.size, usedforsecurity=False)


def _blob_id(root: Path, entry: Entry, object_format: str) -> str:
    digest = _digest(entry, object_format)
    for chunk in _chunks(root, entry):
        digest.update(chunk)
    return digest.hexdigest()


def _chunks(root: Path, entry: Entry) -> Iterator[bytes]:
    """Yield exactly the bytes that the walk saw."""
    descriptor = os.open(join(root, entry.path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        left = entry.size
        while chunk := os.read(descriptor, CHUNK):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if left or after.st_mtime_ns != entry.mtime_ns:
        raise Conflict(
            f"{show(entry.path)} changed while it was packed",
            hint="stop what writes there",
        )


@contextlib.contextmanager
def importing(scratch: Scratch, at: int) -> Iterator[Importer]:
    """Open one fast-import into scratch; raises CommandFailed when it does not end well."""
    # Without deltas, each of which would be against the file that happened to come before.
    words = ("git", "fast-import", "--quiet", "--done", "--date-format=raw", "--depth=0")
    with proc.talk(*words, env=scratch.environment()) as process:
        assert process.stdin is not None  # noqa: S101  a pipe; tells the type checker
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        yield Importer(process.stdin, process.stdout, at)
        process.stdin.write(b"done\n")


@dataclass(frozen=True, slots=True)
class Importer:
    """A running fast-import: its input, its answers, and the time of its commits."""

    stream: IO[bytes]
    answers: IO[bytes]
    at: int

    def add_blob(self, root: Path, entry: Entry) -> None:
        """Write one file's bytes."""
        self.stream.write(b"blob\ndata %d\n" % entry.size)
        for chunk in _chunks(root, entry):
            self.stream.write(chunk)
        self.stream.write(b"\n")

    def keep(self, keep: Keep) -> str:
        """Write the commit that holds objects; return its id."""
        self._open(keep.ref, "Objects that reflogs, indexes and unfinished work name\n")
        for number, commit in enumerate(keep.commits):
            self._line(f"{'merge' if number else 'from'} {commit}")
        self._line("deleteall")
        for blob in keep.blobs:
            self._line(f"M 100644 {blob} blobs/{blob[:2]}/{blob}")
        for tree in keep.trees:
            self._line(f"M 040000 {tree} trees/{tree}")
        self._line("\nget-mark :1")
        self.stream.flush()
        return self.answers.readline().decode("ascii").strip()

    def snapshot(self, ref: str, manifest: bytes, blobs: Collection[str]) -> None:
        """Write the commit that holds a manifest and the blobs that nothing else keeps alive."""
        self._open(ref, "Snapshot of a workspace\n")
        self._line(f"M 100644 inline manifest.json\ndata {len(manifest)}")
        self.stream.write(manifest + b"\n")
        for blob in sorted(blobs):
            self._line(f"M 100644 {blob} blobs/{blob[:2]}/{blob}")
        self._line("")

    def _open(self, ref: str, message: str) -> None:
        self._line(f"commit {ref}\nmark :1\ncommitter {_IDENTITY} {self.at} +0000")
        self._line(f"data {len(message)}\n{message}")

    def _line(self, text: str) -> None:
        self.stream.write(text.encode("utf-8") + b"\n")
