"""Reads what an agent did: changes, commits, conflicts. In a scratch repository of our own.

It borrows the host's objects and nothing else: no configuration, attribute, hook, replacement or
driver of anybody's takes part, neither the agent's nor the person's.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from cspace import git, git_objects, proc
from cspace.errors import CommandFailed, Conflict, CspaceError
from cspace.instance.sensitive import is_sensitive
from cspace.instance.snapshot_git import Scratch, check_paths, create_scratch

MOST_COMMITS = 10_000
MAX_LOG_BYTES = 64 * 1024 * 1024
MERGE_TREE = (2, 38)
# Scratch repositories take files above 1 MiB for binary ones.
_TEXTS = ("-c", "core.bigFileThreshold=64m")
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames")
_VERSION = re.compile(r"(\d+)\.(\d+)")
_CONFLICT = re.compile(r"CONFLICT \((.+)\)")


class Status(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    RETYPED = "type changed"


_STATUS = {
    "A": Status.ADDED,
    "D": Status.DELETED,
    "M": Status.MODIFIED,
    "R": Status.RENAMED,
    "T": Status.RETYPED,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One file that differs.

    Attributes:
        before: its earlier path where it was renamed.
        added, removed: lines; None for a binary file.
    """

    path: bytes
    status: Status
    before: bytes | None = None
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; notes by their namespace."""

    id: str
    author: str
    email: str
    time: datetime
    message: str
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Clash:
    """A conflict that a merge would have: its paths, its kind as git calls it, git's own words."""

    paths: tuple[bytes, ...]
    kind: str
    message: str


@contextlib.contextmanager
def viewing(repository: Path) -> Iterator[Scratch]:
    """Give a scratch repository that sees all objects of a repository."""
    with tempfile.TemporaryDirectory(prefix="cspace-view-") as directory:
        yield create_scratch(
            Path(directory) / "scratch",
            [os.fsencode(git_objects.object_directory(repository))],
            shallow=git.list_cuts(repository),
            object_format=git.object_format(repository),
        )


def find_base(scratch: Scratch, head: str, others: Sequence[str]) -> str | None:
    """Return the newest commit that head shares with any of others; None where there is none."""
    if not others:
        return None
    return scratch.run("merge-base", head, *others, ok=(0, 1)).text.partition("\n")[0] or None


def empty_tree(scratch: Scratch) -> str:
    """Return the tree without files."""
    return scratch.run("hash-object", "-t", "tree", "-w", "--stdin").text


def list_changes(
    scratch: Scratch, old: str, new: str, paths: Sequence[str] = ()
) -> tuple[Change, ...]:
    """Return what differs between two commits, by path.

    Raises:
        CspaceError: new names more paths than anybody has.
    """
    check_paths(scratch, new)
    words = ("diff-tree", "-r", "-z", "--raw", "--numstat", *_PLAIN, old, new, "--", *paths)
    said = scratch.run(*_TEXTS, *words).stdout
    return _parse_changes(iter(said.split(b"\0")))


def _parse_changes(words: Iterator[bytes]) -> tuple[Change, ...]:
    """Read the raw lines, and then the counted ones."""
    statuses: dict[bytes, tuple[Status, bytes | None]] = {}
    counts: dict[bytes, tuple[int | None, int | None]] = {}
    for word in words:
        if word.startswith(b":"):
            letter = word.rpartition(b" ")[2][:1].decode("ascii")
            path = next(words)
            before = path if letter == "R" else None
            statuses[next(words) if before is not None else path] = (_STATUS[letter], before)
        elif word:
            added, removed, path = word.split(b"\t", 2)
            if not path:
                next(words)
                path = next(words)
            counts[path] = (_count(added), _count(removed))
    found = (
        Change(path, status, before, *counts.get(path, (None, None)))
        for path, (status, before) in statuses.items()
    )
    return tuple(sorted(found, key=lambda one: one.path))


def _count(word: bytes) -> int | None:
    return None if word == b"-" else int(word)


def list_sensitive(scratch: Scratch, old: str, new: str) -> tuple[bytes, ...]:
    """Return the changed paths that a person should look at before they are checked out.

    Raises:
        CspaceError: new names more paths than anybody has.
    """
    check_paths(scratch, new)
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, "--")
    return tuple(path for path in scratch.run(*words).stdout.split(b"\0") if is_sensitive(path))


