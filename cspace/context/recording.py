"""Records what happened to a context since the last recording, and says what was lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from cspace import files
from cspace.clock import Clock
from cspace.context import authored, history, journal, present, snapshots
from cspace.context.finding_parts import Block, parse_parts
from cspace.context.history import Action, Change
from cspace.context.merge import lacking
from cspace.context.records import Kind
from cspace.errors import CommandFailed
from cspace.git_import import BlobReader, Place, blob_id, blob_reader, new_import

KNOWN, LOCK = "context-known.json", "context.lock"
LOCK_SECONDS = 60.0
ATTEMPTS = 5
# No agent writes as much between two commands; what is beyond it is counted.
MAX_JOURNAL = 1 << 30


class Fate(StrEnum):
    """What became of a record that nobody removed on purpose."""

    VANISHED = "vanished"
    WENT_BACK = "went back"


@dataclass(frozen=True, slots=True)
class Loss:
    """An entry that is worse off than it was recorded."""

    entry: str
    fate: Fate


@dataclass(frozen=True, slots=True)
class Taken:
    """A journal that was moved aside, and the instance that wrote it; None for the host."""

    path: Path
    instance: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a recording.

    Attributes:
        changes: how many things were added to the history.
        unread: lines of journals that were no records.
        renewed: directories that are gone, or others than the last time; each once.
    """

    changes: int = 0
    losses: tuple[Loss, ...] = ()
    unread: int = 0
    renewed: tuple[str, ...] = ()


@dataclass(slots=True)
class _Journaled:
    """What the journals say, entry by entry, in the order of their lines."""

    changes: list[Change] = field(default_factory=list)
    updates: dict[str, tuple[Block, ...]] = field(default_factory=dict)
    unread: int = 0


def directory_of(place: Place) -> Path:
    """Return where a repository keeps the host's journal and what was seen last."""
    return place.common_directory / "cspace"


def was_held(place: Place) -> bool:
    """Tell whether anybody ever held the history of a repository."""
    return (directory_of(place) / LOCK).exists()


@contextlib.contextmanager
def exclusive(place: Place) -> Iterator[None]:
    """Hold the history of a repository, on this machine; others wait."""
    directory = directory_of(place)
    files.ensure_directory(directory, mode=0o700)
    lock = directory / LOCK
    with files.lock(lock, timeout=LOCK_SECONDS, holder="cspace", name="the history"):
        files.sweep(directory)
        yield


def record(root: Path, place: Place, taken: tuple[Taken, ...], clock: Clock) -> Outcome:
    """Add what the journals and the disk tell to the history; what was taken can go after that.

    The caller holds the history.

    Args:
        place: of the repository that root is the main worktree of.

    Raises:
        CspaceError: nothing was recorded.
        OSError: the context can not be looked at; nothing was recorded.
    """
    for attempt in range(1, ATTEMPTS + 1):
        tip = snapshots.find_tip(root)
        try:
            return _record(root, place, tip, taken, clock)
        except CommandFailed:
            # A cspace that shares this repository from another machine does not share the lock.
            if attempt == ATTEMPTS or snapshots.find_tip(root) == tip:
                raise
    raise AssertionError("every attempt returns or raises")


def _record(
    root: Path,
    place: Place,
    tip: str | None,
    journals: tuple[Taken, ...],
    clock: Clock,
) -> Outcome:
    path = directory_of(place) / KNOWN
    known = present.load_known(path)
    before = _state(root, tip, known)
    with new_import(root, place.algorithm, before.values()) as stream:
        seen = present.observe(root, known, before, stream.add)
        now, state = clock(), present.state_of(seen)
        said, changes = _tell(journals, before, state, stream.add, now)
        losses = _find_losses(root, tip, before, state, said)
        if changes:
            snapshots.record(stream, tip, before, snapshots.Recording(changes, state), now)
    found = present.find_directories(root)
    places = {name: found.get(name, 0) for name in known.directories.keys() | found.keys()}
    if changes or seen != known.entries or places != known.directories:
        new_tip = snapshots.find_tip(root) if changes else tip
        present.save_known(path, present.Known(new_tip or "", seen, places))
    # One that was gone the last time was named then.
    there = {name: one for name, one in sorted(known.directories.items()) if one}
    renewed = tuple(name for name, one in there.items() if places[name] != one)
    return Outcome(len(changes), losses, said.unread, renewed)


@dataclass(frozen=True, slots=True)
class Preview:
    """What the history would be after a recording.

    Attributes:
        contents: by revision, what the repository may not have yet.
    """

    changes: tuple[Change, ...]
    contents: Mapping[str, bytes]


def preview(root: Path, place: Place, journals: tuple[Taken, ...], clock: Clock) -> Preview:
    """Return what `record` would make of journals where they lie; changes nothing.

    Raises:
        CspaceError, OSError: as for `record`.
    """
    contents: dict[str, bytes] = {}

    def add(content: bytes) -> str:
        revision = blob_id(content, place.algorithm)
        contents[revision] = content
        return revision

    tip = snapshots.find_tip(root)
    known = present.load_known(directory_of(place) / KNOWN)
    before = _state(root, tip, known)
    state = present.state_of(present.observe(root, known, before, add))
    _, changes = _tell(journals, before, state, add, clock())
    return Preview((*snapshots.load_changes(root, tip), *changes), contents)


