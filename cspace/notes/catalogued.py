"""Memories as items of an index, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from cspace.errors import MALFORMED
from cspace.index.database import BrokenIndex
from cspace.index.model import Entry, Item
from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace
from cspace.notes.record import Record

# Part of what an index was made by: changes with what stands in an item.
FORMAT = "1"
_TIMES = ("timestamp", "resolved_at")
# What an item's own columns hold, or nobody needs of what was found.
_LEFT_OUT = ("body", "source")
_FACETS = ("type", "spec", "phase", "severity", "category", "file")


def group_of(namespace: Namespace, commit: str) -> str:
    """Return by what the items of one note are known."""
    return f"{namespace}:{commit}"


def group_of_key(key: str) -> str:
    """Return the group that an item's key belongs to."""
    return key.partition("/")[0]


def keyed(memories: Iterable[Memory]) -> Iterator[tuple[str, Memory]]:
    """Give each memory of one note a name; records of one id, which people make, are counted."""
    seen: dict[str, int] = {}
    for memory in memories:
        key = f"{group_of(memory.namespace, memory.commit)}/{memory.id}"
        seen[key] = seen.get(key, 0) + 1
        yield key if seen[key] == 1 else f"{key}#{seen[key]}", memory


def item_of(key: str, memory: Memory, author: tuple[str, str] | None) -> Item:
    """Return what the index holds of a memory.

    Args:
        author: name and address of the commit's author; None where the commit is not there.
    """
    record = memory.record
    values = {name: getattr(record, name) for name in _FACETS} | {"status": memory.status}
    facets = {name: (str(value),) for name, value in values.items() if value is not None}
    return Item(
        key=key,
        group=group_of_key(key),
        title=record.summary,
        text=record.body,
        labels=_labels(memory, author),
        topics=" ".join(record.tags),
        facets=facets
        | {"namespace": (memory.namespace.value,), "commit": (memory.commit,)}
        | {"tag": record.tags, "author": author or ()},
        time=record.timestamp.timestamp(),
        payload=_dump(memory),
    )


def memory_of(entry: Entry) -> Memory:
    """Return the memory that an entry is of. Its record's source is empty.

    Raises:
        BrokenIndex: that is none, so the index is damaged.
    """
    try:
        held: dict[str, Any] = json.loads(entry.payload)
        record = _loaded(held.pop("record")) | {"namespace": Namespace(held.pop("namespace"))}
        record["tags"] = tuple(record["tags"])
        return Memory(**_loaded(held), record=Record(**{"body": entry.text} | record))
    except MALFORMED as error:
        raise BrokenIndex(f"{entry.key}: {error}", hint="cspace notes reindex") from error


def _labels(memory: Memory, author: tuple[str, str] | None) -> str:
    record = memory.record
    said = (
        *(memory.namespace.value, record.type, record.spec, record.phase, *record.tags),
        *(record.severity, record.category, record.file, memory.status, memory.resolution),
        *(memory.commit[:7], f"{record.timestamp.astimezone(UTC):%Y-%m-%d %B}"),
        *(author[:1] if author else ()),
    )
    return " \n".join(one for one in said if one)


def _dump(memory: Memory) -> str:
    record = _dumped(memory.record)
    body = memory.record.body
    # What is no text, and so not in the index's own column as it was, stands here as escapes.
    if not body.isascii() and body.encode("utf-8", "replace") != body.encode(
        "utf-8", "surrogatepass"
    ):
        record["body"] = body
    held = _dumped(memory) | {"record": record, "namespace": record.pop("namespace")}
    return json.dumps(held)


def _dumped(thing: Memory | Record) -> dict[str, Any]:
    values = {one.name: getattr(thing, one.name) for one in fields(thing)}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
        if name not in _LEFT_OUT and value is not None
    }


def _loaded(held: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value) if name in _TIMES else value
        for name, value in held.items()
    }
