"""Characters that a reader does not see, or that change what a reader sees around them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

# Letters, marks and symbols that are drawn as nothing: Unicode does not count them as formatting.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\U0001d159"
)
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Unassigned, but every program is told to draw nothing for them.
_IGNORED = re.compile("[\u2065\ufff0-\ufff8\U000e0000-\U000e0fff]")
_UNDRAWN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_EMOJI = frozenset({"So", "Sm"})
# Emoji by an older right, which Unicode has among punctuation and letters.
_OLD_EMOJI = frozenset("‼⁉ℹ〰")
_KEYCAP = "\u20e3"
_KEYS = frozenset("0123456789#*")
_ODD = re.compile(r"[^\n\t\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class HiddenCharacter:
    """One of them, and where it stands.

    Attributes:
        line, column: counted from 1; lines end at a line feed.
        name: `U+200B ZERO WIDTH SPACE`.
    """

    line: int
    column: int
    name: str


def find_hidden(text: str, *, line: int = 1) -> tuple[HiddenCharacter, ...]:
    """List what is hidden in a text: it needs a person who allows it.

    These are control characters but for line feed, tab and the carriage return before a line feed;
    all of Unicode's formatting characters (zero-width, bidi, tags, soft hyphen, annotations);
    variation selectors that make no emoji; letters that are blank; bytes that are no UTF-8.

    Args:
        line: the number of the text's first line.
    """
    return tuple(
        HiddenCharacter(number, mark.start() + 1, _name(mark[0]))
        for number, content in enumerate(text.split("\n"), line)
        for mark in _ODD.finditer(content)
        if _is_hidden(content, mark.start()) and not _ends_line(text, content, mark.start())
    )


def reveal(text: str) -> str:
    """Return a text with all that can not be seen written out: `<U+200B>`, `<0xFF>` for a byte.

    Odd spaces and unknown characters too, which `find_hidden` leaves alone.
    """
    return "".join(_pieces(text))


def strip_hidden(text: str) -> str:
    """Return a text without its hidden characters, to compare what a reader sees of two."""
    # Each mark is judged once, and alone: an emoji's selector goes too.
    return text.translate({ord(mark): None for mark in set(text) if _is_hidden(mark, 0)})


def _ends_line(text: str, content: str, position: int) -> bool:
    """Tell whether a mark is the carriage return of a line's end, which hides nothing."""
    last = position == len(content) - 1 and content[position] == "\r"
    return last and len(content) < len(text)


def _pieces(text: str) -> Iterator[str]:
    end = 0
    for mark in _ODD.finditer(text):
        at = mark.start()
        yield text[end:at]
        end = at + 1
        shown = mark[0].isprintable() and not _is_hidden(text, at)
        # A selector that makes an emoji is drawn as a part of it.
        shown = shown or (bool(_SELECTORS.match(mark[0])) and not _is_hidden(text, at))
        yield mark[0] if shown else _escape(mark[0])
    yield text[end:]


def _is_hidden(text: str, position: int) -> bool:
    mark = text[position]
    if mark in "\n\t":
        return False
    if _SELECTORS.match(mark):
        return not _makes_emoji(text, position)
    return (
        mark in _BLANK or unicodedata.category(mark) in _UNDRAWN or _IGNORED.match(mark) is not None
    )


def _makes_emoji(text: str, position: int) -> bool:
    if text[position] not in "\ufe0e\ufe0f" or position == 0:
        return False
    base = text[position - 1]
    if base in _KEYS:
        return text[position + 1 : position + 2] == _KEYCAP
    return (unicodedata.category(base) in _EMOJI and base not in _BLANK) or base in _OLD_EMOJI


def _escape(mark: str) -> str:
    if _is_byte(mark):
        return f"<0x{ord(mark) - 0xDC00:02X}>"
    return f"<U+{ord(mark):04X}>"


def _name(mark: str) -> str:
    if _is_byte(mark):
        return f"byte 0x{ord(mark) - 0xDC00:02X}, no UTF-8"
    fallback = "CONTROL CHARACTER" if unicodedata.category(mark) == "Cc" else "UNASSIGNED"
    return f"U+{ord(mark):04X} {unicodedata.name(mark, fallback)}"


def _is_byte(mark: str) -> bool:
    """Tell whether a mark stands for a byte that is no UTF-8, as `surrogateescape` makes it."""
    return "\udc80" <= mark <= "\udcff"