def find_losses(root: Path, place: Place) -> tuple[Loss, ...]:
    """Return what is worse off than in the last recording, without recording anything.

    Raises:
        CspaceError, OSError: it can not be told.
    """
    tip = snapshots.find_tip(root)
    known = present.load_known(directory_of(place) / KNOWN)
    before = _state(root, tip, known)
    seen = present.observe(root, known, before, lambda text: blob_id(text, place.algorithm))
    state = present.state_of(seen)
    return _find_losses(root, tip, before, state, _Journaled())


def _state(root: Path, tip: str | None, known: present.Known) -> dict[str, str]:
    if tip is None:
        return {}
    return present.state_of(known.entries) if known.tip == tip else snapshots.load_state(root, tip)


def _tell(
    journals: Iterable[Taken],
    before: Mapping[str, str],
    state: Mapping[str, str],
    add: Callable[[bytes], str],
    now: datetime,
) -> tuple[_Journaled, tuple[Change, ...]]:
    """Return what the journals say, and with what the disk tells all that is new."""
    said = _read_journals(journals, before, state, add, now)
    return said, (*said.changes, *_compare(before, state, said.changes, now))


def _read_journals(
    journals: Iterable[Taken],
    before: Mapping[str, str],
    state: Mapping[str, str],
    add: Callable[[bytes], str],
    now: datetime,
) -> _Journaled:
    said = _Journaled()
    for one in journals:
        for event in _within(journal.iter_events(one.path)):
            if event is None or (one.instance is not None and event.action is Action.REMOVED):
                said.unread += event is None
                continue
            entry = history.entry_of(event.kind, event.slug)
            revision = add(event.content) if event.content else ""
            # Nobody writes in the future; and what an agent calls itself is one line.
            time, author = min(event.time, now), authored.signature_of(event.author)
            if event.action is Action.REMOVED:
                if revision:
                    said.changes.append(Change(time, Action.FOUND, entry, revision))
                revision = ""
            said.changes.append(Change(time, event.action, entry, revision, author, one.instance))
            if event.kind is Kind.FINDING and revision and state.get(entry, revision) != revision:
                # The longest is enough to compare with: updates only ever come.
                found = parse_parts(event.content).blocks
                said.updates[entry] = max(said.updates.get(entry, ()), found, key=len)
    said.changes[:] = _news(sorted(said.changes, key=lambda change: change.time), before)
    return said


def _news(changes: Iterable[Change], before: Mapping[str, str]) -> Iterator[Change]:
    """Yield changes, but of what a removal found only what a hand had changed unseen."""
    latest = dict(before)
    for change in changes:
        if change.action is not Action.FOUND or latest.get(change.entry) != change.revision:
            latest[change.entry] = change.revision or latest.get(change.entry, "")
            yield change


def _within(events: Iterator[journal.Event | None]) -> Iterator[journal.Event | None]:
    left = MAX_JOURNAL
    for event in events:
        left -= len(event.content) if event is not None else 0
        if left < 0:
            yield None
            return
        yield event


def _compare(
    before: Mapping[str, str], state: Mapping[str, str], said: Iterable[Change], now: datetime
) -> tuple[Change, ...]:
    """Return what the disk tells beyond the journals."""
    written = {(change.entry, change.revision) for change in said}
    removed = {change.entry for change in said if change.action is Action.REMOVED}
    found = [
        Change(now, Action.FOUND, entry, revision)
        for entry, revision in sorted(state.items())
        if before.get(entry) != revision and (entry, revision) not in written
    ]
    told = before.keys() | {change.entry for change in said if change.revision}
    gone = [Change(now, Action.GONE, entry) for entry in sorted(told - state.keys() - removed)]
    return (*found, *gone)


def _find_losses(
    root: Path,
    tip: str | None,
    before: Mapping[str, str],
    state: Mapping[str, str],
    said: _Journaled,
) -> tuple[Loss, ...]:
    newest = dict(before)
    for change in said.changes:
        newest[change.entry] = change.revision
    vanished = [entry for entry, one in newest.items() if one and entry not in state]
    suspects = [entry for entry, one in newest.items() if one and state.get(entry, one) != one]
    back = _went_back(root, tip, suspects, state, said) if suspects else ()
    losses = [Loss(entry, Fate.VANISHED) for entry in sorted(vanished)]
    return (*losses, *(Loss(entry, Fate.WENT_BACK) for entry in sorted(back)))


def _went_back(
    root: Path,
    tip: str | None,
    suspects: Iterable[str],
    state: Mapping[str, str],
    said: _Journaled,
) -> Iterator[str]:
    """Yield those that hold an older content than the newest one, lack updates, or are empty."""
    recorded = history.by_entry((*snapshots.load_changes(root, tip), *said.changes))
    with blob_reader(root) as blobs:
        for entry in suspects:
            changes = recorded.get(entry, ())
            newest = history.versions(changes)[-1:]
            if any(version.revision == state[entry] for version in newest):
                continue  # a journal told of an earlier write only now
            if any(change.revision == state[entry] for change in changes):
                yield entry
            elif (kind := history.kind_of(entry)) is not None:
                now = present.read_entry(root, entry) or b""
                earlier = (said.updates.get(entry, ()), *_read_updates(blobs, newest))
                if not now.strip() or (kind is Kind.FINDING and _lacks_updates(now, earlier)):
                    yield entry


def _lacks_updates(document: bytes, earlier: Iterable[tuple[Block, ...]]) -> bool:
    found = parse_parts(document).blocks
    return any(lacking(found, one) for one in earlier)


def _read_updates(
    blobs: BlobReader, versions: Iterable[history.Version]
) -> Iterator[tuple[Block, ...]]:
    # What is only in this stream yet, the journals told of.
    for version in versions:
        yield parse_parts(blobs.read(version.revision) or b"").blocks
