"""Tar streams to migrate, a directory to migrate them to, and an independent look at both."""

from __future__ import annotations

import contextlib
import hashlib
import io
import lzma
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from cspace.files import Owner
from cspace.migration.apply import apply_plan
from cspace.migration.model import Choice, Outcome, Policy, Source, Target
from cspace.migration.plan import make_plan

LEGACY = Path(__file__).parent / "legacy"
PLACE = PurePosixPath(".cspace/memory")
OURS = Policy()
THEIRS = Policy(Choice.THEIRS)
BOTH = Policy(Choice.BOTH)


def legacy(name: str) -> Source:
    """Return a frozen legacy volume."""

    @contextlib.contextmanager
    def opened() -> Iterator[BinaryIO]:
        with lzma.open(LEGACY / f"{name}.tar.xz") as stream:
            yield cast("BinaryIO", stream)

    return Source(f"volume {name}", "legacy", opened)


def streams(*contents: bytes) -> Source:
    """Return a source that gives these streams in turn, and the last one again and again."""
    rest = list(contents)

    @contextlib.contextmanager
    def opened() -> Iterator[BinaryIO]:
        yield io.BytesIO(rest.pop(0) if len(rest) > 1 else rest[0])

    return Source("volume test", "legacy", opened)


def tar(files: Mapping[str, str | bytes]) -> bytes:
    """Return a tar stream of files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", errors="surrogateescape") as archive:
        for name, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1718000000
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def source(files: Mapping[str, str | bytes]) -> Source:
    """Return a source that holds files."""
    return streams(tar(files))


def everything(path: PurePosixPath) -> PurePosixPath | None:
    """Want each path as it is."""
    return path


def target(
    root: Path, wanted: Callable[[PurePosixPath], PurePosixPath | None] = everything
) -> Target:
    """Return a target below a directory; we ourselves own it."""
    return Target(root, PLACE, Owner(os.getuid(), os.getgid()), wanted)


def write(root: Path, files: Mapping[str, str]) -> None:
    """Put files into a target."""
    for name, text in files.items():
        path = root / PLACE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def migrate(source: Source, root: Path, policy: Policy = OURS) -> Outcome:
    """Plan and apply."""
    there = target(root)
    return apply_plan(make_plan(source, there, policy), source, there)


def texts(root: Path) -> dict[str, str]:
    """Return the small files of a target."""
    return {name: path.read_text(encoding="utf-8") for name, path in _files(root).items()}


def hashes(root: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a target."""
    return {name: _hash(path.open("rb")) for name, path in _files(root).items()}


def _files(root: Path) -> dict[str, Path]:
    place = root / PLACE
    found = (path for path in place.rglob("*") if path.is_symlink() or not path.is_dir())
    return {str(path.relative_to(place)): path for path in found}


def read_tar(source: Source) -> dict[str, str]:
    """Return the SHA-256 of every file of a source, by Python's own way to read a whole tar."""
    found = {}
    with source.open() as stream:
        whole = io.BytesIO(stream.read())
    with tarfile.open(fileobj=whole, encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            with contextlib.suppress(KeyError):
                file = archive.extractfile(member) if not member.issym() else None
                if file is not None:
                    found[str(PurePosixPath(member.name))] = _hash(file)
    return found


def _hash(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with file:
        while chunk := file.read(1024 * 1024):
            digest.update(chunk)
    return digest.hexdigest()
