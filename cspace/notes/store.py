"""Memories in a repository's notes refs: captured, found, resolved and forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace.clock import Clock, utc_now
from cspace.files import Owner
from cspace.git_import import Place
from cspace.notes.draft import Draft
from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace


@dataclass(frozen=True, slots=True)
class Captured:
    """A memory, and whether it is new: the same capture twice is one."""

    memory: Memory
    is_new: bool


@dataclass(frozen=True, slots=True)
class NotesStore:
    """The memories of a repository.

    Attributes:
        repository: a directory in it, which is no workspace of an instance.
        place: its common directory and its hash.
        by: who we are, for the lock's waiters.
    """

    repository: Path
    place: Place
    owner: Owner | None = None
    by: str = "cspace"
    now: Clock = utc_now

    def capture(
        self, draft: Draft, commit: str = "HEAD", *, allow_secret: bool = False
    ) -> Captured:
        """Attach a record to a commit.

        Raises:
            UsageError: the draft can not be a record.
            NotFound: there is no such commit.
            LeakFound: a text looks like a secret; nothing was written.
            Conflict: the same text stands there with other fields, or was forgotten there; or the
                lock or the ref could not be had.
            CspaceError: the repository can not be written.
        """
        return self.capture_all([(draft, commit)], allow_secret=allow_secret)[0]

    def capture_all(
        self, drafts: Iterable[tuple[Draft, str]], *, allow_secret: bool = False
    ) -> tuple[Captured, ...]:
        """Attach records to commits, as `capture`; one write for each namespace.

        Nothing is written where one of them is refused.
        """
        raise NotImplementedError

    def find(self, reference: str) -> tuple[Memory, ...]:
        """Return the memories that `<namespace>:<commit's start>[/<id's start>]` names.

        Raises:
            UsageError: it is no such reference.
        """
        raise NotImplementedError

    def get(self, reference: str) -> Memory:
        """Return the one memory that a reference names.

        Raises:
            NotFound: there is none; names near ones.
            Conflict: there are several; names them.
        """
        raise NotImplementedError

    def iter_memories(self, namespaces: Iterable[Namespace] | None = None) -> Iterator[Memory]:
        """Yield all memories, namespace by namespace, in no order that means anything."""
        raise NotImplementedError

    def tips(self) -> dict[Namespace, str]:
        """Return the commit that each namespace which has notes is at."""
        raise NotImplementedError

    def counts(self) -> dict[Namespace, int]:
        """Count the memories of each namespace that has notes, by git itself."""
        raise NotImplementedError

    def resolve(self, reference: str, text: str, *, allow_secret: bool = False) -> Memory:
        """Say how a blocker or a review finding was settled, and return it as it is now."""
        raise NotImplementedError

    def forget(self, reference: str) -> Memory:
        """Remove a memory from its commit for good, and return what it was."""
        raise NotImplementedError
