"""An append-only file with every record that a server acknowledged, outside of any checkout.

One line of JSON a write, with the whole content. Who writes and who takes the lines away agree by a
lock beside it. A line that a kill cut short is passed over.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Protocol

from cspace import beneath, files
from cspace.context.history import Action
from cspace.context.records import Kind
from cspace.docstore import slugs
from cspace.errors import MALFORMED, CspaceError, UsageError, expected
from cspace.files import Owner

NAME, LOCK = "context-journal.jsonl", "context-journal.lock"
LOCK_SECONDS = 10.0
# A document of the largest size as base64, and what else a line says.
MAX_LINE = beneath.MAX_BYTES * 4 // 3 + 64 * 1024
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Event:
    """One write of one record; the content of a removal is what it took away."""

    time: datetime
    action: Action
    kind: Kind
    slug: str
    content: bytes = b""
    author: str = ""


Append = Callable[[Event], None]


class Journal(Protocol):
    """Where a store notes what it wrote."""

    def opened(self) -> AbstractContextManager[Append]:
        """Give what notes an event; raises CspaceError where none could be noted."""


@dataclass(frozen=True, slots=True)
class FileJournal:
    """The journal in a directory, which is made at the first write.

    Attributes:
        owner: who created files belong to, when we are root.
    """

    directory: Path
    holder: str = "cspace"
    owner: Owner | None = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[Append]:
        """Give what appends an event and returns when it is on the disk.

        Raises:
            CspaceError: the journal can not be written; nothing else should be then.
        """
        try:
            files.ensure_directory(self.directory, owner=self.owner, mode=0o700)
            descriptor = self._open()
        except OSError as error:
            raise CspaceError(
                f"the journal {self.directory / NAME} can not be written: {error.strerror}",
                hint=f"nothing was recorded; look at it: ls -l {self.directory}",
            ) from error
        try:
            yield functools.partial(self._note, descriptor)
        finally:
            os.close(descriptor)

    def _note(self, descriptor: int, event: Event) -> None:
        with contextlib.suppress(UsageError):
            # A name that a hand gave, no tool writes to: it is recorded as it is found.
            slugs.check_slug(event.slug)
            self._write(descriptor, event)

    def _write(self, descriptor: int, event: Event) -> None:
        try:
            with self._locked():
                if self._is_current(descriptor):
                    _append(descriptor, dump_event(event))
                else:  # its lines were taken since we opened it
                    self._append_anew(dump_event(event))
        except (OSError, CspaceError) as error:
            # The record stands: that it is not in the journal too must not make it fail.
            print(  # noqa: T201  stdout is the protocol's, stderr the client's log
                f"cspace: {event.kind} {event.slug} is stored, but not in the journal:"
                f" {expected(error)}",
                file=sys.stderr,
                flush=True,
            )

    def _append_anew(self, line: bytes) -> None:
        descriptor = self._open()
        try:
            _append(descriptor, line)
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        try:
            descriptor = beneath.open_file(self.directory, PurePosixPath(NAME), flags=flags)
        except CspaceError as error:
            raise OSError(0, "it is not a regular file") from error
        files.give(descriptor, self.owner)
        return descriptor

    def _locked(self) -> AbstractContextManager[int]:
        return files.lock(
            self.directory / LOCK, timeout=LOCK_SECONDS, holder=self.holder, owner=self.owner
        )

    def _is_current(self, descriptor: int) -> bool:
        try:
            found = (self.directory / NAME).lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(descriptor))

    def take(self, aside: Path, name: str, *, alone: bool = False) -> None:
        """Move what is written so far to `aside/name`, where nobody appends to it any more.

        Args:
            alone: nobody writes, so whatever stands in the lock's place does not matter.

        Raises:
            Conflict: somebody holds the journal.
            CspaceError: it is not a regular file, so nothing in it is a record.
            OSError: it can not be moved.
        """
        place = self.directory / NAME
        try:
            if not _regular_size(place):
                return
            with contextlib.nullcontext() if alone else self._locked():
                if _regular_size(place):
                    place.rename(aside / name)
        except FileNotFoundError:
            return
        files.sync_directory(aside)


def _regular_size(place: Path) -> int:
    found = place.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise CspaceError(
            f"{place} is not a regular file, so no record is read from it",
            hint=f"look at it and move it away: ls -ld {place}",
        )
    return found.st_size


def _append(descriptor: int, line: bytes) -> None:
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        line = b"\n" + line  # a kill cut the last one short
    left = memoryview(line)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def dump_event(event: Event) -> bytes:
    """Write one line, with its end."""
    said = {
        "time": event.time.astimezone(UTC).isoformat(timespec="microseconds"),
        "action": event.action.value,
        "kind": event.kind.value,
        "slug": event.slug,
        "author": event.author,
    }
    if not event.content:
        return json.dumps(said).encode() + b"\n"
    with contextlib.suppress(UnicodeDecodeError):
        text = said | {"content": event.content.decode("utf-8")}
        line = json.dumps(text, ensure_ascii=False).encode() + b"\n"
        if len(line) <= MAX_LINE:
            return line
    return json.dumps(said | {"base64": base64.b64encode(event.content).decode()}).encode() + b"\n"


def parse_event(line: bytes) -> Event | None:
    """Read one line that anybody may have written; None when it is no event of ours."""
    try:
        said = json.loads(line)
        event = Event(
            time=datetime.fromisoformat(said["time"]).astimezone(UTC),
            action=Action(said["action"]),
            kind=Kind(said["kind"]),
            slug=slugs.check_slug(said["slug"]),
            content=_content(said),
            author=str(said.get("author", "")),
        )
    except (*MALFORMED, AttributeError, CspaceError):
        return None
    least = {Action.WRITTEN: 1, Action.REMOVED: 0}.get(event.action)
    told = least is not None and least <= len(event.content) <= beneath.MAX_BYTES
    return event if told else None


def _content(said: dict[str, str]) -> bytes:
    if "base64" in said:
        return base64.b64decode(said["base64"], validate=True)
    return said.get("content", "").encode("utf-8")


def iter_events(path: Path) -> Iterator[Event | None]:
    """Yield the events of a journal that was taken; None for a line that is none.

    However long a line is, no more of it is held than the longest one of ours has.

    Raises:
        OSError: it can not be read, or is a link.
        CspaceError: it is not a regular file.
    """
    descriptor = beneath.open_file(path.parent, PurePosixPath(path.name))
    with os.fdopen(descriptor, "rb", buffering=_CHUNK) as file:
        while line := file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = file.readline(_CHUNK)
                yield None
            elif line.strip():
                yield parse_event(line)
