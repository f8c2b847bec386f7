"""Every change of the memory, and every decision about a proposal, as a line of its own."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cspace.docstore.opened import reason
from cspace.errors import CspaceError
from cspace.files import Owner, give

LOG = ".log.jsonl"


@dataclass(frozen=True, slots=True)
class LogLine:
    """What was done to one memory.

    Attributes:
        operation: create, append, overwrite, remove, move; approve, reject; undo, sync.
        before, after: revisions; None where there was no memory, or is none.
        proposal: the id of the one that led to it; empty where none did.
    """

    time: datetime
    operation: str
    scope: str
    slug: str
    by: str
    before: str | None
    after: str | None
    proposal: str = ""

    def dump(self) -> bytes:
        """Write the line, with its end."""
        values = {
            "time": self.time.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "operation": self.operation,
            "scope": self.scope,
            "slug": self.slug,
            "by": self.by,
            "before": self.before,
            "after": self.after,
            "proposal": self.proposal,
        }
        return f"{json.dumps(values)}\n".encode()


@dataclass(frozen=True, slots=True)
class Log:
    """A log that is open for writing: what can not be opened is known before anything is done."""

    path: Path
    descriptor: int

    def append(self, line: LogLine) -> None:
        """Add a line, in one write.

        Raises:
            CspaceError: the disk is full.
        """
        content = line.dump()
        size = os.fstat(self.descriptor).st_size
        if size and os.pread(self.descriptor, 1, size - 1) != b"\n":
            # Somebody was stopped, or the disk was full, in the middle of one.
            content = b"\n" + content
        try:
            whole = os.write(self.descriptor, content) == len(content)
        except OSError as error:
            raise self._not_logged(reason(error)) from error
        if not whole:
            raise self._not_logged(os.strerror(errno.ENOSPC))

    def _not_logged(self, why: str) -> CspaceError:
        return CspaceError(
            f"{self.path}: the change is done, but not logged: {why}",
            hint="free some space: nothing has to be done again",
        )


@contextlib.contextmanager
def open_log(root: Path, owner: Owner | None = None) -> Iterator[Log]:
    """Open the log of a memory's root, and make it where there is none.

    Raises:
        CspaceError: it is a link, no regular file, or not ours to write.
    """
    path = root / LOG
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fresh = not os.path.lexists(path)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise CspaceError(f"{path}: {reason(error)}", hint=f"look at it: ls -ld {path}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CspaceError(
                f"{path} is not a regular file", hint=f"look at it and move it away: ls -ld {path}"
            )
        if fresh:
            give(descriptor, owner)
        yield Log(path, descriptor)
    finally:
        os.close(descriptor)


def append_log(root: Path, line: LogLine, owner: Owner | None = None) -> None:
    """Add a line to the log of a memory's root; errors as for `open_log` and `Log.append`."""
    with open_log(root, owner) as log:
        log.append(line)
