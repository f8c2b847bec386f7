"""The files that a memory's commit changed, as they were then."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cspace.errors import NotFound
from cspace.git import AS_STORED, git
from cspace.git_commits import Change
from cspace.git_notes import read_notes
from cspace.git_objects import object_sizes, object_types

MAX_FILES = 20
MAX_FILE_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 256 * 1024
_GONE = "000000"
_FILES = ("100644", "100755")
_OTHERS = {"120000": "a link", "160000": "a submodule"}


@dataclass(frozen=True, slots=True)
class FileThen:
    """A file that a commit changed.

    Attributes:
        path: as git has it; bytes that are no UTF-8 are surrogates.
        text: its content after the commit; None where `note` says why not.
        note: removed, binary, a link, too large, …; empty for a text.
    """

    path: str
    text: str | None
    note: str


@dataclass(frozen=True, slots=True)
class FilesThen:
    """What a commit changed, as far as it is shown.

    Attributes:
        left_out: how many more files it changed.
    """

    files: tuple[FileThen, ...]
    left_out: int


def files_then(repository: Path, commit: str) -> FilesThen:
    """Return the files that a commit changed against its first parent, capped.

    Args:
        commit: its full id.

    Raises:
        NotFound: the commit is not there.
    """
    changed = _changed(repository, commit)
    shown = changed[:MAX_FILES]
    sizes = object_sizes(repository, {one.id for one in shown if one.mode in _FILES})
    room, kept = MAX_TOTAL_BYTES, []
    for one in shown:
        note = _refusal(one, sizes.get(one.id), room)
        room -= 0 if note else sizes[one.id]
        kept.append((one, note))
    texts = dict(read_notes(repository, {one.id for one, note in kept if not note}))
    files = tuple(_file(one, note, texts.get(one.id, b"")) for one, note in kept)
    return FilesThen(files, len(changed) - len(shown))


def files_where_known(
    repository: Path, commits: Iterable[str]
) -> tuple[dict[str, FilesThen], tuple[str, ...]]:
    """Return what each commit changed, and why nothing is said of the others."""
    found: dict[str, FilesThen] = {}
    missing: list[str] = []
    for commit in dict.fromkeys(commits):
        try:
            found[commit] = files_then(repository, commit)
        except NotFound as error:
            missing.append(str(error))
    return found, tuple(missing)


def _changed(repository: Path, commit: str) -> list[Change]:
    kind = object_types(repository, [commit]).get(commit)
    if kind is None:
        raise NotFound(
            f"commit {commit} is not in this repository",
            hint="a shallow or rewritten history lacks it; the note itself: cspace notes show",
        )
    if kind != "commit":
        raise NotFound(
            f"{commit} is a {kind}, which changed no files",
            hint="the note itself: cspace notes show",
        )
    words = ("diff-tree", "--root", "--diff-merges=first-parent", "--no-commit-id", "-r", "-z")
    more = ("--raw", "--no-renames", "--no-abbrev", commit)
    parts = git(repository, *words, *more, env=AS_STORED).stdout.split(b"\0")
    found = []
    for known, path in zip(parts[:-1:2], parts[1::2], strict=False):
        _, mode, _, one, _ = known.decode("ascii").split(" ")
        found.append(Change(path, mode, one))
    return found


def _refusal(one: Change, size: int | None, room: int) -> str:
    """Return why a file's content is not shown; empty where it is."""
    if one.mode == _GONE:
        return "removed"
    if one.mode not in _FILES:
        return _OTHERS.get(one.mode, "no file")
    if size is None:
        return "not in this repository"
    if size > min(MAX_FILE_BYTES, room):
        return f"{size} bytes, too large to show"
    return ""


def _file(one: Change, note: str, content: bytes) -> FileThen:
    path = os.fsdecode(one.path)
    if note:
        return FileThen(path, None, note)
    if b"\0" in content:
        return FileThen(path, None, f"binary, {len(content)} bytes")
    return FileThen(path, content.decode("utf-8", "surrogateescape"), "")
