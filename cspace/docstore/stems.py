"""Words without their endings, so that `rotate`, `rotated` and `rotation` are one."""

from __future__ import annotations

import re
from collections.abc import Collection

from cspace.docstore.words import fold

_WORD = re.compile(r"[^\W\d_]{3,}")
_SUFFIX = re.compile(r"(?:ations?|ings?|ers?|ies|ed|es|s|ly|e|y)$")
_LEAST = 4


def stem(word: str) -> str:
    """Return a folded word without its ending; a short one as it is."""
    short = _SUFFIX.sub("", word)
    return short if len(short) >= _LEAST else word


def plain_words(text: str, without: Collection[str]) -> tuple[str, ...]:
    """Return the folded words of letters in a text, each once, in their order."""
    words = map(fold, _WORD.findall(text))
    return tuple(dict.fromkeys(word for word in words if word not in without))


def stems_of(text: str, without: Collection[str]) -> frozenset[str]:
    """Return the stems of a text's words of letters.

    Args:
        without: words that do not count, folded.
    """
    return frozenset(map(stem, plain_words(text, without)))
