"""Checks of what an author gives; every refusal names the field and what it may hold."""

from __future__ import annotations

import re

from cspace.errors import UsageError

MAX_TITLE = 300
MAX_AUTHOR = 80
MAX_ITEMS = 50
MAX_ITEM = 300

# An author stands in a heading, between em dashes.
_AUTHOR = re.compile(r"[^\W_][\w .+@'()/-]*")


def check_text(field: str, text: str) -> str:
    """Return a text that a file can hold; it may be empty.

    Raises:
        UsageError: it holds NUL or half a character, which no file gives back.
    """
    if "\0" in text:
        raise UsageError(f"{field} holds a NUL character", hint=f"send {field} without it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{field} holds half a character (a lone surrogate) at position {error.start}",
            hint=f"send {field} as valid Unicode",
        ) from None
    return text


def check_required(field: str, text: str) -> str:
    """Return a text that says something."""
    if not check_text(field, text).strip():
        raise UsageError(f"{field} is empty", hint=f"say something in {field}")
    return text


def check_title(title: str) -> str:
    """Return a title of 1 to 300 characters."""
    if len(check_required("title", title)) > MAX_TITLE:
        raise UsageError(
            f"title has {len(title)} characters, more than {MAX_TITLE}",
            hint="shorten it, and move the rest into the text",
        )
    return title


def check_author(author: str) -> str:
    """Return an author without the @ that a heading adds.

    Raises:
        UsageError: it could be taken for another part of the heading.
    """
    name = author.removeprefix("@")
    if len(name) > MAX_AUTHOR or not _AUTHOR.fullmatch(name) or name.endswith(" "):
        raise UsageError(
            f"author {author[:MAX_AUTHOR]!r} is not a name",
            hint=f"use at most {MAX_AUTHOR} letters, digits, spaces and . _ + - / ' ( ) @",
        )
    return name


def signature_of(name: str) -> str:
    """Return the name of a user or an instance as an author that every check lets pass."""
    cleaned = re.sub(r"[^\w .+@'()/-]+", "-", name)[:MAX_AUTHOR].strip(" .+@'()/-_")
    return cleaned or "agent"


def check_items(field: str, items: tuple[str, ...]) -> tuple[str, ...]:
    """Return a list of short texts."""
    if len(items) > MAX_ITEMS:
        raise UsageError(
            f"{field} has {len(items)} items, more than {MAX_ITEMS}", hint="keep the best ones"
        )
    for item in items:
        if len(check_required(field, item)) > MAX_ITEM:
            raise UsageError(
                f"an item of {field} has {len(item)} characters, more than {MAX_ITEM}",
                hint="shorten it",
            )
    return items
