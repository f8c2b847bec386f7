"""Says what one archive holds, for a person who looks for something in it."""

from __future__ import annotations

import hashlib
import itertools
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from cspace import git, git_objects
from cspace.git import Staged
from cspace.instance.archive import load_manifest
from cspace.instance.snapshot_git import is_sparse
from cspace.instance.snapshot_manifest import (
    Carried,
    Entry,
    Kind,
    LeftOut,
    Manifest,
    Problem,
    Repository,
)
from cspace.instance.snapshot_walk import SHARED
from cspace.lifecycle.archives import count_own_commits, find_archive, find_branch

_STASHES = b".git/logs/refs/stash"
# A split index is in two files.
_INDEX = re.compile(rb"\.git/(index|sharedindex\.[0-9a-f]+)")
_LINKED = re.compile(rb"\.git/worktrees/[^/]+/gitdir")
_SHARED = tuple(one + b"/" for one in SHARED)
_OURS = re.compile(r"\d+/(keep|other/\d+)")
# A tree that holds itself many times over can name any number of paths.
MOST_PATHS = 500_000


class State(StrEnum):
    """How a path stands to the commit that the workspace was on; one can be staged and changed.

    It is unknown where the repository came along as plain files, which git on the host never reads,
    where that commit names more than MOST_PATHS, and where the index is sparse.
    """

    COMMITTED = "committed"
    STAGED = "staged"
    CHANGED = "changed"
    DELETED = "deleted"
    UNTRACKED = "untracked"
    IGNORED = "ignored"
    NESTED = "in a repository below"
    GIT = "git's own"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Item:
    """One file or link; a deleted one has neither size nor bytes.

    Files are compared by their bytes: what a filter or a line ending changes counts as changed.
    """

    path: bytes
    states: tuple[State, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Share:
    """How many paths are in a state, and the bytes of their content."""

    state: State
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Ref:
    """A ref of the workspace's repository, number 0, or of one below it."""

    number: int
    name: str
    id: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive holds.

    Attributes:
        commits: as `cspace archive list` counts them.
        stashes: their messages, newest first, as `git stash list` numbers them.
        worktrees: linked worktrees, where the instance had them.
        items: every file and link.
    """

    name: str
    stamp: str
    time: datetime
    ref: str
    branch: str | None
    commits: int
    refs: tuple[Ref, ...]
    stashes: tuple[bytes, ...]
    worktrees: tuple[bytes, ...]
    repositories: tuple[Repository, ...]
    shares: tuple[Share, ...]
    left_out: tuple[LeftOut, ...]
    problems: tuple[Problem, ...]
    items: tuple[Item, ...]


def describe_archive(repository: Path, reference: str) -> Contents:
    """Describe an archive, `<name>/<stamp>` or the newest of a name.

    Raises:
        NotFound: there is none.
        CspaceError: it is damaged.
    """
    archive = find_archive(repository, reference)
    manifest = load_manifest(repository, archive)
    items = tuple(_Comparison(repository, manifest).items())
    return Contents(
        name=archive.name,
        stamp=archive.stamp,
        time=archive.time,
        ref=archive.ref,
        branch=find_branch(repository, manifest),
        commits=count_own_commits(repository, manifest),
        refs=tuple(_ref(name, one) for name, one in manifest.refs if not _OURS.fullmatch(name)),
        stashes=_stashes(repository, manifest),
        worktrees=tuple(
            git_objects.read_blob(repository, entry.blob).strip().removesuffix(b"/.git")
            for entry in manifest.entries
            if _LINKED.fullmatch(entry.path) and entry.blob
        ),
        repositories=manifest.repositories,
        shares=_shares(items),
        left_out=manifest.left_out,
        problems=manifest.problems,
        items=items,
    )


def _ref(name: str, one: str) -> Ref:
    number, _, below = name.partition("/")
    return Ref(int(number), below, one)


def _stashes(repository: Path, manifest: Manifest) -> tuple[bytes, ...]:
    log = next((entry for entry in manifest.entries if entry.path == _STASHES), None)
    lines = git_objects.read_blob(repository, log.blob).splitlines() if log and log.blob else []
    return tuple(line.partition(b"\t")[2] for line in reversed(lines))


def _shares(items: tuple[Item, ...]) -> tuple[Share, ...]:
    shares = []
    for state in State:
        sizes = [item.size for item in items if state in item.states]
        if sizes:
            shares.append(Share(state, len(sizes), sum(sizes)))
    return tuple(shares)


class _Comparison:
    """Compares an archive's files with the commit and the index that the workspace had."""

    def __init__(self, repository: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self.hash = git.object_format(repository)
        self.readable = any(
            one.number == 0 and one.carried is Carried.OBJECTS for one in manifest.repositories
        )
        self.head, self.index = dict[bytes, Staged](), dict[bytes, Staged]()
        if self.readable:
            head, index = _read_head(repository, manifest), _read_index(repository, manifest)
            self.readable = len(head) <= MOST_PATHS and index is not None
            if self.readable:
                self.head, self.index = head, index or {}
        # Below one of these, another repository knows what is staged.
        self.nested = tuple(
            entry.path.removesuffix(b".git")
            for entry in manifest.entries
            if entry.path.endswith(b"/.git") and not entry.path.startswith(b".git/")
        )

    def items(self) -> Iterator[Item]:
        """Yield every file and link, and last what was deleted."""
        seen = set()
        for entry in self.manifest.entries:
            seen.add(entry.path)
            if entry.kind is not Kind.DIRECTORY:
                yield Item(entry.path, self._states(entry), entry.size)
        for path in sorted(self.index.keys() | self.head.keys()):
            staged = self.index.get(path)
            hidden = path.startswith(_SHARED) or (staged is not None and staged.hidden)
            if path not in seen and not hidden:
                yield Item(path, (State.DELETED,), 0)

    def _states(self, entry: Entry) -> tuple[State, ...]:
        if b".git" in entry.path.split(b"/"):
            return (State.GIT,)
        if entry.path.startswith(self.nested):
            return (State.NESTED,)
        if not self.readable:
            return (State.UNKNOWN,)
        staged = self.index.get(entry.path)
        if staged is None:
            return (State.IGNORED if entry.ignored else State.UNTRACKED,)
        states = []
        committed = self.head.get(entry.path)
        if committed is None or (committed.mode, committed.id) != (staged.mode, staged.id):
            states.append(State.STAGED)
        if (staged.mode, staged.id) != self._named(entry):
            states.append(State.CHANGED)
        return tuple(states) or (State.COMMITTED,)

    def _named(self, entry: Entry) -> tuple[str, str]:
        """Return what git would call a path's mode and bytes."""
        if entry.kind is Kind.FILE:
            return ("100755" if entry.mode & 0o100 else "100644"), entry.blob
        whole = b"blob %d\0%s" % (len(entry.target), entry.target)
        return "120000", hashlib.new(self.hash, whole, usedforsecurity=False).hexdigest()


def _read_head(repository: Path, manifest: Manifest) -> dict[bytes, Staged]:
    branch, refs = find_branch(repository, manifest), dict(manifest.refs)
    commit = refs.get(f"0/refs/heads/{branch}" if branch else "0/HEAD")
    if commit is None:
        return {}
    tree = itertools.islice(git_objects.iter_tree(repository, commit), MOST_PATHS + 1)
    return {entry.path: Staged(entry.mode, entry.id, hidden=False) for entry in tree}


def _read_index(repository: Path, manifest: Manifest) -> dict[bytes, Staged] | None:
    """Return what was staged; None where git would have to unfold directories to tell."""
    parts = {
        entry.path.removeprefix(b".git/").decode("ascii"): entry.blob
        for entry in manifest.entries
        if _INDEX.fullmatch(entry.path) and entry.blob
    }
    if "index" not in parts:
        return {}
    with tempfile.TemporaryDirectory(prefix="cspace-index-") as temporary:
        for name, blob in parts.items():
            content = git_objects.read_blob(repository, blob)
            if is_sparse(content):
                return None
            (Path(temporary) / name).write_bytes(content)
        return git.list_index(repository, Path(temporary) / "index")
