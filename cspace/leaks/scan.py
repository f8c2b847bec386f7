"""Finds what looks like a secret in a text, and never repeats it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cspace.leaks.placeholders import is_password_placeholder, is_placeholder
from cspace.leaks.rules import RULES, Rule


@dataclass(frozen=True, slots=True, order=True)
class Leak:
    """Where a suspected secret starts. Holds no part of it, so it may go into any message.

    Attributes:
        line: from 1; lines end with a newline.
        column: from 1, in characters.
        rule: the format's name, for example `github-token`.
    """

    line: int
    column: int
    rule: str

    def __str__(self) -> str:
        """Say it in one piece: `github-token in line 3, column 8`."""
        return f"{self.rule} in line {self.line}, column {self.column}"


def scan(text: str) -> tuple[Leak, ...]:
    """Return the suspected secrets in text, in their order there, one for each place.

    Takes time in proportion to the text's length, whatever it holds.
    """
    found: dict[int, Rule] = {}
    for rule in RULES:
        for start in _starts(rule, text):
            found.setdefault(start, rule)
    return tuple(_located(text, found))


def _starts(rule: Rule, text: str) -> Iterator[int]:
    """Yield where rule's tokens start in text."""
    if not any(mark in text for mark in rule.marks):
        return
    for match in re.finditer(rule.pattern, text):
        if not _is_shown_only(match):
            yield match.start()


def _is_shown_only(match: re.Match[str]) -> bool:
    parts = match.groupdict()
    if "user" in parts:
        return is_password_placeholder(parts["user"], parts["secret"])
    return is_placeholder(parts["secret"])


def _located(text: str, found: dict[int, Rule]) -> Iterator[Leak]:
    """Yield found's places as lines and columns; each line is counted once."""
    line, line_start, seen = 1, 0, 0
    for start, rule in sorted(found.items(), key=lambda item: item[0]):
        line += text.count("\n", seen, start)
        line_start = text.rfind("\n", seen, start) + 1 or line_start
        seen = start
        yield Leak(line, start - line_start + 1, rule.name)
