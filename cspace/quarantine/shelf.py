"""Moves what may not stay into `.cspace/quarantine`, lists it, and brings it back.

A thing lies there as `<id>/item`, beside `<id>/record.json`. The record is written first: one
without an item is what a killed call left.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from cspace import beneath, files, trees
from cspace.clock import Clock, utc_now
from cspace.errors import MALFORMED, Conflict, CspaceError, NotFound
from cspace.events import Event, Report, State
from cspace.files import Owner
from cspace.paths import QUARANTINE, SHARED
from cspace.quarantine.scan import Foreign, Kind, iter_foreign

PLACE = PurePosixPath(QUARANTINE)
ITEM, RECORD = "item", "record.json"
SCHEMA = 1
LOCK_SECONDS = 30.0
# An agent can plant a million links: beyond this many they are counted.
MAX_SAID = 20

_ID = re.compile(r"[0-9a-f]{8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Something that was moved aside.

    Attributes:
        path: where it was, relative to the project; None when its record can not be read, and so
            for kind and moved.
    """

    id: str
    path: str | None
    kind: Kind | None
    moved: datetime | None


def sweep(
    root: Path, owner: Owner, report: Report, *, now: Clock = utc_now
) -> tuple[Quarantined, ...]:
    """Move aside what may not stay in the shared directories, and report each thing as it goes.

    What can not be moved is reported too and stays: cspace follows no link, but git would.

    Raises:
        CspaceError: something was found, and there is no place to move it to.
    """
    moved: list[Quarantined] = []
    said = 0
    with contextlib.ExitStack() as stack:
        shelf: int | None = None
        for foreign in iter_foreign(root, unlock=True):
            if shelf is None:
                shelf = stack.enter_context(_locked_shelf(root, owner))
            try:
                done = _put(shelf, foreign, owner, now())
            except OSError as error:
                text = _stays(foreign, error)
            else:
                if done is None:
                    continue  # it went by itself
                moved.append(done)
                text = _gone(done)
            said += 1
            if said <= MAX_SAID:
                report(_notice(text))
    if said > MAX_SAID:
        report(_notice(f"and {said - MAX_SAID} more; see: cspace quarantine list, cspace doctor"))
    return tuple(moved)


def list_quarantined(root: Path) -> tuple[Quarantined, ...]:
    """List what was moved aside, oldest first; what has no readable record comes last."""
    try:
        with _shelf(root) as shelf:
            found = [_load(shelf, name) for name in _names(shelf) if _holds_item(shelf, name)]
    except (FileNotFoundError, NotADirectoryError):
        return ()
    last = datetime.max.replace(tzinfo=UTC)
    return tuple(sorted(found, key=lambda one: (one.moved or last, one.id)))


def get_quarantined(root: Path, id_: str) -> Quarantined:
    """Return one thing.

    Raises:
        NotFound: there is no such thing.
    """
    found = next((one for one in list_quarantined(root) if one.id == id_), None)
    if found is None:
        raise NotFound(
            f"there is nothing called {id_!r} in quarantine", hint="cspace quarantine list"
        )
    return found


