"""What a person's editor made of a memory, before it is shown and written."""

from __future__ import annotations

import contextlib
from datetime import datetime

from cspace.docstore.frontmatter import is_whole, parse_front_matter
from cspace.errors import CspaceError, UsageError
from cspace.memory.changes import stamp


def damage_of(before: bytes, after: bytes) -> str:
    """Say what an edit broke in a memory's header; empty where nothing did."""
    was, now = _problem(before), _problem(after)
    return "" if was else now


def _problem(content: bytes) -> str:
    header = parse_front_matter(content)
    if header.values:
        return "" if is_whole(header) else "its front matter is no longer YAML"
    return "it no longer has a front matter: --- , name, description and type, ---"


def complete_edited(text: bytes, now: datetime) -> bytes:
    """Return an edited memory with its time of change and a line end at its end.

    Where the header can not take a time it stays as the person wrote it.

    Raises:
        UsageError: nothing is left, or it is no UTF-8.
    """
    if not text.strip():
        raise UsageError("the memory would be empty", hint="to remove it: cspace memory rm SLUG")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the memory is not UTF-8 at byte {error.start}", hint="convert it: iconv -t UTF-8"
        ) from None
    whole = text if text.endswith(b"\n") else text + b"\n"
    with contextlib.suppress(CspaceError):
        return stamp(whole, now)
    return whole
