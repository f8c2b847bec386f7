"""Talks to a remote of a repository: what it sends is bounded and checked, nothing is forced.

No hook of the repository takes part: what hooks check, a branch's code, is not what goes here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cspace import proc
from cspace.errors import CommandFailed, NotFound, UsageError
from cspace.git import AS_STORED, environment, git
from cspace.git_commits import QUIET

DEFAULT = "origin"
MAX_BYTES = 1 << 30
BLOCK = 512  # bytes, of POSIX's `ulimit -f`
# What git leaves of a pack when it is stopped.
_DEBRIS = "tmp_*"
_NO_ATOMIC = b"does not support --atomic"


@dataclass(frozen=True, slots=True)
class GitRemote:
    """One remote, as the configuration of a repository names it.

    Attributes:
        repository: where git runs.
        objects: the directory of its objects.
        env: variables on top of our own.
        most: bytes that one fetch may bring, packed.
    """

    repository: Path
    objects: Path
    name: str
    env: Mapping[str, str] = field(default_factory=dict)
    most: int = MAX_BYTES

    def list_refs(self, names: Iterable[str], *, seconds: float | None = None) -> dict[str, str]:
        """Ask the remote which of these refs it has, with their objects.

        Raises:
            CommandFailed: it can not be reached, or does not answer in this many seconds.
        """
        wanted = tuple(names)
        words = ("git", "-C", self.repository, *QUIET, "ls-remote", "--refs", "--", self.name)
        said = proc.run(*words, *wanted, env=self._env(), timeout=seconds, ok=(0, 128))
        if said.code:
            raise CommandFailed(
                f"{self.name} can not be reached: {_last_line(said)}",
                hint=f"see whether it answers: git ls-remote {self.name}",
            )
        pairs = (line.partition("\t") for line in said.text.splitlines())
        # Git takes a name for the end of one, too.
        return {name: one for one, _, name in pairs if name in wanted}

    def fetch(self, refspecs: Iterable[str]) -> None:
        """Fetch refs, each object checked.

        Raises:
            CommandFailed: the remote does not answer, sends too much, or an object is broken or
                dangerous.
        """
        packs = self.objects / "pack"
        before = set(packs.glob(_DEBRIS))
        try:
            self._fetch(refspecs)
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
                hint=f"see what it holds: git -C {self.repository} remote show {self.name}",
            ) from None

    def _fetch(self, refspecs: Iterable[str]) -> None:
        limit = ("sh", "-c", 'ulimit -f "$0" && exec "$@"', str(self.most // BLOCK))
        words: tuple[str | Path, ...] = (
            *("git", "-C", self.repository, *QUIET),
            *("-c", "fetch.fsckObjects=true", "-c", "core.bigFileThreshold=1m"),
            *("-c", "fetch.unpackLimit=1", "fetch", "--quiet", "--no-tags"),
            *("--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"),
            *("--no-filter", "--refmap=", "--", self.name, *refspecs),
        )
        proc.run(*limit, *words, env=self._env())

    def push(
        self, refs: Mapping[str, str], expected: Mapping[str, str | None] | None = None
    ) -> dict[str, str]:
        """Push objects to refs: all or none, where the remote can.

        Args:
            refs: the object that each ref gets.
            expected: what the remote has there now, None for nothing; of a ref that is not named
                git expects an ancestor.

        Returns:
            The refs that the remote refused, as when they moved, with its reasons.

        Raises:
            CommandFailed: it can not be reached.
        """
        leases = [f"--force-with-lease={ref}:{one or ''}" for ref, one in (expected or {}).items()]
        done = self._push(("--atomic", *leases), refs)
        if done.code and _NO_ATOMIC in done.stderr:
            done = self._push(leases, refs)
        refused = dict(filter(None, map(_refusal, done.text.splitlines())))
        if done.code and not refused:
            raise CommandFailed(f"git push {self.name}: {_last_line(done)}")
        return refused

    def _push(self, options: Iterable[str], refs: Mapping[str, str]) -> proc.Result:
        words = ("push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags")
        more = ("--recurse-submodules=no", "--no-signed", *options, "--", self.name)
        targets = (f"{one}:{ref}" for ref, one in refs.items())
        return git(
            self.repository, *QUIET, *words, *more, *targets,
            ok=(0, 1, 128), env=AS_STORED | dict(self.env),
        )  # fmt: skip

    def _env(self) -> dict[str, str]:
        return environment() | AS_STORED | dict(self.env)


def _refusal(line: str) -> tuple[str, str] | None:
    """Read a line of `push --porcelain`: a flag, the refs and what became of them, by tabs."""
    flag, _, rest = line.partition("\t")
    refs, _, reason = rest.partition("\t")
    return (refs.partition(":")[2], reason) if flag == "!" else None


def _last_line(said: proc.Result) -> str:
    lines = said.stderr.decode("utf-8", "replace").strip().splitlines()
    told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return told[0] if told else "git said nothing"


def choose_remote(known: Iterable[str], name: str | None, *, where: Path, add: str) -> str:
    """Choose a configured remote: the one that is named, else origin, else the only one.

    Args:
        where: what has these remotes, for errors.
        add: the command that adds one, for the hint.

    Raises:
        UsageError: there is none.
        NotFound: none has that name.
    """
    names = tuple(known)
    if not names:
        raise UsageError(f"{where} has no remote to sync with", hint=add)
    wanted = name or (DEFAULT if DEFAULT in names or len(names) > 1 else names[0])
    if wanted not in names:
        raise NotFound(f"{where} has no remote {wanted[:60]!a}", hint=f"it has {', '.join(names)}")
    return wanted
