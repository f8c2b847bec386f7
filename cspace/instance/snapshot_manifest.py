"""What an archive holds: every path of a workspace, and what could not come along.

Names are bytes. In JSON each byte that is not UTF-8 becomes a lone surrogate, which comes back as
the same byte.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cspace.errors import CspaceError

FORMAT = 1


class Kind(StrEnum):
    """What a path is."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"


class Carried(StrEnum):
    """How a repository's objects travel: as git objects of the host, or as plain files."""

    OBJECTS = "objects"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Entry:
    """One path below the workspace; an empty path is the workspace itself.

    Attributes:
        mode: the twelve permission bits.
        mtime_ns: time of the last change, in nanoseconds.
        size: bytes of a file.
        blob: git's id of a file's raw bytes.
        target: what a link points to.
        ignored: git ignores this file.
    """

    path: bytes
    kind: Kind
    mode: int
    mtime_ns: int
    size: int = 0
    blob: str = ""
    target: bytes = b""
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that did not come along, with its size in bytes and the reason."""

    path: bytes
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that git could not follow; the files are archived all the same."""

    path: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository in the workspace: its git directory, and how its objects travel.

    Attributes:
        number: the part of ref names that belongs to it; 0 is the workspace's own.
    """

    number: int
    path: bytes
    carried: Carried


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything an archive holds.

    Attributes:
        refs: ref names below the archive's own prefix, each with its object.
        shared: commits whose trees keep blobs alive that the snapshot does not hold again.
    """

    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]
    problems: tuple[Problem, ...]
    repositories: tuple[Repository, ...]
    refs: tuple[tuple[str, str], ...]
    shared: tuple[str, ...]


def show(path: bytes) -> str:
    """Return a path for a message: control characters and odd bytes escaped."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def dump_manifest(manifest: Manifest) -> bytes:
    """Write a manifest as JSON; `parse_manifest` returns an equal one."""
    document = {
        "format": FORMAT,
        "repositories": [
            {"number": item.number, "path": _text(item.path), "carried": item.carried}
            for item in manifest.repositories
        ],
        "refs": dict(manifest.refs),
        "shared": manifest.shared,
        "problems": [
            {"path": _text(item.path), "reason": item.reason} for item in manifest.problems
        ],
        "left_out": [
            {"path": _text(item.path), "size": item.size, "reason": item.reason}
            for item in manifest.left_out
        ],
        "entries": [_dump_entry(entry) for entry in manifest.entries],
    }
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def _dump_entry(entry: Entry) -> dict[str, str | int]:
    known: dict[str, str | int] = {
        "path": _text(entry.path),
        "kind": entry.kind,
        "mode": entry.mode,
        "mtime_ns": entry.mtime_ns,
    }
    if entry.kind is Kind.FILE:
        known |= {"ignored": True} if entry.ignored else {}
        return known | {"size": entry.size, "blob": entry.blob}
    if entry.kind is Kind.LINK:
        return known | {"target": _text(entry.target)}
    return known


def parse_manifest(data: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        CspaceError: it is not one, is of an unknown format, or names a path outside.
    """
    try:
        document = json.loads(data)
        if document["format"] != FORMAT:
            raise CspaceError(
                f"the archive's format is {document['format']!r}; this cspace reads {FORMAT}",
                hint="use the version of cspace that made the archive",
            )
        return Manifest(
            entries=tuple(_parse_entry(item) for item in document["entries"]),
            left_out=tuple(
                LeftOut(_bytes(item["path"]), item["size"], item["reason"])
                for item in document["left_out"]
            ),
            problems=tuple(
                Problem(_bytes(item["path"]), item["reason"]) for item in document["problems"]
            ),
            repositories=tuple(
                Repository(item["number"], _path(item["path"]), Carried(item["carried"]))
                for item in document["repositories"]
            ),
            refs=tuple(document["refs"].items()),
            shared=tuple(document["shared"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise CspaceError(f"the archive's manifest can not be read: {error!r}") from error


def _parse_entry(item: dict[str, Any]) -> Entry:
    return Entry(
        path=_path(item["path"]),
        kind=Kind(item["kind"]),
        mode=item["mode"],
        mtime_ns=item["mtime_ns"],
        size=item.get("size", 0),
        blob=item.get("blob", ""),
        target=_bytes(item.get("target", "")),
        ignored=item.get("ignored", False),
    )


def _path(text: str) -> bytes:
    path = _bytes(text)
    if path and not {b"", b".", b".."}.isdisjoint(path.split(b"/")):
        raise ValueError(f"path {text!r} leaves the workspace")
    return path


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
