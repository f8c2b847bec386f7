"""The first member of an exported memory: which files follow, and their hashes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from cspace.errors import MALFORMED, CspaceError

NAME = "cspace-memory.json"
# Every file of the memory stands below it.
PLACE = PurePosixPath("memory")
SCHEMA_VERSION = 1
MAX_FILES = 100_000
MAX_MANIFEST_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 4 * 1024 * 1024 * 1024
_MAX_PATH = 4096
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its path below the memory, its size in bytes, its SHA-256 in hex."""

    path: PurePosixPath
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an exported memory holds.

    Attributes:
        project: the name of the project's directory; for a person only.
        created: aware UTC.
    """

    project: str
    created: datetime
    files: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(one.size for one in self.files)


def dump_manifest(manifest: Manifest) -> bytes:
    """Write a manifest as JSON; `parse_manifest` returns an equal one."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "project": manifest.project,
        "created": manifest.created.isoformat(),
        "files": [
            {"path": str(one.path), "size": one.size, "sha256": one.sha256}
            for one in manifest.files
        ],
    }
    # Bytes of a name that are no UTF-8 are lone surrogates, which ASCII JSON keeps.
    return json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n"


def parse_manifest(data: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        CspaceError: it is not one, is of a newer version, or names a path twice or outside.
    """
    try:
        document = json.loads(data)
        _check_version(document["schema_version"])
        manifest = Manifest(
            project=_text(document["project"]),
            created=datetime.fromisoformat(document["created"]),
            files=tuple(_parse_entry(item) for item in _items(document["files"])),
        )
    except MALFORMED as error:
        said = f"{type(error).__name__}: {error}"
        raise CspaceError(f"{NAME} can not be read: {said[:200]}") from error
    seen = set[PurePosixPath]()
    for one in manifest.files:
        if one.path in seen:
            raise CspaceError(f"{NAME} names {str(one.path)!r} twice")
        seen.add(one.path)
    if manifest.size > MAX_TOTAL_BYTES:
        raise CspaceError(f"{NAME} names {manifest.size} bytes: more than {MAX_TOTAL_BYTES}")
    return manifest


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise ValueError(f"schema_version is {version!r}")
    if version > SCHEMA_VERSION:
        raise CspaceError(
            f"{NAME} has schema_version {version}; this cspace reads {SCHEMA_VERSION}",
            hint="use the version of cspace that exported it, or a newer one: cspace --version",
        )


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"files is {type(value).__name__}, not a list")
    if len(value) > MAX_FILES:
        raise CspaceError(f"{NAME} names {len(value)} files: more than {MAX_FILES}")
    return value


def _parse_entry(item: Any) -> Entry:
    size, digest = item["size"], _text(item["sha256"])
    if type(size) is not int or size < 0:
        raise ValueError(f"size is {size!r}")
    if not _DIGEST.fullmatch(digest):
        raise ValueError(f"sha256 is {digest!r}")
    return Entry(_path(_text(item["path"])), size, digest)


def _path(text: str) -> PurePosixPath:
    path = PurePosixPath(text)
    inside = path.name and not path.is_absolute() and ".." not in path.parts
    if not inside or str(path) != text or "\0" in text or len(text) > _MAX_PATH:
        raise CspaceError(f"{NAME} names {text[:200]!r}, which is no path below a memory")
    return path


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
