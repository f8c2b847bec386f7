"""Which names of a source may be written into a directory, and which two are the same one."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterator
from pathlib import PurePosixPath

from cspace.beneath import MAX_DEPTH
from cspace.files import TEMPORARY_SUFFIX

MAX_NAME_BYTES = 255
# Leaves room for whatever the directory itself is called, here and in an instance.
MAX_PATH_BYTES = 3072


def leaves(name: str) -> str:
    """Say why a name of a source is no path below a directory; empty when it is one."""
    if name.startswith("/"):
        return "an absolute path"
    if ".." in name.split("/"):
        return "a path that leaves the directory"
    if "\0" in name:
        return "a name that holds a NUL"
    return ""


@functools.lru_cache(maxsize=4096)
def refuse_directory(path: PurePosixPath) -> str:
    """Say why no file may be written into a directory of that path; empty when it may."""
    if len(path.parts) > MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH} directories"
    return next((why for part in path.parts if (why := _refuse_name(part))), "")


def refuse(path: PurePosixPath) -> str:
    """Say why a file of that path may not be written; empty when it may."""
    if not path.name:
        return "it has no name"
    if len(encode(str(path))) > MAX_PATH_BYTES:
        return f"a path of more than {MAX_PATH_BYTES} bytes"
    return refuse_directory(path.parent) or _refuse_name(path.name)


def _refuse_name(name: str) -> str:
    if len(encode(name)) > MAX_NAME_BYTES:
        return f"a name of more than {MAX_NAME_BYTES} bytes"
    lower = name.lower()
    if lower == ".git":
        return "what git takes for a repository, whose settings can run programs"
    if lower.endswith(".md.lock") or (lower.startswith(".") and lower.endswith(TEMPORARY_SUFFIX)):
        return "a name that cspace gives its own locks and temporary files"
    return ""


def fold(name: str) -> str:
    """Return what two names have in common that some file system takes for one."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def fold_path(path: PurePosixPath) -> str:
    """Return what two paths have in common that some file system takes for one."""
    return fold(str(path))


def iter_marked(name: str, mark: str, *, last: bool = False) -> Iterator[str]:
    """Yield names for another version of a file, without end: `<stem>.<mark><ext>`, `<mark>-2` …

    Args:
        last: the mark comes after the extension.
    """
    yield _with_mark(name, mark, last=last)
    for number in itertools.count(2):
        yield _with_mark(name, f"{mark}-{number}", last=last)


def _with_mark(name: str, mark: str, *, last: bool) -> str:
    """Put a mark into a name, before its extension or last; cut the name where it gets too long."""
    stem, dot, extension = name.rpartition(".")
    if last or not stem:
        stem, dot, extension = name, "", ""
    end = encode(f".{mark}{dot}{extension}")
    if len(end) >= MAX_NAME_BYTES:
        return _with_mark(name, mark, last=True)
    room = MAX_NAME_BYTES - len(end)
    # A cut in the middle of a character would make a name that no terminal can show.
    kept = encode(stem)
    if len(kept) > room:
        kept = encode(kept[:room].decode("utf-8", "ignore"))
    return (kept + end).decode("utf-8", "surrogateescape")


def encode(name: str) -> bytes:
    """Return the bytes of a name."""
    return name.encode("utf-8", "surrogateescape")