def iter_patch(
    repository: Path, old: str, new: str, paths: Sequence[str] = (), *, binary: bool
) -> Iterator[bytes]:
    """Yield a patch, in pieces.

    Args:
        binary: binary files too, so that `git apply` takes it.
    """
    whole = ("--binary", "--full-index") if binary else ()
    with viewing(repository) as scratch:
        words = ("diff-tree", "-r", "--patch", *_PLAIN, *whole, old, new, "--", *paths)
        with proc.talk("git", *_TEXTS, *words, env=scratch.environment()) as process:
            assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
            while chunk := process.stdout.read(1 << 16):
                yield chunk


def list_commits(scratch: Scratch, head: str, others: Iterable[str]) -> tuple[Commit, ...]:
    """Return the commits of head that none of others reaches, the newest first.

    Raises:
        CspaceError: their messages are larger than anybody's.
    """
    words = (
        "log", "-z", f"--max-count={MOST_COMMITS}", "--encoding=UTF-8", "--no-color",
        "--no-show-signature", "--no-notes", "--no-decorate", "--no-patch",
        "--format=tformat:%H%x00%an%x00%ae%x00%at%x00%B", head,
        *(f"^{one}" for one in others), "--",
    )  # fmt: skip
    fields = _read_limited(scratch, words).split(b"\0")
    return tuple(_commit(fields[at : at + 5]) for at in range(0, len(fields) - 4, 5))


def _read_limited(scratch: Scratch, words: Sequence[str]) -> bytes:
    with proc.talk("git", *words, env=scratch.environment()) as process:
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        said = process.stdout.read(MAX_LOG_BYTES + 1)
        if len(said) > MAX_LOG_BYTES:
            raise CspaceError(f"the messages are above {MAX_LOG_BYTES} bytes")
        return said


def _commit(fields: Sequence[bytes]) -> Commit:
    one, author, email, time, message = (each.decode("utf-8", "replace") for each in fields)
    try:
        made = datetime.fromtimestamp(int(time), tz=UTC)
    except (ValueError, OverflowError, OSError):
        made = datetime.fromtimestamp(0, tz=UTC)
    return Commit(one, author, email, made, message.rstrip("\n"))


def list_clashes(scratch: Scratch, ours: str, theirs: str) -> tuple[Clash, ...]:
    """Return the conflicts that a merge would have; none where it would be clean.

    Raises:
        CspaceError: git is too old to say so.
        Conflict: the two have no history in common.
    """
    _check_version(scratch)
    for one in (ours, theirs):
        check_paths(scratch, one)
    words = ("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs)
    try:
        said = scratch.run(*words, ok=(0, 1))
    except CommandFailed as error:
        if "unrelated histories" in str(error):
            raise Conflict("the two have no history in common", hint="cspace diff NAME") from error
        raise
    return _parse_clashes(said.stdout) if said.code else ()


def _check_version(scratch: Scratch) -> None:
    said = scratch.run("version").text
    found = _VERSION.search(said)
    if found is None or (int(found[1]), int(found[2])) < MERGE_TREE:
        needed = ".".join(map(str, MERGE_TREE))
        raise CspaceError(
            f"{said} can not say what a merge would do: {needed} or newer is needed",
            hint="install a newer git; cspace diff and cspace pull work with this one",
        )


def _parse_clashes(said: bytes) -> tuple[Clash, ...]:
    """Read a tree, names up to an empty one, then messages: count, paths, kind, text."""
    words = iter(said.split(b"\0"))
    next(words)
    names = list(iter(lambda: next(words), b""))
    found = []
    for number in words:
        if not number.isdigit():
            break
        paths = tuple(next(words) for _ in range(int(number)))
        kind, message = (next(words).decode("utf-8", "replace") for _ in range(2))
        clash = _CONFLICT.fullmatch(kind)
        if clash:
            found.append(Clash(paths, clash[1], message.strip()))
    known = {path for each in found for path in each.paths}
    others = (Clash((name,), "unmerged", "") for name in dict.fromkeys(names) if name not in known)
    return (*found, *others)
