"""Who may write notes at a time, and what happens when somebody else wrote first."""

from __future__ import annotations

import contextlib
import os
import random
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cspace import files, proc
from cspace.errors import CspaceError
from cspace.files import Owner
from cspace.git_import import Place
from cspace.git_notes import RefMoved

LOCK = "notes.lock"
LOCK_SECONDS = 60.0
# Others who write notes, git itself among them, do not share our lock: they are asked again.
ATTEMPTS = 40
_PAUSE_SECONDS = 0.01


def directory_of(place: Place) -> Path:
    """Return where a repository keeps what is cspace's and no object."""
    return place.common_directory / "cspace"


def ensure_place(place: Place, owner: Owner | None = None) -> Path:
    """Create the directory of `directory_of`, for all who may write the repository.

    Raises:
        OSError: it can not be created.
    """
    directory = directory_of(place)
    shared = place.common_directory.stat().st_mode & (stat.S_IWGRP | stat.S_ISGID)
    mode = 0o770 | shared if shared & stat.S_IWGRP else 0o700
    files.ensure_directory(directory, owner=owner, mode=mode)
    found = directory.stat()
    if found.st_uid == os.geteuid() and mode & ~found.st_mode:
        directory.chmod(mode)
    return directory


@contextlib.contextmanager
def exclusive(place: Place, by: str, owner: Owner | None = None) -> Iterator[None]:
    """Hold the notes of a repository against every other cspace on this machine.

    Who may not open the lock goes on without it: no writer is lost by that, it only waits less.

    Raises:
        Conflict: somebody held them for the whole time.
        CspaceError: the repository can not be written.
    """
    with contextlib.ExitStack() as stack:
        try:
            lock = ensure_place(place, owner) / LOCK
            held = files.lock(lock, timeout=LOCK_SECONDS, holder=by, owner=owner, name="notes")
            stack.enter_context(proc.holding(stack.enter_context(held)))
        except PermissionError:
            pass
        except OSError as error:
            raise CspaceError(
                f"{place.common_directory} can not be written: {error.strerror}",
                hint="work in a clone that you may write",
            ) from error
        yield


def until_done(change: Callable[[], object]) -> None:
    """Change notes; where somebody moves the ref meanwhile, see what is there now and try again.

    Raises:
        RefMoved: somebody did, every time.
    """
    for attempt in range(ATTEMPTS):
        try:
            change()
        except RefMoved:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311  no secret
        else:
            return
