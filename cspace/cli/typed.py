"""Texts that a person gives on the command line, or through stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from cspace.beneath import MAX_BYTES
from cspace.errors import UsageError

STDIN = "-"


def read_given(field: str, text: str) -> str:
    """Return a text; `-` stands for what stdin holds, without the line end that closes it.

    Raises:
        UsageError: stdin holds nothing, too much, or no UTF-8.
    """
    if text != STDIN:
        return text
    return decode(field, read_stdin(field)).removesuffix("\n").removesuffix("\r")


def read_stdin(field: str, hint: str = "give only one text as -") -> bytes:
    """Return what stdin holds.

    Raises:
        UsageError: it holds nothing, or too much.
    """
    content = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UsageError(f"{field} has more than {MAX_BYTES} bytes", hint="refer to a file instead")
    if not content:
        raise UsageError(
            f"{field} is empty: nothing came from stdin, which is read once",
            hint=hint,
        )
    return content


def read_named(field: str, path: Path) -> bytes:
    """Return what a file holds that a person named.

    Raises:
        UsageError: it can not be read, or holds too much.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{field} {path} can not be read: {error.strerror}", hint="name a readable file"
        ) from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{field} {path} has more than {MAX_BYTES} bytes", hint="name a text")
    return content


def decode(field: str, content: bytes) -> str:
    """Return a text that a person typed.

    Raises:
        UsageError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{field} is not UTF-8 at byte {error.start}", hint="convert it: iconv -t UTF-8"
        ) from None
