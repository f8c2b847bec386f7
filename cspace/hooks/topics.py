"""What a prompt is about, as far as its words say so, and whether a memory is about that.

Silence is the rule. A memory is worth a line when a prompt names something that few texts have, a
file, an identifier or a tag, or when most of what a memory's summary says stands in the prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cspace.docstore.everyday import EVERYDAY
from cspace.docstore.stems import plain_words, stem, stems_of
from cspace.docstore.words import fold

# Longer ones are logs and files that somebody pasted; what they want stands at the beginning.
MOST_CHARACTERS = 2_000
MOST_TERMS = 24
# Of a body: what it is about it says at its beginning, and a session waits for us.
MOST_OF_A_BODY = 4_000
# Of a summary's own words that a prompt has to have where it names nothing.
LEAST_SHARED, LEAST_SHARE = 2, 0.5

_ADDRESS = re.compile(r"\b[a-z]+://\S+")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TICKED = re.compile(r"`([^`\n]{2,80})`")
# It begins where a run does, or a long line of dashes would be looked at from each of them.
_TOKEN = re.compile(r"(?<![\w./@:#-])[\w./@:#-]*\w")
_PATH = re.compile(r"(?=.*[^\W\d])(?:[\w.@-]*/)*[\w@-]+(?:/|\.[A-Za-z][A-Za-z0-9]{0,5})?")
_ENDING = re.compile(r"\w\.[A-Za-z][A-Za-z0-9]{0,5}$")
_JOINED = re.compile(r"[^\W_]_[^\W_]|[a-z0-9][A-Z]|::")
_MIXED = re.compile(r"(?=.*[A-Za-z]{2})(?=.*\d)[A-Za-z0-9-]{4,}")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]{2,}")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a prompt is about.

    Attributes:
        named: files and identifiers, folded.
        words: other words that say something, as stems.
        text: the same for a search.
    """

    named: tuple[str, ...]
    words: frozenset[str]
    text: str

    def __bool__(self) -> bool:
        return bool(self.named or len(self.words) >= LEAST_SHARED or self.text)


@dataclass(frozen=True, slots=True)
class About:
    """What a memory says of itself.

    Attributes:
        labels: its tags, specification and file.
    """

    summary: str
    labels: tuple[str, ...]
    body: str


def topic_of(prompt: str) -> Topic:
    """Return what a prompt is about; nothing where it has ordinary words only."""
    text = _ADDRESS.sub(" ", _FENCED.sub(" ", prompt[:MOST_CHARACTERS]))
    ticked = [found.strip() for found in _TICKED.findall(text)]
    tokens = [found.strip(".:#-/@") for found in _TOKEN.findall(text)]
    named = [one for one in (*ticked, *filter(_is_name, tokens)) if _says_something(one)]
    names = tuple(dict.fromkeys(map(fold, named)))[:MOST_TERMS]
    words = plain_words(text, EVERYDAY)[:MOST_TERMS]
    return Topic(names, frozenset(map(stem, words)), " ".join(dict.fromkeys((*names, *words))))


def is_about(topic: Topic, memory: About) -> bool:
    """Tell whether a memory is worth a line to somebody who works on a topic."""
    labels = tuple(map(fold, memory.labels))
    head = " ".join((fold(memory.summary), *labels))
    if any(_stands_in(name, head) for name in topic.named):
        return True
    body = fold(memory.body[:MOST_OF_A_BODY]) if topic.named else ""
    if any(len(name) > 4 and _stands_in(name, body) for name in topic.named):
        return True
    if any(_is_label(label, topic.words) for label in labels):
        return True
    own = stems_of(memory.summary, EVERYDAY)
    shared = own & topic.words
    return len(shared) >= LEAST_SHARED and len(shared) >= LEAST_SHARE * len(own)


def _is_name(token: str) -> bool:
    """Whether a word is a file's name or an identifier, by its form alone."""
    if _CAPITALS.fullmatch(token) or _MIXED.fullmatch(token) or _JOINED.search(token):
        return True
    return ("/" in token or bool(_ENDING.search(token))) and bool(_PATH.fullmatch(token))


def _says_something(name: str) -> bool:
    words = [fold(word) for word in re.findall(r"[^\W_]+", name)]
    return len(name) >= 3 and any(word not in EVERYDAY and len(word) > 1 for word in words)


def _stands_in(name: str, text: str) -> bool:
    """Whether text has name as a whole: `auth.py` is in `src/auth.py`, not in `oauth.py`."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_joins(before) or _joins(after)):
            return True
        at = text.find(name, at + 1)
    return False


def _joins(mark: str) -> bool:
    return bool(mark) and (mark.isalnum() or mark == "_")


def _is_label(label: str, words: frozenset[str]) -> bool:
    """Whether all words of a tag or a specification are meant; a file's are not words."""
    if "/" in label or "." in label:
        return False
    own = stems_of(label, EVERYDAY)
    return bool(own) and own <= words and any(len(word) >= 3 for word in own)
