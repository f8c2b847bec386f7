"""Fetches another machine's history and pushes ours; never by force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cspace.events import Report, phase
from cspace.git_remote import DEFAULT, MAX_BYTES, GitRemote, choose_remote
from cspace.memory.repository import Repository

_REFS = "refs/cspace/sync"


@dataclass(frozen=True, slots=True)
class Remote:
    """One remote of the memory's repository, which must be configured there.

    Attributes:
        most: bytes that one fetch may bring, packed.
    """

    repository: Repository
    name: str
    report: Report
    most: int = MAX_BYTES

    def fetch(self) -> str | None:
        """Fetch the branch that is checked out here, each object checked; None for an empty remote.

        Raises:
            CommandFailed: the remote does not answer, sends too much, or an object is broken or
                dangerous.
        """
        branch = f"refs/heads/{self.repository.branch()}"
        with self._telling("fetch"):
            if not self._git.list_refs([branch]):
                return None
            ref = f"{_REFS}/{self.name}"
            self._git.fetch([f"+{branch}:{ref}"])
        return self.repository.resolve(ref)

    def push(self, commit: str) -> bool:
        """Push a commit; return False where the remote refuses the branch, as when it moved.

        Raises:
            CommandFailed: it can not be reached.
        """
        with self._telling("push"):
            return not self._git.push({f"refs/heads/{self.repository.branch()}": commit})

    @property
    def _git(self) -> GitRemote:
        one = self.repository
        return GitRemote(one.root, one.directory / "objects", self.name, one.env, self.most)

    @contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        with phase(self.report, self.name, name):
            try:
                yield
            finally:
                self.repository.give()


def find_remote(repository: Repository, name: str | None, report: Report) -> Remote:
    """Find a configured remote: the one that is named, else origin, else the only one.

    Raises:
        UsageError: there is none.
        NotFound: none has that name.
    """
    known = repository.git("remote").text.splitlines()
    add = repository.command("remote", "add", DEFAULT, "URL")
    return Remote(repository, choose_remote(known, name, where=repository.root, add=add), report)
