"""Reads the header of a git bundle, the form in which archives travel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from cspace import beneath
from cspace.errors import CspaceError

# A repository with a hundred thousand refs has a header of ten megabytes.
MAX_HEADER_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Header:
    """The start of a bundle: what it needs, what it brings, and where its pack begins."""

    object_format: str
    needed: tuple[str, ...]
    refs: dict[str, str]
    pack: int

    @property
    def top(self) -> str:
        """The prefix that all its refs are below, with the final slash."""
        # Every other ref is deeper below it: <number>/<name>.
        name = min(self.refs, key=lambda one: one.count("/"), default="")
        if not name.endswith("/snapshot"):
            raise CspaceError("the bundle does not hold a snapshot")
        return name.removesuffix("snapshot")

    @property
    def snapshot(self) -> str:
        """The commit that holds the manifest."""
        return self.refs[f"{self.top}snapshot"]


def read_header(bundle: Path) -> Header:
    """Read a bundle's header.

    Raises:
        CspaceError: it is not a bundle, or one with a header that no repository needs.
    """
    object_format, needed, refs = "sha1", list[str](), dict[str, str]()
    with _open(bundle) as file:
        if file.readline(MAX_HEADER_BYTES) not in (b"# v2 git bundle\n", b"# v3 git bundle\n"):
            raise CspaceError(f"{bundle} is not a git bundle")
        while line := file.readline(MAX_HEADER_BYTES).rstrip(b"\n"):
            if file.tell() > MAX_HEADER_BYTES:
                raise CspaceError(f"{bundle}: its header is larger than {MAX_HEADER_BYTES} bytes")
            text = line.decode("utf-8", "replace")
            if text.startswith("@object-format="):
                object_format = text.partition("=")[2]
            elif text.startswith("-"):
                needed.append(text[1:].partition(" ")[0])
            elif not text.startswith("@"):
                one, _, name = text.partition(" ")
                refs[name] = one
        return Header(object_format, tuple(needed), refs, file.tell())


@contextmanager
def open_pack(bundle: Path, header: Header) -> Iterator[IO[bytes]]:
    """Open a bundle where its pack begins, for a program that reads it as its stdin."""
    with _open(bundle) as file:
        os.lseek(file.fileno(), header.pack, os.SEEK_SET)
        yield file


def _open(bundle: Path) -> IO[bytes]:
    # A container wrote it, beside whatever an agent's code in there made of its directory.
    return os.fdopen(beneath.open_file(bundle.parent, PurePosixPath(bundle.name)), "rb")
