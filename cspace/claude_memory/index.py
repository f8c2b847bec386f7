"""MEMORY.md as Claude Code loads it, and what it links to."""

from __future__ import annotations

import bisect
import posixpath
import re
import unicodedata
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass

from cspace.docstore.frontmatter import MAX_BYTES
from cspace.docstore.sections import Span, list_fenced

MAX_LINES = 200
# Of JavaScript, where an emoji is two.
MAX_CHARACTERS = 25_000
# More of an index is not looked through for links: Claude Code sees a tenth of it.
MAX_LINKED = 256 * 1024

_HEADER = re.compile(
    rf"\A---[ \t]*\r?\n(?:[^\n]{{0,{MAX_BYTES}}}\n){{0,2000}}?---[ \t]*(?:\r?\n|\Z)"
)
_COMMENT_OPENS = re.compile(r"^ {0,3}<!--", re.MULTILINE)
# What is indented below one of these is a part of it, and no block of its own.
_ITEM = re.compile(r"[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(?<!`)(`{1,8})(?!`)[^\n]{1,1000}?(?<!`)\1(?!`)")
# Nobody writes longer ones, and an unclosed bracket must not be sought to the end of a book.
_LINK = re.compile(
    r"\[(?:[^\[\]\\]|\\.|\[[^\[\]]{0,300}\]){0,300}+\]"
    r"\(\s*(?:<(?P<angled>[^<>]{0,1000})>|(?P<bare>(?:[^\s()\\]|\\.|\([^\s()]{0,300}\)){1,1000}+))"
    r"(?:\s+(?:\"[^\"]{0,300}\"|'[^']{0,300}'))?\s*\)"
)
_DEFINED = re.compile(
    r" {0,3}\[[^\]]{1,300}\]:\s*(?:<(?P<angled>[^<>]{0,1000})>|(?P<bare>\S{1,1000}))"
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an index that leads to a file.

    Attributes:
        path: relative to the memory, as far as it can be resolved; it may leave it.
        target: as it is written.
    """

    path: str
    target: str
    line: str


@dataclass(frozen=True, slots=True)
class Index:
    """What Claude Code would load of a MEMORY.md, were it short enough.

    Attributes:
        lines, characters: as Claude Code counts them.
    """

    lines: int
    characters: int
    entries: tuple[Entry, ...]

    def lines_by_path(self) -> dict[str, str]:
        """Return the line that names a file, by the file's path."""
        return {entry.path: entry.line for entry in reversed(self.entries)}

    @property
    def fits(self) -> bool:
        """Whether all of it is loaded."""
        return self.lines <= MAX_LINES and self.characters <= MAX_CHARACTERS


def parse_index(document: bytes) -> Index:
    """Read an index."""
    text = loaded_text(document)
    lines = text.count("\n") + 1 if text else 0
    characters = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return Index(lines, characters, tuple(_entries(text)))


def loaded_text(document: bytes) -> str:
    """Return what Claude Code takes of an index: no front matter, no block comments, no ends."""
    text = document.decode("utf-8", "replace").removeprefix("\ufeff")
    text = _HEADER.sub("", text, count=1)
    return _without_comments(text).strip()


def _without_comments(text: str) -> str:
    """Leave out comments that begin a line, but for those in code."""
    fenced = list_fenced(text) if "<!--" in text else []
    parts, done = [], 0
    while (opened := _COMMENT_OPENS.search(text, done)) is not None:
        closed = text.find("-->", opened.end())
        if closed < 0:
            break
        end = text.find("\n", closed) + 1 or len(text)
        block = text[opened.start() : end]
        if not _is_in(fenced, opened.start()) and not _is_in_list(text, opened):
            left = _COMMENT.sub("", block)
            block = left if left.strip() else ""
        parts += [text[done : opened.start()], block]
        done = end
    return "".join([*parts, text[done:]])


def _is_in_list(text: str, opened: re.Match[str]) -> bool:
    if not opened[0].startswith("  "):
        return False
    # Line by line: what stands before a comment may be long, and comments many.
    end = opened.start()
    while end > 0:
        start = text.rfind("\n", 0, end - 1) + 1
        line = text[start:end].rstrip()
        if line:
            return _ITEM.match(line) is not None
        end = start
    return False


def _is_in(spans: list[Span], place: int) -> bool:
    at = bisect.bisect(spans, place, key=lambda span: span.start) - 1
    return at >= 0 and place < spans[at].end


def _entries(text: str) -> Iterator[Entry]:
    for line in blank_code(text[:MAX_LINKED]).split("\n"):
        defined = _DEFINED.match(line)
        for found in (*_LINK.finditer(line), *([defined] if defined else [])):
            entry = _entry(found["angled"] or found["bare"] or "", line)
            if entry is not None:
                yield entry


def _entry(target: str, line: str) -> Entry | None:
    """Return where a link leads to, None where that is no file."""
    plain = _ESCAPED.sub(r"\1", target).partition("#")[0].partition("?")[0]
    if not plain or _SCHEME.match(plain):
        return None
    path = urllib.parse.unquote(plain, errors="surrogateescape")
    return Entry(same_name(posixpath.normpath(path)), target, line.strip())


def same_name(path: str) -> str:
    """Return a path in the form in which paths are compared: a Mac writes accents otherwise."""
    return unicodedata.normalize("NFC", path)


def blank_code(text: str) -> str:
    """Return text with spaces for what stands in code, so that every place stays where it was."""
    parts, done = [], 0
    for block in list_fenced(text):
        parts += [text[done : block.start], _blank(text[block.start : block.end])]
        done = block.end
    whole = "".join([*parts, text[done:]])
    return _CODE.sub(lambda code: _blank(code[0]), whole)


def _blank(code: str) -> str:
    return re.sub(r"[^\n]", " ", code)
