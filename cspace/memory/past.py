"""What happened to memories: from git where it keeps them, else from the log."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from cspace import beneath
from cspace.errors import MALFORMED
from cspace.memory.keeping import Done, parse_done
from cspace.memory.located import Located, parse_path
from cspace.memory.log import LOG
from cspace.memory.repository import Repository
from cspace.memory.store import MemoryStore

_STATES = {"A": "create", "D": "remove"}


@dataclass(frozen=True, slots=True)
class Past:
    """One change of one memory.

    Attributes:
        entry: `user/testing`.
        id: the commit's; without git the revision that the change left, empty for a removal.
        subject: what the commit says of itself; empty without git.
    """

    time: datetime
    operation: str
    by: str
    entry: str
    id: str
    proposal: str
    subject: str = ""


def list_past(
    store: MemoryStore, repository: Repository | None, places: tuple[str, ...], limit: int
) -> tuple[Past, ...]:
    """Return the newest changes first.

    Args:
        places: names of entries, or of scopes for all that they hold; none for everything.
        limit: the most that are returned.
    """
    found = _iter_commits(repository, places) if repository else _iter_log(store)
    meant = (one for one in found if not places or _is_meant(one.entry, places))
    return tuple(itertools.islice(meant, limit))


def _is_meant(entry: str, places: tuple[str, ...]) -> bool:
    return any(entry == place or entry.startswith(f"{place}/") for place in places)


def _iter_commits(repository: Repository, places: tuple[str, ...]) -> Iterator[Past]:
    if repository.head() is None:
        return
    paths = [path for place in places for path in (place, f"{place}.md")]
    commits = repository.git("rev-list", "HEAD", "--", *paths).text.split()
    for some in _batches(commits):
        told = {one.id: one for one in _tell(repository, some)}
        for commit, changes in _iter_changes(repository, some):
            for state, path in changes:
                located = parse_path(path)
                if located is not None and not located.is_index:
                    yield _past(told[commit], located, state)


def _batches(commits: list[str], size: int = 200) -> Iterator[list[str]]:
    for start in range(0, len(commits), size):
        yield commits[start : start + size]


@dataclass(frozen=True, slots=True)
class _Told:
    id: str
    time: datetime
    author: str
    done: Done


def _tell(repository: Repository, commits: list[str]) -> Iterator[_Told]:
    words = ("-c", "log.showSignature=false", "log", "-z", "--no-walk=unsorted", "--stdin")
    form = (
        "--no-notes",
        "--no-color",
        "--encoding=UTF-8",
        "--no-patch",
        "--format=%H%n%ct%n%an%n%B",
    )
    said = repository.git(*words, *form, stdin="\n".join(commits).encode()).stdout
    for record in filter(None, said.decode("utf-8", "replace").split("\0")):
        one, time, author, message = record.split("\n", 3)
        yield _Told(one, _moment(int(time)), author, parse_done(message))


def _moment(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _iter_changes(
    repository: Repository, commits: list[str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    words = ("diff-tree", "--stdin", "-r", "-z", "--root", "--name-status", "--no-renames")
    said = repository.git(*words, stdin="".join(f"{one}\n" for one in commits).encode()).stdout
    tokens = iter(os.fsdecode(said).split("\0"))
    commit, changes = "", list[tuple[str, str]]()
    for token in tokens:
        if len(token) <= 1:
            changes += [(token, next(tokens))] if token else []
            continue
        if commit:
            yield commit, changes
        commit, changes = token, []
    if commit:
        yield commit, changes


def _past(told: _Told, located: Located, state: str) -> Past:
    done = told.done
    operation = done.operation or _STATES.get(state, "edit")
    by = done.by or told.author
    return Past(told.time, operation, by, located.name, told.id, done.proposal, done.subject)


def _iter_log(store: MemoryStore) -> Iterator[Past]:
    try:
        content = beneath.read_file(store.root, PurePosixPath(LOG))
    except FileNotFoundError:
        return
    for line in reversed(content.splitlines()):
        try:
            values = json.loads(line)
            named = {key: str(values[key] or "") for key in ("operation", "by", "proposal")}
            entry = f"{values['scope']}/{values['slug']}"
            time = datetime.fromisoformat(values["time"])
            yield Past(time, entry=entry, id=str(values["after"] or ""), **named)
        except MALFORMED:
            continue
