"""The index of a memory, MEMORY.md: when it is empty, and how two become one."""

from __future__ import annotations


def is_stub(content: bytes) -> bool:
    """Whether an index says nothing yet, as the one that a project starts with."""
    return not content.strip()


def merge_lines(ours: bytes, theirs: bytes) -> bytes:
    """Return ours, and after it the lines of theirs that ours lacks, each one once and as it is.

    Empty lines are left out, and a carriage return at its end makes no other line.

    Merged with the same lines again nothing changes.
    """
    known = {_text(line) for line in ours.split(b"\n")}
    lacking: dict[bytes, bytes] = {}
    for line in theirs.split(b"\n"):
        if line.strip() and _text(line) not in known:
            lacking.setdefault(_text(line), line)
    if not lacking:
        return ours
    start = ours if not ours or ours.endswith(b"\n") else ours + b"\n"
    return start + b"\n".join(lacking.values()) + b"\n"


def _text(line: bytes) -> bytes:
    return line.removesuffix(b"\r")
