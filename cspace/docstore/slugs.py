"""Names of documents: made from a title, and checked before the file system is touched."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from cspace.errors import UsageError

MAX_SLUG = 60
# A name that we made: a date, a slug and a counter. Longer input can not be one of ours.
MAX_INPUT = 200

_ALLOWED = re.compile(r"[a-z0-9-]+")
# Letters that have no decomposition into a base letter and a mark.
_TRANSLITERATED = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "ł": "l",
        "ħ": "h",
        "ı": "i",
        "ŋ": "n",
        "ŧ": "t",
    }
)


def slug_of(title: str) -> str:
    """Return the slug of a title: `[a-z0-9-]`, 1 to 60 characters.

    Accented letters are transliterated; a title without any usable letter gets `entry-<6 hex>`.
    """
    folded = unicodedata.normalize("NFKD", title.casefold()).translate(_TRANSLITERATED)
    letters = "".join(mark for mark in folded if not unicodedata.combining(mark))
    slug = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:MAX_SLUG].rstrip("-")
    digest = hashlib.sha256(title.encode("utf-8", "surrogatepass")).hexdigest()
    return slug or f"entry-{digest[:6]}"


def check_slug(slug: str) -> str:
    """Return what was given as a slug, without its optional `.md`.

    Raises:
        UsageError: it holds anything but `[a-z0-9-]`, so it can not be a document's name.
    """
    stem = slug.removesuffix(".md")
    if len(stem) > MAX_INPUT or not _ALLOWED.fullmatch(stem):
        raise UsageError(
            f"slug {slug[:MAX_INPUT]!r} is not a name: only a-z, 0-9 and - are allowed",
            hint="use a slug exactly as a listing shows it",
        )
    return stem
