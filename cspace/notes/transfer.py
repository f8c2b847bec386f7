"""Memories as lines of JSON: all that the notes hold, for another repository or another tool.

The first line says what it is. Each other one is a record or, under `stray`, bytes that are none;
`text` has them as they stand, `base64` where they are no UTF-8. The other fields are for readers.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cspace import git_notes, git_objects
from cspace.errors import CspaceError, UsageError
from cspace.git_import import Place
from cspace.notes.forgetting import drop_forgotten, removed_ids
from cspace.notes.namespaces import Namespace
from cspace.notes.note import append_record, parse_note
from cspace.notes.outgoing import Leaked, scan_note
from cspace.notes.record import Record, format_time
from cspace.notes.store import NotesStore
from cspace.notes.union import add_notes, list_notes

FORMAT, VERSION = "cspace-notes", 1
LARGEST_LINE = 32 << 20
_HEX_LENGTH = {"sha1": 40, "sha256": 64}


def export_notes(
    store: NotesStore, namespaces: Iterable[Namespace] | None = None
) -> Iterator[bytes]:
    """Yield the lines, in an order that only depends on what there is."""
    head = {"format": FORMAT, "version": VERSION, "hash": store.place.algorithm}
    yield _line(head)
    wanted = frozenset(namespaces or Namespace)
    for namespace, tip in store.tips().items():
        if namespace in wanted:
            yield from _export(store, namespace, tip)


def _export(store: NotesStore, namespace: Namespace, tip: str) -> Iterator[bytes]:
    notes = list_notes(store.repository, tip)
    contents = dict(git_notes.read_notes(store.repository, sorted(set(notes.values()))))
    for commit, blob in sorted(notes.items()):
        note = parse_note(namespace, contents.get(blob, b""))
        place: dict[str, object] = {"namespace": str(namespace), "commit": commit}
        for record in note.records:
            yield _line(place | _shown(record) | _encode(record.source))
        for part in note.stray:
            yield _line(place | {"stray": True} | _encode(part))


def _shown(record: Record) -> dict[str, object]:
    shown: dict[str, object] = {"id": record.id, "type": record.type}
    shown |= {"timestamp": format_time(record.timestamp), "summary": record.summary}
    return shown | ({"of": record.of} if record.of else {})


def _encode(content: bytes) -> dict[str, object]:
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def _line(fields: Mapping[str, object]) -> bytes:
    # A lone surrogate, which a summary may have, has an escape and no bytes.
    return json.dumps(fields, ensure_ascii=True).encode("ascii") + b"\n"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would.

    Attributes:
        records: how many the file holds that were not forgotten; new: how many were not here.
        commits: how many notes changed.
        absent: commits that are not in this repository; their memories are orphans.
    """

    records: int
    new: int
    commits: int
    absent: tuple[str, ...]


def import_notes(
    store: NotesStore, lines: Iterable[bytes], *, allow_secret: bool = False, dry_run: bool = False
) -> Imported:
    """Merge what was exported into what is here, by set; all of it is read before any is written.

    Raises:
        UsageError: a line is none of ours, or holds what looks like a secret; nothing was written.
    """
    contents = _read(store.place, lines)
    here_before = _here(store, contents)
    for namespace, notes in contents.items():
        for commit, content in notes.items():
            gone = removed_ids(here_before.get((namespace, commit), ()))
            notes[commit] = drop_forgotten(namespace, content, gone)
    before = {(*place, one.id) for place, records in here_before.items() for one in records}
    if not allow_secret:
        _refuse_leaks(contents)
    commits = sorted({commit for notes in contents.values() for commit in notes})
    here = git_objects.object_sizes(store.repository, commits)
    ids = {
        (namespace, commit, one.id)
        for namespace, notes in contents.items()
        for commit, content in notes.items()
        for one in parse_note(namespace, content).records
    }
    changed = 0
    for namespace, notes in contents.items():
        changed += 0 if dry_run else len(add_notes(store, namespace, notes))
    absent = tuple(one for one in commits if one not in here)
    return Imported(len(ids), len(ids - before), changed, absent)


def _here(
    store: NotesStore, wanted: Mapping[Namespace, Mapping[str, bytes]]
) -> dict[tuple[Namespace, str], tuple[Record, ...]]:
    """Return the records that stand here on each of the commits that are wanted."""
    found = {}
    for namespace, tip in store.tips().items():
        notes = list_notes(store.repository, tip)
        asked = {one: notes[one] for one in wanted.get(namespace, ()) if one in notes}
        contents = dict(git_notes.read_notes(store.repository, sorted(set(asked.values()))))
        for commit, blob in asked.items():
            records = parse_note(namespace, contents.get(blob, b"")).records
            found[namespace, commit] = records
    return found


def _read(place: Place, lines: Iterable[bytes]) -> dict[Namespace, dict[str, bytes]]:
    found: dict[Namespace, dict[str, bytes]] = defaultdict(dict)
    seen = False
    for number, line in enumerate(lines, 1):
        seen = True
        try:
            fields = json.loads(line) if len(line) <= LARGEST_LINE else None
            if number == 1:
                _check_head(fields, place)
                continue
            namespace, commit, content = _decode(fields, _HEX_LENGTH[place.algorithm])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UsageError(
                f"line {number} is no line of an export: {type(error).__name__}",
                hint="it is JSON Lines, as cspace notes export writes them",
            ) from error
        notes = found[namespace]
        notes[commit] = append_record(notes.get(commit, b""), content)
    if not seen:
        raise UsageError("the export is empty", hint="cspace notes export FILE")
    return found


def _check_head(fields: object, place: Place) -> None:
    match fields:
        case {"format": format_, "version": version, "hash": algorithm} if format_ == FORMAT:
            if version != VERSION:
                raise CspaceError(
                    f"version {version!r} of an export is not {VERSION}", hint="update cspace"
                )
            if algorithm != place.algorithm:
                raise CspaceError(
                    f"the export is of a repository with {algorithm!r}, and this one has"
                    f" {place.algorithm}: no commit of one is in the other",
                    hint="import it into a clone of the repository that it comes from",
                )
        case _:
            raise ValueError("no head")


def _decode(fields: object, length: int) -> tuple[Namespace, str, bytes]:
    if not isinstance(fields, dict):
        raise TypeError("no object")
    commit, text, coded = fields["commit"], fields.get("text"), fields.get("base64")
    if not isinstance(commit, str) or not re.fullmatch(f"[0-9a-f]{{{length}}}", commit):
        raise ValueError("commit")
    if isinstance(text, str):
        return Namespace(str(fields["namespace"])), commit, text.encode("utf-8")
    if not isinstance(coded, str):
        raise TypeError("text")
    return Namespace(str(fields["namespace"])), commit, base64.b64decode(coded, validate=True)


def _refuse_leaks(contents: Mapping[Namespace, Mapping[str, bytes]]) -> None:
    leaks: list[Leaked] = [
        leak
        for namespace, notes in contents.items()
        for commit, content in notes.items()
        for leak in scan_note(namespace, commit, content)
    ]
    if leaks:
        raise UsageError(
            f"what looks like a secret was not imported: {'; '.join(map(str, leaks[:10]))}",
            hint="take it out; if it is none, import it with --allow-secret",
        )
