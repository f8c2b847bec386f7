"""Fetches another machine's history and pushes ours; never by force."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cspace.errors import CommandFailed, NotFound, UsageError
from cspace.events import Event, Report, State
from cspace.memory.repository import BLOCK, Repository

DEFAULT = "origin"
_REFS = "refs/cspace/sync"
MAX_BYTES = 1 << 30
# What git leaves of a pack when it is stopped.
_DEBRIS = "tmp_*"


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
        branch = self.repository.branch()
        with self._telling("fetch"):
            words = ("ls-remote", "--heads", "--", self.name, f"refs/heads/{branch}")
            if not self.repository.git(*words).text:
                return None
            ref = f"{_REFS}/{self.name}"
            self._fetch(f"+refs/heads/{branch}:{ref}")
        return self.repository.resolve(ref)

    def _fetch(self, refspec: str) -> None:
        packs = self.repository.directory / "objects/pack"
        before = set(packs.glob(_DEBRIS))
        try:
            self.repository.git(
                *("-c", "fetch.fsckObjects=true", "-c", "core.bigFileThreshold=1m"),
                *("-c", "fetch.unpackLimit=1", "fetch", "--quiet", "--no-tags"),
                *("--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"),
                *("--refmap=", "--", self.name, refspec),
                largest=self.most,
            )
        except CommandFailed:
            debris = set(packs.glob(_DEBRIS)) - before
            sizes = [one.stat().st_size for one in debris]
            for one in debris:
                one.unlink(missing_ok=True)
            # Git does not say which signal stopped what it had started.
            if max(sizes, default=0) + BLOCK <= self.most:
                raise
            raise CommandFailed(
                f"{self.name} sends more than {self.most} bytes, and these are memories",
                hint=f"see what it holds: {self.repository.command('remote', 'show', self.name)}",
            ) from None

    def push(self, commit: str) -> bool:
        """Push a commit; return False where the remote refuses the branch, as when it moved.

        Raises:
            CommandFailed: it can not be reached.
        """
        words = ("push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags")
        target = f"{commit}:refs/heads/{self.repository.branch()}"
        with self._telling("push"):
            options = ("--recurse-submodules=no", "--no-signed")
            done = self.repository.git(*words, *options, "--", self.name, target, ok=(0, 1))
        if done.code and not any(line.startswith("!") for line in done.text.splitlines()):
            said = done.stderr.decode("utf-8", "replace").strip()
            raise CommandFailed(f"git push {self.name}: {said or 'it said nothing'}")
        return done.code == 0

    @contextmanager
    def _telling(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        self.report(Event(self.name, phase, State.STARTED))
        try:
            yield
        except BaseException:
            self._ended(phase, State.FAILED, started)
            raise
        finally:
            self.repository.give()
        self._ended(phase, State.DONE, started)

    def _ended(self, phase: str, state: State, started: float) -> None:
        self.report(Event(self.name, phase, state, seconds=time.monotonic() - started))


def find_remote(repository: Repository, name: str | None, report: Report) -> Remote:
    """Find a configured remote: the one that is named, else origin, else the only one.

    Raises:
        UsageError: there is none.
        NotFound: none has that name.
    """
    known = repository.git("remote").text.splitlines()
    if not known:
        raise UsageError(
            f"{repository.root} has no remote to sync with",
            hint=repository.command("remote", "add", DEFAULT, "URL"),
        )
    wanted = name or (DEFAULT if DEFAULT in known or len(known) > 1 else known[0])
    if wanted not in known:
        raise NotFound(
            f"{repository.root} has no remote {wanted[:60]!a}", hint=f"it has {', '.join(known)}"
        )
    return Remote(repository, wanted, report)
