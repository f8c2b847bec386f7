"""Texts and queries as words, in any script: what counts as the same, and where it stands."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

PHRASE_WEIGHT = 3.0
# More than this is no query but a text.
MAX_TERMS = 64

# Marks that a reader of Latin, Greek, Cyrillic, Hebrew or Arabic leaves out. In other scripts a
# mark is a letter of its own.
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
# Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese put no spaces between words.
_HAN = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = f"\u0e00-\u109f\u1780-\u17ff{_HAN}"
# Python's \w lacks the vowel signs of India's scripts.
_LETTER = rf"\w\u0900-\u0dff{UNSPACED}"
_WORD = re.compile(f"[{UNSPACED}]+|(?:(?![{UNSPACED}])[{_LETTER}])+")
_END = f"(?:(?![{_LETTER}])|(?=[{UNSPACED}]))"
_TERM = re.compile(r'"([^"]+)"|(\S+)')


@dataclass(frozen=True, slots=True)
class Term:
    """What a query asks for: a word, words that stand together, or a part of a word.

    Attributes:
        needle: stands in every folded text that has the term.
        bonus: its absence is no fault of a text.
    """

    words: tuple[str, ...]
    needle: str
    weight: float
    bonus: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds the term in a folded text."""
        return _pattern(self.words)

    def count(self, folded: str) -> int:
        """Return how often a folded text has the term."""
        if self.needle not in folded:
            return 0
        pattern = _ascii_pattern(self.words) if folded.isascii() else self.pattern
        return len(pattern.findall(folded))


def terms_of(query: str) -> tuple[Term, ...]:
    """Return what a query asks for, each once; "quoted words" have to stand together."""
    terms: dict[tuple[str, ...], Term] = {}
    for found in _TERM.finditer(query):
        for term in _terms(_WORD.findall(fold(found[1] or found[2])), whole=bool(found[1])):
            terms.setdefault(term.words, term)
    return tuple(terms.values())[:MAX_TERMS]


def _terms(words: list[str], *, whole: bool) -> list[Term]:
    if len(words) == 1 and not whole and len(words[0]) > 2 and re.match(f"[{_HAN}]", words[0]):
        # Nobody can tell its words apart, but two characters of a word stand together elsewhere.
        pairs = [words[0][at : at + 2] for at in range(len(words[0]) - 1)]
        terms = [_term([pair], 1 / len(pairs)) for pair in pairs]
        return [*terms, _term(words, PHRASE_WEIGHT, bonus=True)]
    if not words:
        return []
    return [_term(words, PHRASE_WEIGHT if len(words) > 1 else 1.0)]


def _term(words: list[str], weight: float, *, bonus: bool = False) -> Term:
    return Term(tuple(words), max(words, key=len), weight, bonus)


@functools.lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"[^{_LETTER}]*".join(map(_whole, words)))


def _whole(word: str) -> str:
    # What stands before the word is looked at after it: a pattern that starts with a text is found
    # ten times as fast as one that starts with a condition.
    text = re.escape(word)
    return f"{text}(?:(?<![{_LETTER}]{text})|(?<=[{UNSPACED}]{text})){_END}"


@functools.lru_cache(maxsize=256)
def _ascii_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    # Says the same of an ASCII text. The sets of letters take 4 ms to compile for each word.
    return re.compile(
        r"\W*".join(rf"{re.escape(word)}(?<!\w{re.escape(word)})(?!\w)" for word in words)
    )


def fold(text: str) -> str:
    """Return text without case, accents and other forms of the same character."""
    lower = text.lower()
    return lower if lower.isascii() else _FOREIGN.sub(_folded, lower)


def _folded(run: re.Match[str]) -> str:
    # Dashes, quotes and accents come again and again; a text in another script does not.
    return _fold_short(run[0]) if len(run[0]) <= 8 else _fold_run(run[0])


@functools.lru_cache(maxsize=4096)
def _fold_short(run: str) -> str:
    return _fold_run(run)


def _fold_run(run: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", run).casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", plain))


def snippet_of(body: str, terms: tuple[Term, ...], size: int) -> str:
    """Return the line of a text that has most of the terms, cut to size around one of them.

    A phrase may go on in the next line: then both are it. Where no line has a term it is the first
    line that is no heading.
    """
    return find_line(body, terms, size)[1]


def find_line(body: str, terms: tuple[Term, ...], size: int) -> tuple[int, str]:
    """Return the number of the line that `snippet_of` cuts, from 1, and what it cuts of it."""
    lines = list(_lines_of(body))
    pairs = [(at, f"{first} {second}") for (at, first), (_, second) in itertools.pairwise(lines)]
    phrases = any(term.weight >= PHRASE_WEIGHT for term in terms)
    best, most = (1, ""), 0.0
    for number, line in (*lines, *(pairs if phrases else ())):
        folded = fold(line)
        value = sum(term.weight for term in terms if term.count(folded))
        if value > most:
            best, most = (number, line), value
    if not best[1]:
        best = next((line for line in lines if not line[1].startswith("#")), best)
    return best[0], _cut(best[1], terms, size)


def find_lines(body: str, terms: tuple[Term, ...], size: int) -> tuple[tuple[int, str], ...]:
    """Return the number, from 1, and the text, cut, of every line of a text that has a term.

    A phrase may go on in the next line: then both have it.
    """
    lines = [(number, line, fold(line)) for number, line in _lines_of(body)]
    has = [any(term.count(folded) for term in terms) for _, _, folded in lines]
    phrases = [term for term in terms if term.weight >= PHRASE_WEIGHT]
    for at, ((_, _, first), (_, _, second)) in enumerate(itertools.pairwise(lines)):
        for term in phrases:
            if term.count(f"{first} {second}") > term.count(first) + term.count(second):
                has[at] = has[at + 1] = True
    return tuple(
        (number, _cut(line, terms, size))
        for (number, line, _), shown in zip(lines, has, strict=True)
        if shown
    )


def _lines_of(body: str) -> Iterator[tuple[int, str]]:
    """Give what a text's lines hold, with the number that an editor gives them."""
    number = 1
    for line in body.splitlines(keepends=True):
        if joined := " ".join(line.split()):
            yield number, joined
        # Other characters end a line only for some readers.
        number += line.endswith("\n")


def _cut(line: str, terms: tuple[Term, ...], size: int) -> str:
    if len(line) <= size:
        return line
    start, end = _place(line, terms)
    start = max(0, min(start - size // 3, len(line) - size))
    end = max(start + size, min(end, start + 2 * size))
    cut = line[start:end].strip()
    return f"{'…' if start else ''}{cut}{'…' if end < len(line) else ''}"


def _place(line: str, terms: tuple[Term, ...]) -> tuple[int, int]:
    """Return where the weightiest term stands in a line, not folded."""
    # A character may become several, or none: `ß`, `é`.
    parts = line.lower() if line.isascii() else [fold(mark) for mark in line]
    folded = "".join(parts)
    places = [at for at, part in enumerate(parts) for _ in part]
    for term in sorted(terms, key=lambda one: -one.weight):
        found = term.pattern.search(folded)
        if found is not None:
            return places[found.start()], places[found.end() - 1] + 1
    return 0, 0
