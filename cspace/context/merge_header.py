"""Joins three versions of a front matter, key by key."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from cspace.context.finding_parts import Header
from cspace.docstore import frontmatter
from cspace.docstore.frontmatter import FrontMatter

STATUS = "status"
LISTS = ("tags", "related")

_KEY = re.compile(rb"^([A-Za-z0-9_][\w.-]*)[ \t]*:(?=[ \t\r\n]|\Z)", re.MULTILINE)
_Lines = dict[tuple[str, int], bytes]
_Three = tuple[Header, Header, Header]


def merge(base: Header, ours: Header, theirs: Header, *, status: str | None) -> _Three:
    """Return three headers that differ only in the keys that ours and theirs disagree on.

    Args:
        status: what a status becomes that both changed; None, or any other than theirs and ours,
            is no answer.
    """
    as_they_are = (base, ours, theirs)
    if not (ours.closing and theirs.closing):
        return as_they_are
    old, mine, other = (_lines_of(one) for one in as_they_are)
    chosen: list[_Lines] = [{}, {}, {}]
    for key in dict.fromkeys([*mine, *other]):
        three = (old.get(key, b""), mine.get(key, b""), other.get(key, b""))
        merged = _merged(key[0], three, status)
        for side, own in zip(chosen, three, strict=True):
            side[key] = own if merged is None else merged
    mixed = [
        replace(header, lines=b"".join(lines.values()))
        for header, lines in zip(as_they_are, chosen, strict=True)
    ]
    result = (mixed[0], mixed[1], mixed[2])
    return result if _is_sound(result, as_they_are) else as_they_are


def _lines_of(header: Header) -> _Lines:
    """Return what stands under each key; a key that comes twice is two."""
    keys = list(_KEY.finditer(header.lines))
    start = keys[0].start() if keys else len(header.lines)
    found = {("", 0): header.lines[:start]}
    for key, following in itertools.zip_longest(keys, keys[1:]):
        name = key[1].decode("ascii", "replace")
        nth = sum(1 for known, _ in found if known == name)
        found[name, nth] = header.lines[key.start() : following.start() if following else None]
    return found


def _merged(key: str, three: tuple[bytes, bytes, bytes], status: str | None) -> bytes | None:
    """Return what a key's lines become, None when the sides disagree."""
    base, ours, theirs = three
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if any(b"#" in lines for lines in three):
        return None  # a comment that only one side has would be lost
    if key in LISTS:
        return _merged_list(key, three)
    if key == STATUS and status is not None:
        for side in (ours, theirs):
            if _read(side).text(STATUS) == status:
                return side
    return None


def _merged_list(key: str, three: tuple[bytes, bytes, bytes]) -> bytes | None:
    read = [_read(lines) for lines in three]
    if not all(_is_plain_list(one.values.get(key)) for one in read):
        return None
    old, mine, other = (one.texts(key) for one in read)
    items = [item for item in mine if item in other or item not in old]
    items += [item for item in other if item not in mine and item not in old]
    ending = "\r\n" if three[1].endswith(b"\r\n") else "\n"
    return f"{key}: {frontmatter.dump_value(tuple(dict.fromkeys(items)))}{ending}".encode()


def _is_plain_list(value: object) -> bool:
    return (
        value is None
        or isinstance(value, str)
        or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    )


def _read(lines: bytes) -> FrontMatter:
    return frontmatter.parse_front_matter(b"---\n" + lines + b"---\n")


def _is_sound(merged: _Three, before: _Three) -> bool:
    """Whether no key of a merged header reads as something that neither side says."""
    _, *sides = (_read(one.lines).values for one in before)
    for header in merged[1:]:
        values = _read(header.lines).values
        keys = {*values, *sides[0], *sides[1]}.difference(LISTS)
        if any(values.get(key) not in [side.get(key) for side in sides] for key in keys):
            return False
    return True
