"""The file that a repository's index lies in: brought to what git says, or built anew beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace import files
from cspace.errors import CommandFailed, CspaceError
from cspace.files import Owner
from cspace.index.database import BrokenIndex, ReadOnlyIndex
from cspace.index.index import Index
from cspace.notes.catalogued import FORMAT
from cspace.notes.reading import Tips, read_all, read_changes, state_of, tips_of

LOCK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class IndexFile:
    """One repository's index, `<common directory>/cspace/index.db`.

    Attributes:
        repository: where git is asked.
        by: who we are, for the lock's waiters.
    """

    path: Path
    repository: Path
    owner: Owner | None
    by: str

    def open_current(self, tips: Tips) -> Index | None:
        """Open the index where it says what git says; None where it does not, or is not there."""
        index = self.open_as_it_is()
        if index is None:
            return None
        try:
            if index.kept().state == state_of(tips):
                return index
        except CspaceError:
            pass
        index.close()
        return None

    def open_as_it_is(self) -> Index | None:
        """Open the index, however old; None where there is none that can be read."""
        try:
            return Index.open(self.path)
        except (BrokenIndex, ReadOnlyIndex):
            return None

    @contextlib.contextmanager
    def locked(self, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Keep others from changing the index or putting another in its place.

        Args:
            seconds: how long to wait for others.

        Raises:
            OSError: the directory can not be written.
            Conflict: somebody else changed it for all the time that we wait.
        """
        files.ensure_directory(self.path.parent, owner=self.owner)
        lock = self.path.with_suffix(".lock")
        with files.lock(lock, timeout=seconds, holder=self.by, owner=self.owner):
            yield

    def update(self, tips: Tips) -> str:
        """Bring the index to what git says. Needs the lock.

        Returns:
            Why it had to be built anew; empty where it had not.

        Raises:
            Unreadable: git lists what can not be read; the index is as it was.
        """
        try:
            return self._update(tips)
        except (BrokenIndex, ReadOnlyIndex) as error:
            reason = str(error) if os.path.lexists(self.path) else ""
            self.build(tips)
            return reason

    def build(self, tips: Tips) -> None:
        """Build the index anew from git and put it in the place of the one that is there.

        Whoever reads that one reads on. Vectors are taken over. Needs the lock.
        """
        for left in self.path.parent.glob(f".{self.path.name}.*{files.TEMPORARY_SUFFIX}*"):
            left.unlink(missing_ok=True)
        name = f".{self.path.name}.{os.urandom(6).hex()}{files.TEMPORARY_SUFFIX}"
        written = self.path.with_name(name)
        try:
            self._write(written, tips)
            self._put(written)
        finally:
            written.unlink(missing_ok=True)

    def _update(self, tips: Tips) -> str:
        index = Index.open(self.path, to_change=True)
        try:
            state = index.kept().state
            if state == state_of(tips):
                return ""
            if state.get("format") != FORMAT:
                raise BrokenIndex(f"{self.path} was made by another version of cspace")
            try:
                read = read_changes(self.repository, tips_of(state), tips)
            except CommandFailed as error:
                raise BrokenIndex(f"{self.path} is of notes that are gone") from error
            index.apply(read.groups, read.items, state_of(tips))
            return ""
        finally:
            index.close()

    def _write(self, written: Path, tips: Tips) -> None:
        index = Index.create(written)
        try:
            files.give(written, self.owner)
            index.apply((), read_all(self.repository, tips).items, state_of(tips))
            if self.path.is_file():
                with contextlib.suppress(BrokenIndex, ReadOnlyIndex):
                    index.take_vectors(self.path)
        finally:
            index.close()

    def _put(self, written: Path) -> None:
        descriptor = os.open(written, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        journal = self.path.with_name(f"{self.path.name}-journal")
        # What a killed writer left would be played back into the new file.
        if os.path.lexists(journal):
            self.path.unlink(missing_ok=True)
            journal.unlink()
        written.replace(self.path)
        files.sync_directory(self.path.parent)


def build_in_memory(repository: Path, tips: Tips) -> Index:
    """Build an index that nobody else sees, where nothing can be written."""
    index = Index.create(None)
    index.apply((), read_all(repository, tips).items, state_of(tips))
    return index
