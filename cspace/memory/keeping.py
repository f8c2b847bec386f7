"""Commits what is written to memories, and what a person edited besides, each by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from cspace.errors import CommandFailed, CspaceError
from cspace.events import Event, Report, State, ignore
from cspace.git_import import blob_id
from cspace.memory.located import Located, is_gone, iter_files, parse_path, read_located
from cspace.memory.repository import Repository
from cspace.memory.store import MemoryStore
from cspace.paths import INDEX

EDITED = "Take over what was edited outside of cspace"
_OPERATION, _BY, _PROPOSAL = "Operation", "By", "Proposal"


@dataclass(frozen=True, slots=True)
class Done:
    """What a commit says of itself.

    Attributes:
        proposal: the id of the one that led to it; empty where none did.
    """

    subject: str
    operation: str
    by: str
    proposal: str = ""

    def dump(self) -> str:
        """Write the message."""
        lines = [f"{_OPERATION}: {self.operation}", f"{_BY}: {self.by}"]
        lines += [f"{_PROPOSAL}: {self.proposal}"] if self.proposal else []
        return "\n".join([self.subject, "", *lines, ""])


def parse_done(message: str) -> Done:
    """Read a message; one that somebody else wrote says only its subject."""
    subject, _, rest = message.partition("\n")
    pairs = (line.partition(": ") for line in rest.splitlines())
    found = {key: value for key, colon, value in pairs if colon}
    return Done(subject, *(found.get(key, "") for key in (_OPERATION, _BY, _PROPOSAL)))


@dataclass(frozen=True, slots=True)
class Keeper:
    """Joins a memory's root with its repository.

    Attributes:
        store: of the root; what it writes by itself is not committed.
    """

    repository: Repository
    store: MemoryStore
    report: Report = ignore

    @contextlib.contextmanager
    def keeping(self, done: Done, *concerned: Located) -> Iterator[None]:
        """Hold the history for a write, and commit it at the block's end.

        What a person had edited of the files that are concerned is committed before. A commit that
        fails is reported, and the next one takes the files along: the write itself stays.

        Args:
            concerned: what is written; the indexes come along.

        Raises:
            Conflict: somebody else holds the history.
        """
        files = _with_all_indexes(concerned)
        with self.repository.locked(self.store.by):
            settled = self._tries(lambda: self._settle(files))
            self.repository.mark_unkept()
            try:
                yield
            except CspaceError:
                if settled:
                    self.repository.clear_unkept()
                raise
            if self._tries(lambda: self._commit_changed(self._read(files), done)) and settled:
                self.repository.clear_unkept()

    def _tries(self, commit: Callable[[], None]) -> bool:
        try:
            commit()
        except (CspaceError, OSError) as error:
            said = f"no commit has this yet, and the next one takes it along: {error}"
            self.report(Event("memory", "history", State.NOTICE, said))
            return False
        return True

    def settle(self) -> str | None:
        """Commit all that no commit has, and return the newest one; the history must be held."""
        self.commit_all(Done(EDITED, "edit", self.store.by))
        self.repository.clear_unkept()
        return self.repository.head()

    def _settle(self, files: tuple[Located, ...]) -> None:
        done = Done(EDITED, "edit", self.store.by)
        if self.repository.has_unkept:
            self.commit_all(done)
        else:
            self._commit_changed(self._read(files), done)

    def commit(self, done: Done, *concerned: Located) -> None:
        """Commit what was written of some files, with the indexes."""
        self._commit_changed(self._read(_with_all_indexes(concerned)), done)

    def commit_all(self, done: Done, merged: str | None = None) -> None:
        """Commit every difference between the disk and the newest commit; no difference, no commit.

        Args:
            merged: a commit that comes in, which is a difference too.
        """
        head = self.repository.head()
        changes = self.differences(self.repository.list_files(head))
        parents = tuple(one for one in (head, merged) if one)
        if changes or merged:
            self._commit(parents, changes, done)

    def differences(self, known: Mapping[str, str]) -> dict[str, bytes | None]:
        """Return what differs on the disk from files that are named with their blobs, by path.

        What is None is there and not on the disk. What is on the disk and can not be read does not
        differ: it is not removed.
        """
        algorithm = self.repository.algorithm
        changes: dict[str, bytes | None] = dict.fromkeys(known)
        for located, content in iter_files(self.store):
            if known.get(located.path) == blob_id(content, algorithm):
                del changes[located.path]
            else:
                changes[located.path] = content
        root = self.repository.root
        return {
            path: content
            for path, content in changes.items()
            if content is not None or parse_path(path) is None or is_gone(root, path)
        }

    def _read(self, files: tuple[Located, ...]) -> dict[str, bytes | None]:
        return {one.path: read_located(self.store, one) for one in files}

    def _commit_changed(self, there: Mapping[str, bytes | None], done: Done) -> None:
        names = [f"HEAD:{path}" for path in there]
        found = self.repository.identify(["HEAD", *names])
        head = found["HEAD"]
        algorithm = "sha256" if head and len(head) == 64 else "sha1"
        changed = {
            path: content
            for path, content in there.items()
            if found[f"HEAD:{path}"] != (None if content is None else blob_id(content, algorithm))
        }
        if changed:
            self._commit((head,) if head else (), changed, done)

    def _commit(
        self, parents: tuple[str, ...], changes: Mapping[str, bytes | None], done: Done
    ) -> None:
        time = self.store.now()
        try:
            self.repository.commit(parents, changes, done.dump(), time)
        except CommandFailed as error:
            raise CommandFailed(
                f"{self.repository.root}: {error}", hint=self.repository.command("status")
            ) from error


def _with_all_indexes(concerned: Iterable[Located]) -> tuple[Located, ...]:
    return tuple(dict.fromkeys(part for one in concerned for part in _with_indexes(one)))


def _with_indexes(located: Located) -> tuple[Located, ...]:
    """Return what git keeps of a memory and of what a write of it touches besides."""
    if parse_path(located.path) is None:
        return ()
    return located, Located(located.scope, INDEX.stem), Located(None, INDEX.stem)
