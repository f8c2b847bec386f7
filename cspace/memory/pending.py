"""The files of the proposals that wait: `.proposals/<id>.yaml` below the memory's root."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.docstore.opened import Skipped, show_path
from cspace.errors import Conflict, CspaceError, NotFound, expected
from cspace.files import Owner
from cspace.memory.changes import revision_of
from cspace.memory.proposal import MAX_BYTES, SUFFIX, Proposal, dump_proposal, parse_proposal

PENDING = PurePosixPath(".proposals")
LOCK = ".lock"
LOCK_SECONDS = 10.0
HINT = "cspace memory proposals shows those that wait"


@dataclass(frozen=True, slots=True)
class Pending:
    """Reads and writes them; the directory need not exist.

    Attributes:
        holder: who we are, for those who wait for the lock.
    """

    root: Path
    owner: Owner | None
    holder: str

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other decision out for as long as the block lasts."""
        try:
            files.ensure_directory(self.root, owner=self.owner)
        except OSError as error:
            raise CspaceError(
                f"{self.root} can not be made: {error.strerror}",
                hint=f"see who owns what it lies in: ls -ld {self.root.parent}",
            ) from error
        beneath.ensure_directory(self.root, PENDING, owner=self.owner)
        place = self.root / PENDING / LOCK
        with files.lock(place, timeout=LOCK_SECONDS, holder=self.holder, owner=self.owner):
            yield

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all, sorted."""
        try:
            with self._directory() as directory:
                names = os.listdir(directory)  # noqa: PTH208  names are all that is asked for
        except FileNotFoundError:
            return ()
        found = (name for name in names if name.endswith(SUFFIX) and not name.startswith("."))
        return tuple(sorted(name.removesuffix(SUFFIX) for name in found))

    def load(self, given: str) -> tuple[Proposal, str | None]:
        """Return a proposal and the revision of its file.

        Args:
            given: the id, or as much of it as tells it apart; or the memory's name, as
                `user/testing` or `testing`, where one proposal is about it.

        Raises:
            NotFound: there is none, or several fit.
            CspaceError: its file can not be read.
        """
        found = self._matching(given)
        if len(found) == 1:
            return self._read(found[0])
        if found:
            raise NotFound(
                f"{len(found)} proposals fit {given[:60]!a}: {', '.join(found[:5])}",
                hint="name one by its id",
            )
        raise NotFound(f"no proposal fits {given[:60]!a}", hint=HINT)

    def _matching(self, given: str) -> list[str]:
        ids = self.ids()
        if given in ids or not given:
            return [given] if given else []
        begun = {id_ for id_ in ids if id_.startswith(given)}
        # Both, since whoever proposes can choose how an id begins.
        named = {one.id for one in self.all() if given in (one.target, one.change.slug)}
        return sorted(begun | named)

    def load_all(self) -> tuple[tuple[Proposal, ...], tuple[Skipped, ...]]:
        """Return all proposals, and the files that are none."""
        found: list[Proposal] = []
        skipped: list[Skipped] = []
        for id_ in self.ids():
            try:
                found.append(self._read(id_)[0])
            except NotFound:
                continue
            except CspaceError as error:
                skipped.append(Skipped(show_path(_path(id_)), str(error)))
        return tuple(found), tuple(skipped)

    def all(self) -> tuple[Proposal, ...]:
        """Return all proposals that can be read."""
        return self.load_all()[0]

    def put(self, proposal: Proposal, *, over: bool = False) -> bool:
        """Store a proposal under the lock, and return whether it is new.

        Args:
            over: replace one of its id; otherwise the one that is there stays.
        """
        content = dump_proposal(proposal)
        with self._directory() as directory:
            path = directory / f"{proposal.id}{SUFFIX}"
            if over:
                files.write_atomic(path, content, mode=0o600, owner=self.owner)
                return False
            try:
                files.publish(path, content, mode=0o600, owner=self.owner)
            except FileExistsError:
                return False
        return True

    def remove(self, id_: str) -> None:
        """Take a proposal away, under the lock."""
        with self._directory() as directory:
            (directory / f"{id_}{SUFFIX}").unlink(missing_ok=True)
            files.sync_directory(directory)

    def check_there(self, id_: str) -> None:
        """Refuse to decide what somebody else decided.

        Raises:
            Conflict: it does not wait any longer.
        """
        if id_ not in self.ids():
            raise Conflict(f"proposal {id_} was decided meanwhile", hint=HINT)

    @contextlib.contextmanager
    def _directory(self) -> Iterator[Path]:
        with beneath.pinned(self.root, PENDING) as directory:
            yield directory

    def _read(self, id_: str) -> tuple[Proposal, str | None]:
        try:
            descriptor = beneath.open_file(self.root, _path(id_))
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(MAX_BYTES + 1)
            return parse_proposal(content, id_), revision_of(content)
        except FileNotFoundError:
            raise NotFound(f"proposal {id_} was decided meanwhile", hint=HINT) from None
        except (OSError, CspaceError) as error:
            raise CspaceError(
                f"proposal {id_!a} can not be read: {expected(error)}",
                hint=f"look at it and remove it: {self.root / _path(id_)}",
            ) from error


def _path(id_: str) -> PurePosixPath:
    return PENDING / f"{id_}{SUFFIX}"
