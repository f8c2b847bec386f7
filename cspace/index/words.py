"""Texts and queries as the full-text search sees them: words of any script, never its syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cspace.docstore.everyday import FUNCTION_WORDS
from cspace.docstore.words import UNSPACED, fold, terms_of

# Between words that such scripts do not part, pairs of characters stand for the words.
_RUN = re.compile(f"[{UNSPACED}]+")
_PARTS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a query asks for.

    Attributes:
        shown: for a person.
        phrase: what has to stand together, as the full-text search writes it.
    """

    shown: str
    phrase: str


def searchable(text: str) -> str:
    """Return a text so that the full-text search finds the words in it, of any script."""
    # To SQLite a null character is the end of a text.
    text = text.replace("\0", " ")
    if text.isascii():
        return text
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return _RUN.sub(lambda run: f" {_pairs(run[0])} {run[0][-1]} ", fold(plain))


def asked_of(query: str) -> tuple[Asked, ...]:
    """Return what a query asks for, each once; empty where it has no word.

    Words that are joined, as in `read-only`, or stand in quotes are asked for together and each.
    """
    found = {one.phrase: one for one in _iter_asked(query)}
    # What a question is built with says nothing of what it is about.
    telling = tuple(one for one in found.values() if one.shown not in FUNCTION_WORDS)
    return telling or tuple(found.values())


def prefixes_of(asked: tuple[Asked, ...]) -> tuple[Asked, ...]:
    """Return what finds words that begin as those which were asked for."""
    return tuple(Asked(one.shown, f"{one.phrase.rstrip('*')}*") for one in asked)


def _iter_asked(query: str) -> Iterator[Asked]:
    for term in terms_of(query.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")):
        parts = [part for word in term.words for part in _parts(word)]
        if len(parts) > 1:
            yield Asked(" ".join(term.words), _phrase(parts))
        yield from (Asked(part, _phrase([part])) for part in parts)


def _parts(word: str) -> list[str]:
    return [word] if _RUN.match(word) else _PARTS.findall(word) or [word]


def _phrase(parts: list[str]) -> str:
    """Return parts as one string of the full-text search: nothing in quotes is its syntax."""
    pieces = [_pairs(part) if _RUN.match(part) else part for part in parts]
    whole = '"' + " ".join(pieces).replace('"', '""') + '"'
    # The text has pairs: one character is how a pair begins, or the last of a run.
    return f"{whole}*" if len(parts) == 1 and len(parts[0]) == 1 and _RUN.match(parts[0]) else whole


def _pairs(run: str) -> str:
    return " ".join(run[at : at + 2] for at in range(len(run) - 1)) or run
