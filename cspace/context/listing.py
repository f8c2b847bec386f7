"""Lists of records, newest first, that read no more files than they have to."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass

from cspace.context import entryfile
from cspace.context.reading import Reading, reading
from cspace.context.records import Entry, Info, Kind, Listing
from cspace.context.store import ContextStore

DEFAULT_LIMIT = 20
MAX_LIMIT = 200
_NEVER = datetime.datetime.min.replace(tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """Days, both included; None leaves an end open."""

    since: datetime.date | None = None
    until: datetime.date | None = None

    def covers(self, info: Info) -> bool:
        """Whether a record was created in the period, or updated in it."""
        return self.is_open or any(
            time is not None and self._has(time) for time in (info.created, info.updated)
        )

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
    with contextlib.ExitStack() as stack:
        readings = [stack.enter_context(reading(store, kind)) for kind in kinds]
        return _list(readings, period, limit)


def list_findings(
    store: ContextStore,
    wanted: Wanted,
    *,
    period: Period = ALWAYS,
    limit: int = DEFAULT_LIMIT,
) -> Listing[Info]:
    """List findings without their texts; errors as for `list_entries`."""
    with reading(store, Kind.FINDING) as findings:
        accept = wanted.matches if wanted != Wanted() else None
        return _list([findings], period, limit, accept)


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
    with reading(store, kind) as records:
        found, unopened = _choose([records], period, limit, accept)
        entries: list[Entry] = []
        gone = 0
        for info in found:
            if len(entries) == limit:
                break
            entry = records.entry(info.slug)
            # It may have changed since it was chosen.
            if entry is not None and (accept is None or accept(entry.info)):
                entries.append(entry)
            else:
                gone += 1
        left_out = len(found) - len(entries) - gone + unopened
        return Listing(tuple(entries), left_out, records.skipped)


def _list(
    readings: list[Reading],
    period: Period,
    limit: int,
    accept: Callable[[Info], bool] | None = None,
) -> Listing[Info]:
    found, unopened = _choose(readings, period, limit, accept)
    skipped = tuple(itertools.chain.from_iterable(one.skipped for one in readings))
    return Listing(tuple(found[:limit]), max(0, len(found) - limit) + unopened, skipped)


def _choose(
    readings: list[Reading], period: Period, limit: int, accept: Callable[[Info], bool] | None
) -> tuple[list[Info], int]:
    """Return the records that are wanted, newest first, and how many files were not looked at."""
    found: list[Info] = []
    by_name: list[Reading] = []
    for one in readings:
        # An old finding may have a new update, and only its file says so.
        if accept is None and (period.is_open or one.kind is not Kind.FINDING):
            by_name.append(one)
        else:
            found += [info for info in one.all_infos() if accept is None or accept(info)]
    found = [info for info in found if period.covers(info)]
    named, unopened = _newest_days(by_name, period, limit)
    return sorted(found + named, key=_newest_first), unopened


def _newest_days(readings: list[Reading], period: Period, limit: int) -> tuple[list[Info], int]:
    """Look at whole days, all kinds of one at once, until there are enough records."""
    days = _count_days(readings, period)
    found = _of_starts(readings, days.pop("", Counter()).keys(), period)
    unopened = sum(counts.total() for counts in days.values())
    left = sorted(days)
    dated: list[Info] = []
    wanted = limit
    while left and len(dated) < limit:
        starts: set[str] = set()
        counted = 0
        while left and counted < wanted:
            counts = days[left.pop()]
            starts.update(counts)
            counted += counts.total()
        unopened -= counted
        dated += _of_starts(readings, starts, period)
        wanted *= 2  # each turn goes through all names, and no file of this one may be readable
    return found + dated, unopened


def _count_days(readings: list[Reading], period: Period) -> dict[str, Counter[str]]:
    """Return how many names start how, by day; the key of those without a day is empty."""
    days: dict[str, Counter[str]] = {}
    for one in readings:
        for start, count in one.count_starts().items():
            # The shortest names end within what is counted.
            day = entryfile.dated(start.removesuffix("."))
            if _may_be_in(period, day):
                days.setdefault(day, Counter())[start] += count
    return days


def _of_starts(readings: list[Reading], starts: Set[str], period: Period) -> list[Info]:
    if not starts:
        return []
    infos = (info for one in readings for info in one.infos(one.stems_starting(starts)))
    return [info for info in infos if period.covers(info)]


def _may_be_in(period: Period, day: str) -> bool:
    return not day or (
        (period.since is None or day >= period.since.isoformat())
        and (period.until is None or day <= period.until.isoformat())
    )


def _newest_first(info: Info) -> tuple[float, str]:
    time = info.created or _NEVER
    return -(time - _NEVER).total_seconds(), info.slug
