"""A remote's notes: which it has, fetched into a namespace of their own, and what it is given."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from cspace import git, git_objects
from cspace.errors import CommandFailed, CspaceError, UsageError
from cspace.events import Report, ignore, phase
from cspace.git_remote import DEFAULT, GitRemote, choose_remote
from cspace.notes.namespaces import PREFIX, Namespace
from cspace.notes.union import unite

TRACKING = "refs/cspace/notes"
# For an answer; a fetch and a push take as long as they take.
ANSWER_SECONDS = 60.0
QUICK_SECONDS = 5.0
_NO_REF_NAME = re.compile(r"[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|//|^[./]|[./]$|/\.|\.lock(/|$)")


@dataclass(frozen=True, slots=True)
class NotesRemote:
    """One remote of a repository, as far as notes go."""

    repository: Path
    name: str
    report: Report = ignore
    env: Mapping[str, str] = field(default_factory=dict)

    def ref(self, namespace: Namespace) -> str:
        """Return where a namespace of the remote is kept here."""
        return f"{TRACKING}/{self.name}/{namespace}"

    def list_tips(self, seconds: float = ANSWER_SECONDS) -> dict[Namespace, str]:
        """Ask the remote which namespaces it has.

        Raises:
            CommandFailed: it can not be reached, or does not answer in this many seconds.
        """
        by_ref = {namespace.ref: namespace for namespace in Namespace}
        with phase(self.report, self.name, "ask"):
            found = self._git.list_refs(by_ref, seconds=seconds)
        return {by_ref[ref]: tip for ref, tip in found.items()}

    def list_known(self) -> dict[Namespace, str]:
        """Return what was fetched last; asks nobody."""
        refs = git.list_refs(self.repository, f"{TRACKING}/{self.name}")
        return {one: refs[self.ref(one)] for one in Namespace if self.ref(one) in refs}

    def fetch(self) -> dict[Namespace, str]:
        """Make the tracking namespace what the remote has, and return it.

        Raises:
            CommandFailed: it can not be reached, sends too much, or an object is broken.
        """
        there, known = self.list_tips(), self.list_known()
        gone = {self.ref(one): tip for one, tip in known.items() if one not in there}
        if gone:
            git.delete_refs(self.repository, gone)
        new = [one for one, tip in there.items() if known.get(one) != tip]
        if new:
            with phase(self.report, self.name, "fetch"):
                self._git.fetch(f"+{one.ref}:{self.ref(one)}" for one in new)
        return self.list_known()

    def push(
        self, tips: Mapping[Namespace, str], expected: Mapping[Namespace, str]
    ) -> dict[Namespace, str]:
        """Push namespaces, all or none where the remote can.

        Args:
            expected: what the remote had when we merged with it.

        Returns:
            The namespaces that it refused, as when they moved, with its reasons.

        Raises:
            CommandFailed: it can not be reached.
        """
        leases = {one.ref: expected.get(one) for one in tips}
        with phase(self.report, self.name, "push"):
            refused = self._git.push({one.ref: tip for one, tip in tips.items()}, leases)
        for one, tip in tips.items():
            if not refused:
                with contextlib.suppress(CommandFailed):  # git did it itself, as configured
                    git.update_ref(self.repository, self.ref(one), tip, expected.get(one))
        return {one: refused[one.ref] for one in Namespace if one.ref in refused}

    @property
    def _git(self) -> GitRemote:
        objects = git_objects.object_directory(self.repository)
        return GitRemote(self.repository, objects, self.name, self.env)


def find_remote(repository: Path, name: str | None, report: Report = ignore) -> NotesRemote:
    """Find a configured remote: the one that is named, else origin, else the only one.

    Raises:
        UsageError: there is none, or no ref can have its name.
        NotFound: none has that name.
    """
    add = shlex.join(("git", "-C", str(repository), "remote", "add", DEFAULT, "URL"))
    chosen = choose_remote(list_remotes(repository), name, where=repository, add=add)
    if _NO_REF_NAME.search(chosen):
        raise UsageError(
            f"remote {chosen!r}: no ref can have that name",
            hint=shlex.join(("git", "remote", "rename", chosen, DEFAULT)),
        )
    return NotesRemote(repository, chosen, report)


def list_remotes(repository: Path) -> tuple[str, ...]:
    """Return the remotes that are configured."""
    return tuple(git.git(repository, "remote").text.splitlines())


@dataclass(frozen=True, slots=True)
class Offer:
    """Notes that a remote has and nobody has merged here.

    Attributes:
        namespaces: those in which it has something else than we last merged.
    """

    remote: str
    namespaces: tuple[Namespace, ...]

    @property
    def command(self) -> str:
        """What gets them."""
        return f"cspace notes sync {shlex.quote(self.remote)}"


def find_offer(repository: Path, seconds: float = QUICK_SECONDS) -> Offer | None:
    """Look for notes of a remote that a `git fetch` brought and no sync has merged.

    For `status`. Where no notes are here at all, the remote is asked once.

    Returns:
        None where there are none, there is no remote, or it does not answer in time.
    """
    here = git.list_refs(repository, PREFIX.rstrip("/"))
    for name in list_remotes(repository):
        known = NotesRemote(repository, name).list_known()
        waiting = tuple(
            one for one, tip in known.items() if _brings(repository, one, here.get(one.ref), tip)
        )
        if waiting:
            return Offer(name, waiting)
    if any(one.ref in here for one in Namespace):
        return None
    try:
        remote = replace(find_remote(repository, None), env=_silent(repository))
        there = remote.list_tips(seconds)
    except CspaceError:
        return None
    return Offer(remote.name, tuple(one for one in Namespace if one in there)) if there else None


def _brings(repository: Path, namespace: Namespace, ours: str | None, theirs: str) -> bool:
    """Tell whether a remote's notes hold what ours do not."""
    if ours in (None, theirs):
        return ours is None
    try:
        if git.is_ancestor(repository, theirs, ours):
            return False
        return bool(unite(repository, namespace, ours, theirs).incoming)
    except CspaceError:
        return False  # it is no commit of notes; a sync says so


def _silent(repository: Path) -> dict[str, str]:
    """Return the variables with which nobody is asked for a password, as far as we can say."""
    chosen = any(os.environ.get(name) for name in ("GIT_SSH", "GIT_SSH_COMMAND"))
    quiet = {"GIT_ASKPASS": "true", "SSH_ASKPASS": "true"}
    if chosen or git.config_value(repository, "core.sshCommand"):
        return quiet
    return quiet | {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes"}


def hint_where_none(repository: Path) -> str | None:
    """Return the command that would get notes, where there may be some; asks nobody.

    For `list` and `recall`, where nothing is here.
    """
    known = list_remotes(repository)
    if not known:
        return None
    chosen = DEFAULT if DEFAULT in known else known[0]
    return Offer(chosen, ()).command
