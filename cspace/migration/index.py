"""The index of a memory, MEMORY.md: when it is empty, and how two become one."""

from __future__ import annotations

from pathlib import PurePosixPath

INDEX = PurePosixPath("MEMORY.md")


def is_stub(content: bytes) -> bool:
    """Whether an index says nothing yet, as the one that a project starts with."""
    return not content.strip()


def merge_lines(ours: bytes, theirs: bytes) -> bytes:
    """Return ours, and after it the lines of theirs that ours lacks, each one once and as it is.

    Empty lines are left out.

    Merged with the same lines again nothing changes.
    """
    known = set(ours.split(b"\n"))
    lines = dict.fromkeys(theirs.split(b"\n"))
    lacking = [line for line in lines if line.strip() and line not in known]
    if not lacking:
        return ours
    start = ours if not ours or ours.endswith(b"\n") else ours + b"\n"
    return start + b"\n".join(lacking) + b"\n"
