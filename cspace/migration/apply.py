"""Does what was planned: copies, publishes, and reads every file again in the target."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from cspace.errors import Conflict, expected
from cspace.events import Report, ignore
from cspace.migration.index import merge_lines
from cspace.migration.model import Outcome, Plan, Planned, Source, Target
from cspace.migration.place import OBSTACLES, Place, look
from cspace.migration.progress import Progress
from cspace.migration.publishing import MEANWHILE, publish
from cspace.migration.staging import Staging, locked, staging
from cspace.migration.stream import Kind, iter_entries

_CHANGED = "the source got another content of it while it was copied"


def apply_plan(plan: Plan, source: Source, target: Target, report: Report = ignore) -> Outcome:
    """Write what a plan has pending, and verify all that the target should hold then.

    Killed at any moment, no file is half-written, and a new plan finds what is still to be done.
    What is not any more as it was planned, in the source or in the target, is refused: it stays as
    it is on both sides.

    Raises:
        Conflict: another migration was at work on the target for a minute.
        CspaceError: the source can not be read to its end, or the target can not be written; what
            was published before that is whole.
    """
    place = Place(target)
    written: list[Planned] = []
    refused: list[Planned] = []
    try:
        with locked(target) as above:
            if plan.pending:
                with staging(target, above) as staged:
                    ready, refused = _stage(plan, source, place, staged, report)
                    os.sync()  # one for all: ten thousand fsync take minutes
                    written, late = _publish(ready, place, staged)
                    refused += late
                os.sync()  # before anybody is told that the source can go
            left = _verify(plan, source, place, report)
    except OSError as error:
        raise expected(error) from error
    return Outcome(plan, tuple(written), tuple(refused), left)


def _stage(
    plan: Plan, source: Source, place: Place, staged: Staging, report: Report
) -> tuple[dict[str, Planned], list[Planned]]:
    """Copy what is pending; return it by its name there, and what the source does not hold so."""
    wanted: dict[PurePosixPath, dict[str, Planned]] = {}
    for number, planned in enumerate(plan.pending):
        wanted.setdefault(planned.origin, {})[str(number)] = planned
    ready: dict[str, Planned] = {}
    refused: list[Planned] = []
    total = sum(planned.size or 0 for planned in plan.pending)
    with (
        contextlib.closing(iter_entries(source)) as entries,
        Progress(source.name, "copy", report, total) as progress,
    ):
        for entry in entries:
            # Twice in a stream, the second one is another file than was planned.
            origin = PurePosixPath(entry.name)
            if entry.kind is not Kind.FILE or origin not in wanted:
                continue
            group = wanted.pop(origin)
            first, *others = group
            digest = staged.write(first, entry, progress)
            for other in others:
                staged.copy(other, first)
            for name, planned in group.items():
                why = "" if digest == planned.digest else _CHANGED
                if why := why or _finish(name, planned, place, staged):
                    refused.append(replace(planned, reason=why))
                else:
                    ready[name] = planned
    gone = itertools.chain.from_iterable(group.values() for group in wanted.values())
    return ready, [*refused, *(replace(planned, reason=_CHANGED) for planned in gone)]


def _finish(name: str, planned: Planned, place: Place, staged: Staging) -> str:
    """Turn what was staged into what will land; say why it can not, empty when it can."""
    if planned.result == planned.digest:
        return ""
    ours = place.read_small(planned.path)
    merged = merge_lines(ours, staged.read(name)) if ours is not None else b""
    if hashlib.sha256(merged).hexdigest() != planned.result:
        return MEANWHILE
    staged.replace(name, merged)
    return ""


def _publish(
    ready: Mapping[str, Planned], place: Place, staged: Staging
) -> tuple[list[Planned], list[Planned]]:
    """Return what was written, and what was refused."""
    written: list[Planned] = []
    refused: list[Planned] = []
    by_parent = sorted(ready.items(), key=lambda item: item[1].spot.parent)
    for parent, group in itertools.groupby(by_parent, key=lambda item: item[1].spot.parent):
        try:
            directory = place.open(parent, create=True)
        except OSError as error:
            if error.errno not in OBSTACLES:
                raise
            refused += [replace(planned, reason=MEANWHILE) for _, planned in group]
            continue
        try:
            for name, planned in group:
                try:
                    written += [planned] if publish(staged, name, planned, directory) else []
                except Conflict as error:
                    refused.append(replace(planned, reason=str(error)))
        finally:
            os.close(directory)
    return written, refused


def _verify(plan: Plan, source: Source, place: Place, report: Report) -> tuple[Planned, ...]:
    """Read every file that the target should hold by now; return those that it does not."""
    held = [planned for planned in plan.files if planned.found is not None]
    left = [planned for planned in plan.files if planned.found is None and planned.size is not None]
    total = sum(planned.size or 0 for planned in held)
    with Progress(source.name, "verify", report, total) as progress:
        held.sort(key=lambda planned: planned.spot.parent)
        for parent, group in itertools.groupby(held, key=lambda planned: planned.spot.parent):
            left += _missing(place, parent, group, progress)
    return tuple(sorted(left, key=lambda planned: planned.path))


def _missing(
    place: Place, parent: PurePosixPath, group: Iterable[Planned], progress: Progress
) -> Iterator[Planned]:
    """Yield the files of one directory that it does not hold as they should be."""
    try:
        directory = place.open(parent)
    except OSError:
        yield from group
        return
    try:
        for planned in group:
            if look(directory, planned.spot.name).digest != planned.result:
                yield planned
            progress.advance(planned.size or 0)
    finally:
        os.close(directory)
