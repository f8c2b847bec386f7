"""What the documents show: their code blocks, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import CHECKOUT

PAGES = tuple(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")) + tuple(
    sorted((CHECKOUT / "docs").rglob("*.md"))
)

_BLOCK = re.compile(r"^```(\S*)[ ]?(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SEPARATORS = {"&&", "||", "|", ";", ">", ">>", "<", "&"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; a path after its language says which file its text is."""

    language: str
    path: str
    text: str


def name_of(page: Path) -> str:
    """Return a page's path in the checkout."""
    return page.relative_to(CHECKOUT).as_posix()


def iter_blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page, in order."""
    for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(*found.groups())


def list_spans(page: Path) -> tuple[str, ...]:
    """Return the code spans of a page's prose."""
    return tuple(_SPAN.findall(_BLOCK.sub("", page.read_text(encoding="utf-8"))))


def list_lines(block: Block) -> tuple[str, ...]:
    """Return the command lines of a block for a shell; none of another block."""
    if block.language not in ("sh", "console"):
        return ()
    whole = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console":
        whole = [line.removeprefix("$ ") for line in whole if line.startswith("$ ")]
    return tuple(line.strip() for line in whole if line.strip() and not line.startswith("#"))


def split_line(line: str) -> tuple[tuple[str, ...], ...]:
    """Divide a command line into its simple commands; what follows a redirection is one too."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if word in _SEPARATORS:
            commands.append([])
        else:
            commands[-1].append(word)
    return tuple(tuple(words) for words in commands if words)


def list_commands(page: Path, program: str) -> tuple[tuple[str, ...], ...]:
    """Return every call of a program that a page shows, in blocks and in prose."""
    lines = [line for block in iter_blocks(page) for line in list_lines(block)]
    lines += [span for span in list_spans(page) if span.startswith(f"{program} ")]
    commands = (command for line in lines for command in split_line(line))
    return tuple(command for command in commands if command[0] == program)