def restore(root: Path, id_: str, to: Path | None = None) -> Path:
    """Put a thing back where it was, or at another path; return that path.

    Args:
        to: a path that does not exist yet, on the project's file system.

    Raises:
        NotFound: there is no such thing, or its directory is gone.
        Conflict: something stands there.
    """
    thing = get_quarantined(root, id_)
    base, relative = (root, _origin(thing)) if to is None else (to.parent, PurePosixPath(to.name))
    target = base / relative
    try:
        parent = beneath.open_directory(base, relative.parent)
    except OSError as error:
        raise NotFound(
            f"{str(target.parent)!r} is not a directory of its own: {error.strerror}",
            hint=f"cspace quarantine restore {id_} --to PATH",
        ) from error
    try:
        with _shelf(root, id_) as place:
            if _exists(parent, relative.name):
                raise Conflict(
                    f"{str(target)!r} is taken", hint=f"cspace quarantine restore {id_} --to PATH"
                )
            _rename(place, ITEM, parent, relative.name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        raise CspaceError(
            f"{str(target)!r} is on another file system",
            hint=f"choose a path beside the project: --to {root.parent / 'looked-at'}",
        ) from error
    finally:
        os.close(parent)
    trees.remove_tree(root / PLACE / id_)
    return target


def remove(root: Path, id_: str) -> Quarantined:
    """Delete a thing for good.

    Raises:
        NotFound: there is no such thing.
    """
    thing = get_quarantined(root, id_)
    trees.remove_tree(root / PLACE / id_)
    return thing


def _origin(thing: Quarantined) -> PurePosixPath:
    if thing.path is None:
        raise CspaceError(
            f"where {thing.id} was can not be read from its record",
            hint=f"cspace quarantine restore {thing.id} --to PATH",
        )
    return PurePosixPath(thing.path)


@contextlib.contextmanager
def _shelf(root: Path, id_: str = "") -> Iterator[int]:
    descriptor = beneath.open_directory(root, PLACE / id_)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked_shelf(root: Path, owner: Owner) -> Iterator[int]:
    """Make the quarantine, hold it, and clear what killed calls left.

    Raises:
        CspaceError: something else stands in its place, or somebody holds it.
    """
    beneath.ensure_directory(root, PLACE, owner=owner)
    with beneath.pinned(root, PLACE) as place:
        with contextlib.suppress(FileExistsError):
            # Not in `.cspace/.gitignore`: it must hold from the first moment, in any project.
            files.publish(place / ".gitignore", "*\n", owner=owner)
        lock = place / ".lock"
        with (
            files.lock(
                lock, timeout=LOCK_SECONDS, holder="cspace", owner=owner, name=str(root / PLACE)
            ),
            _shelf(root) as shelf,
        ):
            for name in _names(shelf):
                if not _holds_item(shelf, name):
                    _forget(shelf, name)
            yield shelf


def _put(shelf: int, foreign: Foreign, owner: Owner, now: datetime) -> Quarantined | None:
    """Move one thing; None when it is not there any more.

    Raises:
        OSError: it can not be moved, and is where it was.
    """
    if foreign.kind is Kind.UNREADABLE:
        raise PermissionError(errno.EACCES, "its mode can not be changed")
    thing = Quarantined(os.urandom(4).hex(), str(foreign.path), foreign.kind, now)
    os.mkdir(thing.id, 0o700, dir_fd=shelf)
    place = beneath.open_child(shelf, thing.id)
    try:
        files.give(place, owner)
        _save(place, thing, owner)
        _rename(foreign.parent, foreign.path.name, place, ITEM)
    except BaseException as error:
        _forget(shelf, thing.id)
        if isinstance(error, FileNotFoundError):
            return None
        raise
    finally:
        os.close(place)
    return thing


def _rename(source: int, name: str, target: int, new: str) -> None:
    try:
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
    except PermissionError:
        # A directory that moves is written to, for the sake of its `..`.
        os.close(beneath.open_child(source, name, unlock=True))
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)


def _save(place: int, thing: Quarantined, owner: Owner) -> None:
    data = {"schema": SCHEMA, "path": thing.path, "kind": thing.kind, "moved": str(thing.moved)}
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(RECORD, flags, 0o600, dir_fd=place), "w", encoding="ascii") as file:
        # ASCII: a name is bytes, and some of them are no text.
        file.write(json.dumps(data) + "\n")
        files.give(file.fileno(), owner)


def _load(shelf: int, id_: str) -> Quarantined:
    """Read a record. A repository can bring a forged one, so it may only name our directories."""
    with contextlib.suppress(OSError, CspaceError, *MALFORMED):
        raw = beneath.read_file(Path(f"/proc/self/fd/{shelf}"), PurePosixPath(id_, RECORD))
        data = json.loads(raw)
        path = PurePosixPath(data["path"])
        if _is_ours(path):
            moved = datetime.fromisoformat(data["moved"]).astimezone(UTC)
            return Quarantined(id_, str(path), Kind(data["kind"]), moved)
    return Quarantined(id_, None, None, None)


def _is_ours(path: PurePosixPath) -> bool:
    """Tell whether something can have been at a path; raises ValueError where nothing can."""
    named = b"\0" not in os.fsencode(path) and ".." not in path.parts
    return named and any(one in path.parents for one in SHARED)


def _names(shelf: int) -> list[str]:
    names = os.listdir(shelf)
    return [name for name in names if _ID.fullmatch(name)]


def _holds_item(shelf: int, name: str) -> bool:
    try:
        directory = beneath.open_child(shelf, name)
    except OSError:
        return False
    try:
        return _exists(directory, ITEM)
    finally:
        os.close(directory)


def _exists(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _forget(shelf: int, name: str) -> None:
    """Remove a thing's directory that holds no item."""
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{name}/{RECORD}", dir_fd=shelf)
        os.rmdir(name, dir_fd=shelf)


def _gone(thing: Quarantined) -> str:
    reason = thing.kind.reason if thing.kind else ""
    return (
        f"moved {thing.path!r} aside: it is {reason};"
        f" undo with: cspace quarantine restore {thing.id}"
    )


def _stays(foreign: Foreign, error: OSError) -> str:
    return (
        f"{str(foreign.path)!r} is {foreign.kind.reason}; it could not be moved aside:"
        f" {error.strerror}; remove it by hand"
    )


def _notice(text: str) -> Event:
    return Event("", "quarantine", State.NOTICE, text)
