"""Where sessions lie, and which there are: transcripts `<slug>/<id>.jsonl`, notes beside them.

An instance's agent writes all of it, so directories are opened one by one and no link is followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import NotFound, UsageError
from cspace.paths import INSIDE, sessions_directory

TRANSCRIPT = ".jsonl"
NOTES = ".md"
LOCK = ".md.lock"
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,79}", re.ASCII)
_SUBAGENT = "agent-"


@dataclass(frozen=True, slots=True)
class Place:
    """The sessions of one instance.

    Attributes:
        root: a directory that no agent can replace.
        below: where the sessions lie below root.
    """

    instance: str
    root: Path
    below: PurePosixPath

    @property
    def path(self) -> Path:
        return self.root / self.below


@dataclass(frozen=True, slots=True)
class Session:
    """One session of Claude Code.

    Attributes:
        slug: the directory that Claude Code made of the one it was started in.
        changed: when its transcript or its notes last changed.
        size: bytes of the transcript; None where there is none.
        notes: bytes of the notes; None where there are none.
    """

    instance: str
    slug: str
    id: str
    changed: datetime
    size: int | None
    notes: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a directory of sessions, with its status; a link's is its own."""

    slug: str
    name: str
    status: os.stat_result


def inside_place(instance: str) -> Place:
    """Return where an instance finds its own sessions."""
    return Place(instance, Path(INSIDE.projects), PurePosixPath())


def list_places(user: Path, project_id: str, only: str | None = None) -> tuple[Place, ...]:
    """Return where the host keeps the sessions of a project's instances, also of gone ones.

    Args:
        user: `~/.cspace`.
        only: an instance's checked name.

    Raises:
        NotFound: there is nothing of that instance.
    """
    project = PurePosixPath(sessions_directory(user).relative_to(user) / project_id)
    try:
        descriptor = beneath.open_directory(user, project)
    except OSError:
        names = []
    else:
        try:
            found = os.listdir(descriptor)  # noqa: PTH208  Path takes no descriptor
            names = sorted(name for name in found if not name.startswith("."))
        finally:
            os.close(descriptor)
    if only is not None and only not in names:
        raise NotFound(f"there are no sessions of {only!r}", hint="cspace sessions list")
    return tuple(Place(name, user, project / name) for name in names if only in (None, name))


def is_id(text: str) -> bool:
    """Tell whether a session may have this id: it becomes a file's name."""
    return _ID.fullmatch(text) is not None and not text.startswith(_SUBAGENT)


def iter_entries(place: Place) -> Iterator[Entry]:
    """Yield what lies in the directories of sessions; nothing where there is no such place."""
    try:
        top = beneath.open_directory(place.root, place.below)
    except OSError:
        return
    try:
        for slug in sorted(os.listdir(top)):  # noqa: PTH208  Path takes no descriptor
            yield from _entries_of(top, slug)
    finally:
        os.close(top)


def _entries_of(top: int, slug: str) -> Iterator[Entry]:
    try:
        directory = beneath.open_child(top, slug)
    except OSError:
        return
    try:
        for name in sorted(os.listdir(directory)):  # noqa: PTH208  see above
            try:
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield Entry(slug, name, status)
    finally:
        os.close(directory)


def split_name(name: str) -> tuple[str, str] | None:
    """Divide a name into a session's id and a suffix of ours; None when it is no such name."""
    for suffix in (TRANSCRIPT, LOCK, NOTES):
        if name.endswith(suffix) and is_id(name.removesuffix(suffix)):
            return name.removesuffix(suffix), suffix
    return None


def list_sessions(place: Place) -> tuple[Session, ...]:
    """List the sessions of an instance, newest first, without reading a file."""
    found: dict[tuple[str, str], dict[str, os.stat_result]] = {}
    for entry in iter_entries(place):
        parts = split_name(entry.name)
        if parts and parts[1] != LOCK and stat.S_ISREG(entry.status.st_mode):
            found.setdefault((entry.slug, parts[0]), {})[parts[1]] = entry.status
    sessions = [_session(place, *which, files) for which, files in found.items()]
    return tuple(sorted(sessions, key=lambda one: (one.changed, one.id), reverse=True))


def _session(place: Place, slug: str, id_: str, files: dict[str, os.stat_result]) -> Session:
    transcript, notes = files.get(TRANSCRIPT), files.get(NOTES)
    changed = max(status.st_mtime for status in files.values())
    return Session(
        instance=place.instance,
        slug=slug,
        id=id_,
        # A file's time is its agent's to set: before 1970, or past what a calendar can show.
        changed=datetime.fromtimestamp(min(max(changed, 0), 2**37), UTC),
        size=transcript.st_size if transcript else None,
        notes=notes.st_size if notes else None,
    )


def get_session(sessions: tuple[Session, ...], wanted: str | None) -> Session:
    """Return the session whose id begins so; the newest one where none is wanted.

    Raises:
        NotFound: there is none.
        UsageError: several ids begin so, or several instances have it.
    """
    hint = "cspace sessions list"
    found = [one for one in sessions if wanted is None or one.id.startswith(wanted)]
    exact = [one for one in found if one.id == wanted]
    if not found:
        what = f"there is no session {wanted!r}" if wanted else "there is no session yet"
        raise NotFound(what, hint=hint)
    if wanted is not None and not exact and len({one.id for one in found}) > 1:
        ids = ", ".join(sorted({one.id for one in found})[:3])
        raise UsageError(f"{wanted!r} is the beginning of several sessions: {ids}", hint=hint)
    # An agent can give its session any id, another's too.
    owners = sorted({one.instance for one in exact or found})
    if wanted is not None and len(owners) > 1:
        raise UsageError(
            f"{wanted!r} is a session of {' and of '.join(owners[:3])}",
            hint="cspace sessions list, then name the instance",
        )
    return (exact or found)[0]


@contextmanager
def opened(place: Place, slug: str) -> Iterator[Path]:
    """Give a path to one directory of sessions that stays the same one; errors as in beneath."""
    with beneath.pinned(place.root, place.below / slug) as directory:
        yield directory
