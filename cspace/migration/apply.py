"""Does what was planned: copies, publishes, and reads every file again in the target."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from shlex import quote

from cspace.errors import Conflict, CspaceError
from cspace.events import Report, ignore
from cspace.migration.index import merge_lines
from cspace.migration.model import Fate, Outcome, Plan, Planned, Source, Target
from cspace.migration.place import OBSTACLES, Place, look
from cspace.migration.progress import Progress
from cspace.migration.publishing import MEANWHILE, publish
from cspace.migration.reading import find_path
from cspace.migration.staging import Staging, locked, staging
from cspace.migration.stream import Entry, Kind, iter_entries

_CHANGED = "the source got another content of it while it was copied"
_CAME = "the source got it while others were copied"


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
    done = _Done([], [], [])
    try:
        with locked(target) as above:
            if plan.pending:
                with staging(target, above) as staged:
                    copies = _Copies(place, staged, done, {})
                    _stage(plan, source, copies, report)
                    os.sync()  # one for all: ten thousand fsync take minutes
                    _publish(copies)
                os.sync()  # before anybody is told that the source can go
            left = (*_verify(plan, source, place, report), *done.came)
    except OSError as error:
        above = target.root / target.place.parent
        raise CspaceError(
            f"{target.root / target.place} can not be written: {error.strerror or error}",
            hint=f"df -h {quote(str(above))}; then the same command again",
        ) from error
    left = tuple(sorted(left, key=lambda planned: planned.path))
    return Outcome(plan, tuple(done.written), tuple(done.refused), left)


@dataclass(frozen=True, slots=True)
class _Done:
    """What was written so far, and what was refused; `came` is of that what no plan knew of."""

    written: list[Planned]
    refused: list[Planned]
    came: list[Planned]

    def refuse(self, planned: Planned, why: str) -> None:
        self.refused.append(replace(planned, reason=why))


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies into a staging directory; `ready` are by their name there what is as planned."""

    place: Place
    staged: Staging
    done: _Done
    ready: dict[str, Planned]

    def take(self, entry: Entry, group: Mapping[str, Planned], progress: Progress) -> None:
        """Copy an entry for each file that has its bytes."""
        first, *others = group
        digest = self.staged.write(first, entry, progress)
        for other in others:
            self.staged.copy(other, first)
        for name, planned in group.items():
            if why := self._finish(name, planned) if digest == planned.digest else _CHANGED:
                self.done.refuse(planned, why)
            else:
                self.ready[name] = planned

    def pass_by(self, entry: Entry, known: Set[PurePosixPath]) -> None:
        """Note a file that is not copied, where no plan could know of it."""
        path = find_path(entry.name, self.place.target)
        if path is not None and path not in known:
            origin = PurePosixPath(entry.name)
            came = Planned(path, Fate.NEW, entry.size, None, None, _CAME, origin)
            self.done.came.append(came)
            self.done.refused.append(came)

    def _finish(self, name: str, planned: Planned) -> str:
        """Turn what was copied into what will land; say why it can not, empty when it can."""
        if planned.result == planned.digest:
            return ""
        ours = self.place.read_small(planned.path)
        merged = merge_lines(ours, self.staged.read(name)) if ours is not None else b""
        if hashlib.sha256(merged).hexdigest() != planned.result:
            return MEANWHILE
        self.staged.replace(name, merged)
        return ""


def _stage(plan: Plan, source: Source, copies: _Copies, report: Report) -> None:
    """Copy what is pending, and refuse what the source does not hold any more."""
    wanted: dict[PurePosixPath, dict[str, Planned]] = {}
    for number, planned in enumerate(plan.pending):
        wanted.setdefault(planned.origin, {})[str(number)] = planned
    total = sum(planned.size or 0 for planned in plan.pending)
    known = {planned.path for planned in plan.files}
    with (
        contextlib.closing(iter_entries(source)) as entries,
        Progress(source.name, "copy", report, total) as progress,
    ):
        for entry in entries:
            origin = PurePosixPath(entry.name)
            # Twice in a stream, the second one is another file than was planned.
            if entry.kind is Kind.FILE and origin in wanted:
                copies.take(entry, wanted.pop(origin), progress)
            elif entry.kind in (Kind.FILE, Kind.HARD_LINK):
                copies.pass_by(entry, known)
    for planned in itertools.chain.from_iterable(group.values() for group in wanted.values()):
        copies.done.refuse(planned, _CHANGED)


def _publish(copies: _Copies) -> None:
    """Put what is ready where it lands, directory by directory."""
    by_parent = sorted(copies.ready.items(), key=lambda item: item[1].spot.parent)
    for parent, group in itertools.groupby(by_parent, key=lambda item: item[1].spot.parent):
        try:
            directory = copies.place.open(parent, create=True)
        except OSError as error:
            if error.errno not in OBSTACLES:
                raise
            for _, planned in group:
                copies.done.refuse(planned, MEANWHILE)
            continue
        try:
            for name, planned in group:
                _put(copies, name, planned, directory)
        finally:
            os.close(directory)


def _put(copies: _Copies, name: str, planned: Planned, directory: int) -> None:
    try:
        if publish(copies.staged, name, planned, directory):
            copies.done.written.append(planned)
    except Conflict as error:
        copies.done.refuse(planned, str(error))


def _verify(plan: Plan, source: Source, place: Place, report: Report) -> tuple[Planned, ...]:
    """Read every file that the target should hold by now; return those that it does not."""
    held = [planned for planned in plan.files if planned.found is not None]
    left = [planned for planned in plan.files if planned.found is None and planned.size is not None]
    total = sum(planned.size or 0 for planned in held)
    with Progress(source.name, "verify", report, total) as progress:
        held.sort(key=lambda planned: planned.spot.parent)
        for parent, group in itertools.groupby(held, key=lambda planned: planned.spot.parent):
            left += _missing(place, parent, group, progress)
    return tuple(left)


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
