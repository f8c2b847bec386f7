"""Records the context of a project: the journals of its instances and the host, and the disk."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace.clock import Clock, utc_now
from cspace.context import recording
from cspace.context.history import kind_of
from cspace.context.journal import NAME, FileJournal
from cspace.context.recording import Fate, Loss, Outcome, Preview, Taken
from cspace.docstore.opened import show_path
from cspace.errors import CspaceError, expected
from cspace.events import Event, Report, State
from cspace.git_import import Place, find_place
from cspace.instance.observe import state_names
from cspace.paths import instance_paths
from cspace.project import Project

LOOK = "cspace context restore --dry-run"
MAX_SAID = 5
_TAKEN = "taken-"


@dataclass(frozen=True, slots=True)
class Recorder:
    """Records one project's context.

    Attributes:
        user: `~/.cspace`.
    """

    project: Project
    user: Path
    report: Report
    now: Clock = utc_now

    def record(self, meant: Sequence[str] = ()) -> Outcome:
        """Record what there is, and name what was lost; what fails is reported, and no error.

        Args:
            meant: entries that are no news to the person, so that they are not named.
        """
        try:
            return self._record(leaving=None, meant=meant)
        except (CspaceError, OSError) as error:
            self._say(f"the context's history could not be recorded: {expected(error)}")
            return Outcome()

    def record_leaving(self, name: str) -> Outcome:
        """Record before an instance goes, whose containers are at rest.

        Raises:
            CspaceError: what it acknowledged might be lost with it.
        """
        try:
            return self._record(leaving=name)
        except (CspaceError, OSError) as error:
            known = expected(error)
            raise CspaceError(
                f"the records of {name} can not be taken from its journal: {known}",
                hint=known.hint or "repair the cause, then call this again",
            ) from error

    def preview(self, place: Place) -> Preview:
        """Return what the history would be after a recording, which changes nothing."""
        try:
            return self._preview(place)
        except FileNotFoundError:
            # The first recording of all began while we looked, and took a journal: it is held now.
            return self._preview(place)

    def _preview(self, place: Place) -> Preview:
        with _undisturbed(place):
            return recording.preview(
                self.project.root, place, tuple(self._list_all(place)), self.now
            )

    def _list_all(self, place: Place) -> Iterator[Taken]:
        directory = recording.directory_of(place)
        yield from (Taken(path, None) for path in _list_journals(directory, directory))
        for name in state_names(self.user, self.project.id):
            paths = instance_paths(self.user, self.project.id, name)
            yield from (Taken(one, name) for one in _list_journals(paths.journal, paths.state))

    def _record(self, leaving: str | None, meant: Sequence[str] = ()) -> Outcome:
        root = self.project.root
        place = find_place(root)
        with recording.exclusive(place):
            taken = (*self._take_all(leaving), *self._take_own(place))
            outcome = recording.record(root, place, taken, self.now)
            for one in taken:
                one.path.unlink(missing_ok=True)
        self._say_losses([loss for loss in outcome.losses if loss.entry not in meant])
        names = state_names(self.user, self.project.id)
        if outcome.renewed and names:
            self._say(
                f"removed or made anew in the context: {', '.join(outcome.renewed)}; an instance"
                " that runs does not see that until it is started again:"
                f" cspace stop {names[0]} && cspace start {names[0]}"
            )
        if outcome.unread:
            self._say(f"lines of journals that are no records: {outcome.unread}")
        return outcome

    def _take_own(self, place: Place) -> tuple[Taken, ...]:
        directory = recording.directory_of(place)
        FileJournal(directory).take(directory, _new_name())
        return tuple(Taken(path, None) for path in _list_taken(directory))

    def _take_all(self, leaving: str | None) -> Iterator[Taken]:
        for name in state_names(self.user, self.project.id):
            paths = instance_paths(self.user, self.project.id, name)
            # Beside the directory that is mounted: what was taken, no agent reaches.
            journal, alone = FileJournal(paths.journal), name == leaving
            try:
                journal.take(paths.state, _new_name(), alone=alone)
            except OSError as error:
                if alone:
                    raise
                self._say(f"{name}: its journal can not be read: {expected(error)}")
            except CspaceError as error:
                # No file: no record is in it, so nothing is lost.
                self._say(f"{name}: {error}")
            with contextlib.suppress(FileNotFoundError):
                yield from (Taken(path, name) for path in _list_taken(paths.state))

    def _say_losses(self, losses: Sequence[Loss]) -> None:
        # A blanket restore leaves what people wrote alone, as long as something of theirs stands.
        own = [one for one in losses if kind_of(one.entry) is None and one.fate is Fate.WENT_BACK]
        records = [one for one in losses if one not in own]
        if records:
            self._say(f"{describe_losses(records)}; see: {LOOK}")
        for one in own:
            self._say(
                f"{one.entry} went back to an older version; if nobody meant that:"
                f" cspace context restore {one.entry}"
            )

    def _say(self, text: str) -> None:
        self.report(Event("", "context", State.NOTICE, text))


def describe_losses(losses: Sequence[Loss]) -> str:
    """Name what was lost, in one line."""
    parts = []
    for fate in Fate:
        names = [show_path(PurePosixPath(one.entry)) for one in losses if one.fate is fate]
        if names:
            more = f" and {len(names) - MAX_SAID} more" if len(names) > MAX_SAID else ""
            parts.append(f"{fate}: {', '.join(names[:MAX_SAID])}{more}")
    return "records of the context were lost; " + "; ".join(parts)


@contextlib.contextmanager
def _undisturbed(place: Place) -> Iterator[None]:
    """Let nobody take journals away; where none were ever taken, or we can not write, just look."""
    with contextlib.ExitStack() as stack:
        if recording.was_held(place):
            with contextlib.suppress(OSError):
                stack.enter_context(recording.exclusive(place))
        yield


def _new_name() -> str:
    return f"{_TAKEN}{os.urandom(8).hex()}.jsonl"


def _list_journals(directory: Path, aside: Path) -> list[Path]:
    """List the files that hold a journal's lines; what is no regular file holds none."""
    written = directory / NAME
    with contextlib.suppress(OSError):
        if stat.S_ISREG(written.lstat().st_mode):
            return [*_list_taken(aside), written]
    return _list_taken(aside)


def _list_taken(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"{_TAKEN}*.jsonl"))
