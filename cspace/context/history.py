"""What happened to the records of a context, and what follows from it. Pure.

Every recording adds lines; nothing is ever taken back. Which version of a record is its newest one
goes by what was written on purpose, not by what a checkout happened to leave on the disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePosixPath

from cspace.context.kinds import BY_PLURAL, HUMAN
from cspace.context.records import ROOT, Kind
from cspace.errors import MALFORMED

# A human-owned file, or what a directory of records can hold as a document.
_ENTRY = re.compile(rf"{'|'.join(HUMAN)}|(?:{'|'.join(BY_PLURAL)})/(?!\.)[^/\0]+")
_REVISION = re.compile(r"[0-9a-f]*")


class Action(StrEnum):
    """What happened: a tool wrote or removed it, or it was so when somebody looked."""

    WRITTEN = "written"
    REMOVED = "removed"
    FOUND = "found"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened to one entry.

    Attributes:
        entry: `findings/<stem>`, `direction`, …
        revision: git's id of the content that came; empty when it went.
        author: who wrote it, as far as that is known.
        instance: the instance that it came from, as the host knows it; None for the host.
    """

    time: datetime
    action: Action
    entry: str
    revision: str = ""
    author: str = ""
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One content of an entry, and when it became the newest."""

    time: datetime
    revision: str


def path_of(entry: str) -> PurePosixPath:
    """Return an entry's path relative to the root."""
    return ROOT / f"{entry}.md"


def entry_of(kind: Kind, stem: str) -> str:
    """Return the name of a record here."""
    return f"{kind.plural}/{stem}"


def kind_of(entry: str) -> Kind | None:
    """Return the kind of an entry's record, None for a human-owned file."""
    return BY_PLURAL.get(entry.partition("/")[0])


def dump_change(change: Change) -> str:
    """Write one line."""
    known = {
        "time": change.time.astimezone(UTC).isoformat(),
        "action": change.action.value,
        "entry": change.entry,
        "revision": change.revision,
        "author": change.author,
        "instance": change.instance,
    }
    return json.dumps({key: value for key, value in known.items() if value}) + "\n"


def parse_changes(lines: bytes) -> tuple[Change, ...]:
    """Read lines; what a newer cspace may have written otherwise is left out."""
    found = []
    for line in lines.splitlines():
        try:
            found.append(_parse_change(json.loads(line)))
        except MALFORMED:
            continue
    return tuple(found)


def _parse_change(data: dict[str, str]) -> Change:
    return Change(
        time=datetime.fromisoformat(data["time"]).astimezone(UTC),
        action=Action(data["action"]),
        entry=_matching(_ENTRY, data["entry"]),
        revision=_matching(_REVISION, data.get("revision", "")),
        author=data.get("author", ""),
        instance=data.get("instance"),
    )


def _matching(pattern: re.Pattern[str], text: str) -> str:
    # A ref can come from anybody: a mirroring fetch brings those of its remote.
    if not pattern.fullmatch(text):
        raise ValueError(text)
    return text


def by_entry(changes: Iterable[Change]) -> dict[str, tuple[Change, ...]]:
    """Group changes, the oldest first; one that was recorded twice counts once."""
    grouped: dict[str, dict[Change, None]] = {}
    for change in changes:
        grouped.setdefault(change.entry, {})[change] = None
    return {
        entry: tuple(sorted(found, key=lambda one: one.time)) for entry, found in grouped.items()
    }


def versions(
    changes: Iterable[Change], same: Callable[[str, str], bool] = lambda *_: True
) -> tuple[Version, ...]:
    """Return the versions of one entry that nobody removed on purpose, the newest last.

    A known content that was merely found again, as after a checkout, is no new version: then it
    went back. Only the host puts an entry back on purpose, and then takes back what came after.
    Empty when the entry was removed.

    Args:
        changes: of one entry, the oldest first.
        same: whether two revisions are of one record: what is removed or put back on purpose
            leaves alone another one of its name.
    """
    living: list[Version] = []
    seen: set[str] = set()
    standing = ""
    for change in changes:
        version = Version(change.time, change.revision)
        if change.action is Action.REMOVED:
            living = [one for one in living if standing and not same(one.revision, standing)]
        elif change.revision and change.revision not in seen:
            living.append(version)
        elif change.action is Action.WRITTEN and change.instance is None:
            revisions = [one.revision for one in living]
            back = revisions.index(change.revision) if change.revision in revisions else len(living)
            later = [one for one in living[back:] if not same(one.revision, change.revision)]
            living[back:] = [*later, version]
        seen.add(change.revision)
        standing = change.revision or standing
    return tuple(living)


def revision_at(changes: Iterable[Change], time: datetime) -> str | None:
    """Return what an entry held at a time, None when it was not there.

    Args:
        changes: of one entry, the oldest first.
    """
    before = [change for change in changes if change.time <= time]
    return (before[-1].revision or None) if before else None
