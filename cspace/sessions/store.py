"""Reads session notes, and changes them under their lock."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.docstore.opened import reason, show_path
from cspace.errors import CspaceError, NotFound
from cspace.files import Owner
from cspace.sessions.budget import Excess, list_excess
from cspace.sessions.place import LOCK, NOTES, TRANSCRIPT, Place, Session, opened
from cspace.sessions.sections import (
    EMPTY,
    TITLE,
    find_sections,
    read_section,
    replace_section,
)
from cspace.sessions.transcript import TAIL_BYTES, Moment, parse_moment, read_tail

# Five times the budget: what is larger is something else than notes, and slows a hook down.
MAX_BYTES = 256 * 1024
LOCK_SECONDS = 10.0
# A list reads this much of each session, and shows this much of it.
TITLE_BYTES = 16 * 1024
TITLE_CHARACTERS = 80
# A transcript's: both say what somebody worked on.
_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Updated:
    """What became of notes.

    Attributes:
        path: where they lie.
        created: whether there were none before.
        excess: the budgets that they exceed now.
        twice: whether the section stands there more than once; the first was replaced.
    """

    session: str
    section: str
    path: Path
    created: bool
    excess: tuple[Excess, ...]
    twice: bool


def notes_path(place: Place, session: Session) -> Path:
    """Return where a session's notes lie, or would."""
    return place.path / session.slug / f"{session.id}{NOTES}"


def load_notes(place: Place, session: Session) -> str:
    """Read a session's notes; bytes that are no UTF-8 become lone surrogates.

    Raises:
        NotFound: there are none.
        CspaceError: what is there is not a regular file, or too large.
    """
    try:
        with opened(place, session.slug) as directory:
            return read_notes(directory / f"{session.id}{NOTES}")
    except FileNotFoundError:
        raise NotFound(
            f"session {session.id} has no notes",
            hint='the session writes some: cspace sessions update --section "Current State" …',
        ) from None
    except OSError as error:
        raise _unusable(place, session, reason(error)) from error
    except CspaceError as error:
        raise _unusable(place, session, str(error)) from error


def load_title(place: Place, session: Session) -> str:
    """Return what a session is called: by its notes, by Claude Code, or by its last request.

    "" where nothing says it, or what does can not be read.
    """
    title = ""
    with contextlib.suppress(CspaceError, OSError):
        if session.notes is not None:
            title = (read_section(load_notes(place, session), TITLE) or "").strip()
        if not title and session.size is not None:
            moment = load_moment(place, session.slug, session.id, TITLE_BYTES)
            title = moment.title or moment.request
    return " ".join(title[:TITLE_CHARACTERS].split())


def load_moment(place: Place, slug: str, id_: str, limit: int = TAIL_BYTES) -> Moment:
    """Read the end of a transcript, which may be missing.

    Raises:
        CspaceError, OSError: it is no regular file, or not ours to read.
    """
    try:
        with opened(place, slug) as directory:
            descriptor = beneath.open_file(directory, PurePosixPath(f"{id_}{TRANSCRIPT}"))
    except FileNotFoundError:
        return Moment()
    try:
        return parse_moment(read_tail(descriptor, limit))
    finally:
        os.close(descriptor)


def read_notes(path: Path) -> str:
    """Read notes whose directory is pinned.

    Raises:
        OSError: they are missing, a link, or not ours to read.
        CspaceError: they are not a regular file, or too large.
    """
    try:
        descriptor = beneath.open_file(path.parent, PurePosixPath(path.name))
    except CspaceError:
        raise CspaceError("not a regular file") from None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise CspaceError(f"larger than {MAX_BYTES} bytes, so these are no notes")
    return content.decode("utf-8", "surrogateescape")


def update_section(
    place: Place, session: Session, section: str, text: str, *, owner: Owner | None = None
) -> Updated:
    """Replace one section of a session's notes; the other nine are made where there are none.

    Raises:
        Conflict: somebody else held the notes for too long.
        CspaceError: they can not be read or written.
    """
    created = False

    def change(before: str | None) -> str:
        nonlocal created
        created = before is None
        return replace_section(EMPTY if before is None else before, section, text)

    try:
        after = change_notes(place, session, change, owner=owner)
    except OSError as error:
        raise _unusable(place, session, reason(error)) from error
    named = [one.name for one in find_sections(after)]
    path = notes_path(place, session)
    excess = list_excess(after)
    return Updated(session.id, section, path, created, excess, named.count(section) > 1)


def change_notes(
    place: Place,
    session: Session,
    change: Callable[[str | None], str],
    *,
    owner: Owner | None = None,
    patience: float = LOCK_SECONDS,
) -> str:
    """Hand notes to a function, None where there are none, and write what it returns.

    Args:
        patience: seconds to wait for another writer.

    Raises:
        OSError: the directory or the file is missing, a link, or not ours to write.
        Conflict, CspaceError: as above.
    """
    name = f"{session.id}{NOTES}"
    with opened(place, session.slug) as directory:
        path, locked = directory / name, directory / f"{session.id}{LOCK}"
        shown = show_path(PurePosixPath(notes_path(place, session)))
        holder = f"cspace, process {os.getpid()}"
        with files.lock(locked, timeout=patience, holder=holder, owner=owner, name=shown):
            files.sweep(directory)
            try:
                before = read_notes(path)
            except FileNotFoundError:
                before = None
            except CspaceError as error:
                raise _unusable(place, session, str(error)) from error
            after = change(before)
            content = after.encode("utf-8", "surrogateescape")
            if len(content) > MAX_BYTES:
                raise CspaceError(
                    f"the notes would have {len(content)} bytes, more than {MAX_BYTES}",
                    hint="keep what matters, and write the rest to a file in the workspace",
                )
            if after != before:
                files.write_atomic(path, content, mode=_MODE, owner=owner)
    return after


def _unusable(place: Place, session: Session, why: str) -> CspaceError:
    path = show_path(PurePosixPath(notes_path(place, session)))
    return CspaceError(f"{path}: {why}", hint=f"look at it: ls -ld {path}")
