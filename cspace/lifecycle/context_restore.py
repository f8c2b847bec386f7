"""The history of a project's context for people, and what brings lost records back."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from cspace.clock import parse_time
from cspace.context import history, present, restore, snapshots
from cspace.context.history import Change
from cspace.context.restore import Restoration, Sources
from cspace.context.store import ContextStore
from cspace.errors import Conflict, CspaceError, UsageError, expected
from cspace.git_import import blob_id, blob_reader, find_place
from cspace.lifecycle.recorded_context import Recorder
from cspace.project import Project

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of a restore: the entries that were written, and those that could not be."""

    entries: tuple[str, ...]
    failed: tuple[tuple[str, CspaceError], ...]


def parse_moment(text: str) -> datetime:
    """Read an ISO 8601 time; a day means its end, and without a zone it is UTC.

    Raises:
        UsageError: it is none.
    """
    time = parse_time(text)
    if time is None:
        raise UsageError(
            f"--at {text!r} is not a time", hint="--at 2026-04-14, or --at 2026-04-14T10:30:00Z"
        )
    return time + timedelta(days=1, microseconds=-1) if _DAY.fullmatch(text.strip()) else time


def list_changes(recorder: Recorder, name: str | None) -> tuple[Change, ...]:
    """Return what happened to one entry, or to all of them, the newest first.

    Raises:
        NotFound: nothing of that name was recorded.
    """
    seen = recorder.preview(find_place(recorder.project.root))
    grouped = history.by_entry(seen.changes)
    if name is not None:
        grouped = {name: grouped[name] for name in [restore.find_entry(grouped, name)]}
    every = (change for found in grouped.values() for change in found)
    return tuple(sorted(every, key=lambda change: (change.time, change.entry), reverse=True))


def list_entries(project: Project) -> tuple[str, ...]:
    """Return the names of all entries that were recorded."""
    changes = snapshots.load_changes(project.root, snapshots.find_tip(project.root))
    return tuple(sorted({change.entry for change in changes}))


def plan_restore(
    recorder: Recorder, name: str | None, at: datetime | None
) -> tuple[Restoration, ...]:
    """Plan what brings records back; changes nothing.

    Raises:
        NotFound: name was never recorded, or was not there at that time.
    """
    with _sources(recorder) as sources:
        if name is None:
            return restore.plan_all_at(sources, at) if at else restore.plan_all(sources)
        entry = restore.find_entry(sources.recorded, name)
        return restore.plan_one_at(sources, entry, at) if at else restore.plan_one(sources, entry)


@contextlib.contextmanager
def _sources(recorder: Recorder) -> Iterator[Sources]:
    root = recorder.project.root
    place = find_place(root)
    seen = recorder.preview(place)
    with blob_reader(root) as blobs:

        def read(revision: str) -> bytes:
            content = seen.contents.get(revision)
            if content is None:
                content = blobs.read(revision)
            if content is None:
                raise CspaceError(
                    f"{revision} is missing from the repository", hint="git fsck --full"
                )
            return content

        def look(entry: str) -> bytes | None:
            # What can not be read is in the way, which is said when something is to be written.
            with contextlib.suppress(OSError, CspaceError):
                return present.read_entry(root, entry)
            return None

        recorded = history.by_entry(seen.changes)
        yield Sources(recorded, read, look, lambda text: blob_id(text, place.algorithm))


def apply_restore(
    store: ContextStore, planned: Iterable[Restoration], recorder: Recorder
) -> Restored:
    """Write every file of a plan whose place is as the plan saw it, and record that."""
    done, failed = [], []
    for one in planned:
        try:
            restore.apply_restoration(store, one)
            done.append(one.entry)
        except (CspaceError, OSError) as error:
            failed.append((one.entry, expected(error)))
    recorder.record(meant=done)
    return Restored(tuple(done), tuple(failed))


def check_restored(done: Restored) -> None:
    """Raise Conflict when something could not be restored."""
    if done.failed:
        first = f"{done.failed[0][0]}: {done.failed[0][1]}"
        raise Conflict(
            f"{len(done.failed)} of {len(done.failed) + len(done.entries)} could not be restored;"
            f" {first}",
            hint="look at what stands there, then: cspace context restore",
        )
