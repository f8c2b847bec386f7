"""Records that git's own command took away without meaning to.

`git notes append` reads the notes, writes them with its own, and moves the ref from wherever it is
by then: what was captured in between is gone. Git's log of the ref still tells of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

from cspace.git_notes import Move, list_moves, read_moves
from cspace.git_notes_tree import CAREFUL, NotesTree
from cspace.notes.forgetting import drop_forgotten
from cspace.notes.namespaces import Namespace
from cspace.notes.note import append_record, parse_note
from cspace.notes.record import Record

# These only add; whoever edits and removes means it.
_ADDING = tuple(f"notes: Notes added by 'git notes {verb}'" for verb in ("append", "add", "copy"))
_APPENDING = _ADDING[0]


def find_overwritten(repository: Path, namespace: Namespace, notes: NotesTree) -> dict[str, bytes]:
    """Return notes with the records that they lost, by their object.

    Costs one read where the last writer looked for them too.
    """
    notes.message = CAREFUL
    if notes.was_looked_at():
        return {}
    lost: dict[tuple[str, str], Record] = {}
    meant: set[tuple[str, str]] = set()
    moves = itertools.takewhile(
        lambda move: not move.said.endswith(f"\n{CAREFUL}"), list_moves(repository, namespace.ref)
    )
    for move, changed in read_moves(repository, tuple(moves)):
        for name, record, is_meant in _vanished(namespace, notes, move, changed):
            if is_meant:
                meant.add((name, record.id))
            else:
                lost[name, record.id] = record
    return _restored(namespace, notes, {key: lost[key] for key in lost.keys() - meant})


def _vanished(
    namespace: Namespace,
    notes: NotesTree,
    move: Move,
    changed: Mapping[str, tuple[str | None, str | None]],
) -> Iterator[tuple[str, Record, bool]]:
    """Yield each object and record that a move took away, and whether it was meant."""
    for name, (before, after) in changed.items():
        if before is None:
            continue
        old = parse_note(namespace, notes.reader.read(before) or b"")
        new = parse_note(namespace, (notes.reader.read(after) if after else None) or b"")
        there = {one.id for one in new.records}
        # One who replaces a note says something new on it.
        is_new = bool(there - {one.id for one in old.records} or {*new.stray} - {*old.stray})
        adds = move.said.startswith(_ADDING) and not is_new
        for record in old.records:
            if record.id not in there:
                yield name, record, not (adds or move.said.startswith(_APPENDING))


def _restored(
    namespace: Namespace, notes: NotesTree, lost: dict[tuple[str, str], Record]
) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for (name, one), record in sorted(lost.items(), key=lambda each: each[1].timestamp):
        content = contents.get(name, notes.read(name) or b"")
        if all(known.id != one for known in parse_note(namespace, content).records):
            contents[name] = drop_forgotten(namespace, append_record(content, record.source))
    return contents
