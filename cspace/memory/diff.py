"""What a person is shown before a memory changes: every byte of it, and nothing that hides."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from cspace.memory.hidden import HiddenCharacter, find_hidden, reveal

CONTEXT = 3
# Comparing takes the product of both, for texts that were made to be slow.
MAX_COMPARED = 4_000_000
NO_END = "\\ No newline at end of file"
_HUNK = re.compile(r"@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@")


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff, in lines that are safe to print.

    Attributes:
        lines: without line ends; empty when nothing changes.
        hidden: hidden characters in what is added; their lines are those of the new text.
        added, removed: how many lines.
    """

    lines: tuple[str, ...]
    hidden: tuple[HiddenCharacter, ...]
    added: int
    removed: int


def render_diff(
    before: bytes | None, after: bytes | None, name: str, was: str | None = None
) -> Diff:
    """Compare two versions of a file; None is a file that is not there.

    Args:
        name: the file's path as it is shown, `user/testing.md`.
        was: its path before, where it moves; that alone is a difference.
    """
    old, new = _lines(before), _lines(after)
    compared = _compare(old, new)
    added = _numbered(compared)
    hidden = tuple(each for number, line in added for each in find_hidden(line, line=number))
    removed = sum(line.startswith("-") for line in compared)
    heads: tuple[str, ...] = ()
    old_name = name if was is None else was
    if before != after or old_name != name:
        heads = (
            f"--- {'/dev/null' if before is None else reveal(old_name)}",
            f"+++ {'/dev/null' if after is None else reveal(name)}",
        )
    body = tuple(shown for line in compared for shown in _show(line))
    return Diff((*heads, *body), hidden, len(added), removed)


def _lines(content: bytes | None) -> list[str]:
    """Split at line feeds only; bytes that are no UTF-8 become marks of their own."""
    text = (content or b"").decode("utf-8", "surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n")]
    return [*lines[:-1], *([lines[-1][:-1]] if lines[-1] != "\n" else [])]


def _compare(old: list[str], new: list[str]) -> list[str]:
    """Return hunks, of which each line but the heads starts with its sign.

    What both start and end with is cut off first, so that an append costs what is appended.
    """
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first, last = max(0, start - CONTEXT), max(0, end - CONTEXT)
    left, right = old[first : len(old) - last], new[first : len(new) - last]
    if len(left) * len(right) > MAX_COMPARED:
        return [_head(first, left, right), *(f"-{x}" for x in left), *(f"+{x}" for x in right)]
    lines = difflib.unified_diff(left, right, n=CONTEXT)
    return [_shifted(line, first) if line.startswith("@@ ") else line for line in lines][2:]


def _common(one: list[str], other: list[str]) -> int:
    """Return how many first lines are the same in both."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return number
    return min(len(one), len(other))


def _head(first: int, left: list[str], right: list[str]) -> str:
    return f"@@ -{first + 1},{len(left)} +{first + 1},{len(right)} @@\n"


def _shifted(head: str, first: int) -> str:
    def shift(found: re.Match[str]) -> str:
        old, old_count, new, new_count = found.groups()
        return f"@@ -{int(old) + first}{old_count} +{int(new) + first}{new_count} @@"

    return _HUNK.sub(shift, head)


def _numbered(compared: list[str]) -> list[tuple[int, str]]:
    """Return the added lines with their numbers in the new text."""
    added, number = [], 0
    for line in compared:
        head = _HUNK.match(line)
        if head is not None:
            number = int(head[3])
        elif line.startswith("+"):
            added.append((number, line[1:]))
        number += head is None and line[0] in " +"
    return added


def _show(line: str) -> tuple[str, ...]:
    if line.endswith("\n"):
        return (reveal(line[:-1]),)
    return (reveal(line), NO_END)
