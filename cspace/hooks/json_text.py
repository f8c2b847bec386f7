"""Edits of a JSON text that leave every byte alone that they do not mean."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

_SPACE = re.compile(r"[ \t\r\n]*")
_UNIT = re.compile(r"\{[ \t]*\r?\n([ \t]+)\S")
_DEFAULT_UNIT = "  "


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


@dataclass(frozen=True, slots=True)
class Item:
    """One member of an object or element of an array.

    Attributes:
        key: empty in an array.
        start: where its key stands, in an array its value.
        value_at, end: its value.
    """

    key: str
    start: int
    value_at: int
    end: int
    value: Any


@dataclass(frozen=True, slots=True)
class Container:
    """An object or an array, from its bracket to the one that closes it."""

    start: int
    end: int
    items: tuple[Item, ...]

    def member(self, key: str) -> Item | None:
        """Return a key's member; of several the last, which is what readers take."""
        return next((item for item in reversed(self.items) if item.key == key), None)


def parse(text: str) -> Any:
    """Read a whole JSON text.

    Raises:
        ValueError, RecursionError: it is none.
    """
    start = _skip(text, 0)
    value, end = _DECODER.raw_decode(text, start)
    if _skip(text, end) != len(text):
        raise ValueError("more than one value")
    return value


def container_at(text: str, start: int) -> Container:
    """Find the items of the object or array that begins at start, of a text that `parse` took."""
    closing = "}" if text[start] == "{" else "]"
    items = []
    at = _skip(text, start + 1)
    while text[at] != closing:
        item = _item(text, at, keyed=closing == "}")
        items.append(item)
        at = _skip(text, item.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Container(start, at + 1, tuple(items))


def _item(text: str, start: int, *, keyed: bool) -> Item:
    key, value_at = "", start
    if keyed:
        key, colon = _DECODER.raw_decode(text, start)
        value_at = _skip(text, _skip(text, colon) + 1)
    value, end = _DECODER.raw_decode(text, value_at)
    return Item(key, start, value_at, end, value)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def append(text: str, container: Container, key: str, value: object, depth: int) -> str:
    """Add an item at a container's end, in the text's own indentation.

    Args:
        key: empty for an array.
        depth: how many containers the item stands in.
    """
    unit, newline = _unit(text), "\r\n" if "\r\n" in text else "\n"
    item = (f"{json.dumps(key)}: " if key else "") + _dump(value, unit)
    lines = unit is not None
    margin = newline + (unit or "") * depth
    said = item.replace("\n", margin) if lines else item
    if container.items:
        at = container.items[-1].end
        return text[:at] + "," + (margin if lines else " ") + said + text[at:]
    inner = f"{margin}{said}{newline}{(unit or '') * (depth - 1)}" if lines else said
    opening, closing = text[container.start], text[container.end - 1]
    return text[: container.start] + opening + inner + closing + text[container.end :]


def _unit(text: str) -> str | None:
    """Return a level's indentation, None for a text that is one line."""
    found = _UNIT.search(text)
    if found:
        return found[1]
    return None if container_at(text, _skip(text, 0)).items else _DEFAULT_UNIT


def _dump(value: object, unit: str | None) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False)


def remove(text: str, container: Container, item: Item) -> str:
    """Take an item out, with its comma and the space before it, or after it where it is first."""
    index = container.items.index(item)
    if index:
        return text[: container.items[index - 1].end] + text[item.end :]
    if len(container.items) > 1:
        return text[: item.start] + text[container.items[1].start :]
    return text[: container.start + 1] + text[container.end - 1 :]


def replace(text: str, item: Item, value: object) -> str:
    """Replace an item's value by one that fits on a line."""
    return text[: item.value_at] + json.dumps(value, ensure_ascii=False) + text[item.end :]


def root_of(text: str) -> Container:
    """Find the outermost object's items."""
    return container_at(text, _skip(text, 0))
