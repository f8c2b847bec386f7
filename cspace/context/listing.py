"""Lists of records, newest first, that read no more files than they have to."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cspace.context import entryfile
from cspace.context.records import Entry, Info, Kind, Listing, Skipped
from cspace.context.store import ContextStore
from cspace.errors import CspaceError, NotFound

DEFAULT_LIMIT = 20
MAX_LIMIT = 200
# One call reads no more of a kind than this: many large files together hurt as much as one.
MAX_TOTAL_BYTES = 32 * 1024 * 1024
_NEVER = datetime.datetime.min.replace(tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """Days, both included; None leaves an end open."""

    since: datetime.date | None = None
    until: datetime.date | None = None

    def covers(self, info: Info) -> bool:
        """Whether a record was created in the period, or updated in it."""
        return any(time is not None and self._has(time) for time in (info.created, info.updated))

    def _has(self, time: datetime.datetime) -> bool:
        day = time.date()
        return (self.since is None or day >= self.since) and (
            self.until is None or day <= self.until
        )

    @property
    def is_open(self) -> bool:
        """Whether every record is in it."""
        return self.since is None and self.until is None


ALWAYS = Period()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which findings to list; an empty set allows all. Of tags, one has to match."""

    status: frozenset[str] = frozenset()
    category: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()

    def matches(self, info: Info) -> bool:
        """Whether a finding is wanted."""
        return (
            (not self.status or info.status in self.status)
            and (not self.category or info.category in self.category)
            and (not self.tags or not self.tags.isdisjoint(info.tags))
        )


@dataclass(slots=True)
class _Reading:
    """What one call reads, and what it could not."""

    store: ContextStore
    skipped: list[Skipped] = field(default_factory=list)
    left: int = MAX_TOTAL_BYTES
    unread: int = 0

    def load(
        self, kind: Kind, stems: tuple[str, ...], accept: Callable[[Info], bool] | None
    ) -> Iterator[Entry]:
        for stem in stems:
            if self.left <= 0:
                self.unread += 1
                continue
            try:
                entry = self.store.load_entry(kind, stem)
                self.left -= len(entry.text)
                if accept is None or accept(entry.info):
                    yield entry
            except NotFound:
                continue  # removed since the directory was read
            except CspaceError as error:
                path = self.store.folder(kind).show_path(stem)
                self.skipped.append(Skipped(path, str(error).removeprefix(f"{path}: ")))


def list_entries(
    store: ContextStore,
    kinds: tuple[Kind, ...] = tuple(Kind),
    *,
    period: Period = ALWAYS,
    limit: int = DEFAULT_LIMIT,
) -> Listing[Info]:
    """List records of several kinds without their texts.

    Raises:
        NotFound: the store's root is missing.
    """
    found = [newest(store, kind, period=period, limit=limit) for kind in kinds]
    entries = sorted((entry for one in found for entry in one.entries), key=_newest_first)
    left_out = sum(one.left_out for one in found) + max(0, len(entries) - limit)
    skipped = tuple(itertools.chain.from_iterable(one.skipped for one in found))
    return Listing(tuple(entry.info for entry in entries[:limit]), left_out, skipped)


def list_findings(
    store: ContextStore,
    wanted: Wanted,
    *,
    period: Period = ALWAYS,
    limit: int = DEFAULT_LIMIT,
) -> Listing[Info]:
    """List findings without their texts; errors as for `list_entries`."""
    found = newest(store, Kind.FINDING, period=period, limit=limit, accept=wanted.matches)
    return Listing(tuple(entry.info for entry in found.entries), found.left_out, found.skipped)


def newest(
    store: ContextStore,
    kind: Kind,
    *,
    period: Period = ALWAYS,
    limit: int = DEFAULT_LIMIT,
    accept: Callable[[Info], bool] | None = None,
) -> Listing[Entry]:
    """Return the newest records of one kind, whole.

    Without a filter on what only the file says, no older file than needed is opened: a name starts
    with its day.
    """
    stems = store.folder(kind).list_stems()
    if not period.is_open:
        accept = _both(accept, period.covers)
        if kind is not Kind.FINDING:  # an old finding may have a new update
            stems = tuple(stem for stem in stems if _may_be_in(period, stem))
    reading = _Reading(store)
    undated, days = _by_day(stems)
    entries = [*reading.load(kind, undated, accept)]
    seen = len(undated)
    for day in days:
        if accept is None and seen - len(undated) - len(reading.skipped) >= limit:
            break
        seen += len(day)
        entries += reading.load(kind, day, accept)
    entries.sort(key=_newest_first)
    left_out = max(0, len(entries) - limit) + len(stems) - seen
    if reading.unread:
        reason = f"{reading.unread} not read, after {MAX_TOTAL_BYTES} bytes of others"
        reading.skipped.append(Skipped(str(store.folder(kind).relative), reason))
    return Listing(tuple(entries[:limit]), left_out, tuple(reading.skipped))


def _both(
    first: Callable[[Info], bool] | None, second: Callable[[Info], bool]
) -> Callable[[Info], bool]:
    return (lambda info: first(info) and second(info)) if first else second


def _may_be_in(period: Period, stem: str) -> bool:
    day = entryfile.dated(stem)
    return not day or (
        (period.since is None or day >= period.since.isoformat())
        and (period.until is None or day <= period.until.isoformat())
    )


def _by_day(stems: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the names without a day, and the others grouped by theirs, newest first."""
    days: dict[str, list[str]] = {}
    for stem in stems:
        days.setdefault(entryfile.dated(stem), []).append(stem)
    undated = tuple(days.pop("", ()))
    return undated, tuple(tuple(days[day]) for day in sorted(days, reverse=True))


def _newest_first(entry: Entry) -> tuple[float, str]:
    time = entry.info.created or _NEVER
    return -(time - _NEVER).total_seconds(), entry.info.slug
