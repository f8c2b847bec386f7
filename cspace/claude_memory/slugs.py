"""The names that Claude Code gives to its directories of a project."""

from __future__ import annotations

import re
import string
from pathlib import Path

MAX_LENGTH = 200
_DIGITS = string.digits + string.ascii_lowercase
_OTHER = re.compile(r"[^A-Za-z0-9]")
# Beyond it JavaScript, which Claude Code is written in, counts a character twice.
_LAST_SHORT = "\uffff"


def slug_of_path(path: Path) -> str:
    """Return the name for a directory's absolute path.

    What is no letter or digit of ASCII becomes a dash, an emoji two. A name beyond MAX_LENGTH is
    cut there and gets a hash of the path.
    """
    text = str(path)
    dashed = _OTHER.sub(lambda one: "-" * (1 + (one[0] > _LAST_SHORT)), text)
    if len(dashed) <= MAX_LENGTH:
        return dashed
    return f"{dashed[:MAX_LENGTH]}-{_hash(text)}"


def find_named(projects: Path, path: Path) -> Path:
    """Return the directory for a path below projects, which need not exist.

    Other versions of Claude Code hash otherwise: where only one directory starts with the same
    MAX_LENGTH characters, and it is not the expected one, it is that.
    """
    slug = slug_of_path(path)
    expected = projects / slug
    if len(slug) <= MAX_LENGTH or expected.is_dir():
        return expected
    start = slug[: MAX_LENGTH + 1]
    try:
        alike = [one for one in projects.iterdir() if one.name.startswith(start)]
    except OSError:
        return expected
    return alike[0] if len(alike) == 1 else expected


def _hash(text: str) -> str:
    """Hash a text as Java hashes strings, and write the result without its sign in base 36."""
    units = text.encode("utf-16-le", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "little")) % 2**32
    left, digits = min(value, 2**32 - value), ""
    while left:
        left, digit = divmod(left, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
