"""The recordings of a context: commits of `refs/cspace/context` in the host's repository.

A commit's tree holds `.cspace/context` as it was, `changes.jsonl` with what happened since the last
one, and `versions/` with contents that came and went in between. So one commit a recording is
enough, however much happened, and the history is read without comparing trees.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cspace import git
from cspace.context import history
from cspace.context.history import Action, Change
from cspace.context.records import ROOT
from cspace.git_import import Commit, Import, blob_reader, list_commits
from cspace.git_objects import iter_tree

REF = "refs/cspace/context"
CHANGES, VERSIONS = b"changes.jsonl", b"versions"
MAX_SAID = 20
_PREFIX, _SUFFIX = os.fsencode(f"{ROOT}/"), b".md"
_VERBS = {
    Action.WRITTEN: "write",
    Action.REMOVED: "remove",
    Action.FOUND: "find",
    Action.GONE: "miss",
}


@dataclass(frozen=True, slots=True)
class Recording:
    """One commit: what it adds to the history, and what the context holds then."""

    changes: tuple[Change, ...]
    state: Mapping[str, str]


def find_tip(repository: Path) -> str | None:
    """Return the newest recording, None when there is none yet."""
    return git.resolve(repository, REF)


def load_state(repository: Path, tip: str) -> dict[str, str]:
    """Return the revision of each entry in a recording."""
    return {
        os.fsdecode(one.path[len(_PREFIX) : -len(_SUFFIX)]): one.id
        for one in iter_tree(repository, tip)
        if one.path.startswith(_PREFIX) and one.path.endswith(_SUFFIX)
    }


def load_changes(repository: Path, tip: str | None) -> tuple[Change, ...]:
    """Return everything that was ever recorded, the oldest recording first."""
    if tip is None:
        return ()
    found: list[Change] = []
    with blob_reader(repository) as blobs:
        for commit in list_commits(repository, tip):
            found += history.parse_changes(blobs.read(f"{commit}:{CHANGES.decode()}") or b"")
    return tuple(found)


def record(
    stream: Import, tip: str | None, before: Mapping[str, str], new: Recording, now: datetime
) -> None:
    """Write one commit; the blobs of new are in the stream, or in the recording before.

    Raises:
        CommandFailed: somebody else recorded meanwhile, or git said no.
    """
    lines = "".join(map(history.dump_change, new.changes)).encode()
    placed = {
        _path(entry): revision
        for entry, revision in new.state.items()
        if before.get(entry) != revision
    }
    passing = {change.revision for change in new.changes} - set(new.state.values()) - {""}
    versions = {b"%b/%b" % (VERSIONS, one.encode()): one for one in sorted(passing)}
    gone = [_path(entry) for entry in before.keys() - new.state.keys()]
    stream.commit(
        REF,
        tip,
        Commit(
            message=_message(new.changes),
            time=now,
            removed=[VERSIONS, *sorted(gone)],
            files={**placed, **versions, CHANGES: stream.add(lines)},
        ),
    )


def _path(entry: str) -> bytes:
    return _PREFIX + os.fsencode(entry) + _SUFFIX


def _message(changes: Sequence[Change]) -> str:
    lines = list(_said(changes[:MAX_SAID]))
    if len(changes) == 1:
        return lines[0] + "\n"
    more = [f"and {len(changes) - MAX_SAID} more"] if len(changes) > MAX_SAID else []
    return "\n".join([f"Record {len(changes)} changes", "", *lines, *more]) + "\n"


def _said(changes: Iterable[Change]) -> Iterable[str]:
    for change in changes:
        who = " of ".join(filter(None, (change.author, change.instance or "")))
        said = f"{_VERBS[change.action]} {change.entry}" + (f" by {who}" if who else "")
        yield "".join(char if char.isprintable() else "?" for char in said)
