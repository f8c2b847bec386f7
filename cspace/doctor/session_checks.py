"""Checks session notes: their size, their sections, and what lies beside them."""

from __future__ import annotations

import shlex
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from cspace import files
from cspace.docstore.opened import show_path
from cspace.doctor.model import Diagnosis
from cspace.errors import CspaceError
from cspace.files import TEMPORARY_SUFFIX
from cspace.sessions.budget import list_excess
from cspace.sessions.place import (
    LOCK,
    NOTES,
    TRANSCRIPT,
    Entry,
    Place,
    Session,
    iter_entries,
    list_sessions,
    opened,
    split_name,
)
from cspace.sessions.sections import NAMES, find_sections
from cspace.sessions.store import load_notes, notes_path


def examine_sessions(places: tuple[Place, ...]) -> tuple[Diagnosis, ...]:
    """Say what is wrong with notes, each with its repair; changes nothing."""
    return tuple(found for place in places for found in _examine(place))


def _examine(place: Place) -> Iterator[Diagnosis]:
    yield from _odd_files(place)
    for session in list_sessions(place):
        if session.notes is not None:
            yield from _check_notes(place, session)


def _check_notes(place: Place, session: Session) -> Iterator[Diagnosis]:
    path = show_path(PurePosixPath(notes_path(place, session)))
    look = f"look at it: less {shlex.quote(path)}"
    if session.size is None:
        repair = f"nothing needs them; read them, then: rm {shlex.quote(path)}"
        yield Diagnosis("without-transcript", f"{path} are notes of no session", repair)
    try:
        notes = load_notes(place, session)
    except CspaceError as error:
        yield Diagnosis("unreadable", str(error), error.hint or look)
        return
    for excess in list_excess(notes):
        yield Diagnosis("budget", f"{path}: {excess}", _update(excess.section or "Worklog"))
    yield from _check_sections(path, notes)


def _check_sections(path: str, notes: str) -> Iterator[Diagnosis]:
    names = [one.name for one in find_sections(notes)]
    edit = f"put the headings right in an editor: {shlex.quote(path)}"
    for name in NAMES:
        if name not in names:
            yield Diagnosis("missing-section", f"{path} has no section {name}", _update(name))
    for name, count in Counter(names).items():
        if count > 1:
            yield Diagnosis("duplicate-section", f"{path} has {name} {count} times", edit)
    once = list(dict.fromkeys(names))
    if once != [name for name in NAMES if name in once]:
        found = ", ".join(once)
        yield Diagnosis(
            "misordered-sections", f"{path} has its sections in this order: {found}", edit
        )


def _update(section: str) -> str:
    return f'in that session: cspace sessions update --section "{section}" --body TEXT'


def _odd_files(place: Place) -> Iterator[Diagnosis]:
    entries = list(iter_entries(place))
    names = {(entry.slug, entry.name) for entry in entries}
    for entry in entries:
        problem = _odd(place, entry, names)
        if problem:
            path = show_path(PurePosixPath(place.path / entry.slug / entry.name))
            repair = f"look at it, then: rm {shlex.quote(path)}"
            yield Diagnosis("odd-file", f"{path} {problem}", repair)


def _odd(place: Place, entry: Entry, names: set[tuple[str, str]]) -> str:
    mode, parts = entry.status.st_mode, split_name(entry.name)
    if stat.S_ISDIR(mode):
        return "is a directory in a file's place" if parts else ""
    if not stat.S_ISREG(mode):
        return "is a link, a pipe or a device"
    if entry.name.endswith(TEMPORARY_SUFFIX):
        with opened(place, entry.slug) as directory:
            return "" if files.is_locked(directory / entry.name) else "was left by a killed writer"
    if parts and parts[1] == LOCK:
        alone = not {(entry.slug, parts[0] + suffix) for suffix in (NOTES, TRANSCRIPT)} & names
        return "is the lock of no notes" if alone else ""
    return "is named after no session" if entry.name.endswith(NOTES) and not parts else ""
