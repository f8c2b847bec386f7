"""The log of what a person typed in a repository: for debugging, off until somebody asks for it.

A file of their own beside the repository's objects, where git tracks nothing and no clone or push
takes it along.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import MALFORMED, CspaceError
from cspace.files import Owner, give

DIRECTORY = PurePosixPath("cspace")
NAME, SWITCH = "prompts.jsonl", "prompts.on"
# Of debugging nobody reads more, and a file that grows forever would be a surprise.
MOST_BYTES = 8 * 1024 * 1024
_MODE = 0o600
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Prompt:
    """One line of the log.

    Attributes:
        text: None where it was not written.
        withheld: why: what looked like a secret, and where; never the secret.
    """

    time: str
    session: str
    text: str | None
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptLog:
    """The log of a repository.

    Attributes:
        common: its common directory.
    """

    common: Path

    @property
    def path(self) -> Path:
        return self.common / DIRECTORY / NAME

    @property
    def is_on(self) -> bool:
        return stat.S_ISREG(self._mode(SWITCH))

    def switch_on(self, owner: Owner | None) -> None:
        """Have prompts written from now on.

        Raises:
            CspaceError, OSError: something else is in the way.
        """
        beneath.ensure_directory(self.common, DIRECTORY, owner=owner)
        for name in (NAME, SWITCH):
            os.close(self._open(name, os.O_WRONLY | os.O_CREAT, owner))

    def switch_off(self) -> bool:
        """Have no more written; what was written stays. Return whether it was on."""
        if not self.is_on:
            return False
        with beneath.pinned(self.common, DIRECTORY) as directory:
            (directory / SWITCH).unlink()
        return True

    def add(self, text: str, session: str, time: datetime) -> None:
        """Write one prompt, where the log is on; of one with a suspected secret only that.

        Raises:
            CspaceError: the log is full.
            OSError: it can not be written.
        """
        if not self.is_on:
            return
        from cspace.leaks.scan import scan  # noqa: PLC0415  a log that is off scans nothing

        leaks = tuple(map(str, scan(text)))
        said: dict[str, object] = {"withheld": leaks} if leaks else {"prompt": text}
        line = json.dumps({"time": time.isoformat(), "session": session} | said) + "\n"
        descriptor = self._open(NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, None)
        try:
            if os.fstat(descriptor).st_size + len(line) > MOST_BYTES:
                raise CspaceError(f"{self.path} is full", hint=f"rm {self.path}")
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def read(self) -> Iterator[Prompt]:
        """Yield what was written, the oldest first; a line that is none is left out."""
        try:
            content = beneath.read_file(self.common, DIRECTORY / NAME)
        except FileNotFoundError:
            return
        for line in content.decode("utf-8", "replace").splitlines():
            found = _parse(line)
            if found:
                yield found

    def _open(self, name: str, flags: int, owner: Owner | None) -> int:
        with beneath.pinned(self.common, DIRECTORY) as directory:
            is_new = not os.path.lexists(directory / name)
            descriptor = os.open(directory / name, flags | _FLAGS, _MODE)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise CspaceError(f"{self.common / DIRECTORY / name} is not a regular file")
        if is_new:
            give(descriptor, owner)
        else:
            # Whoever widened it did not know what goes in here.
            os.fchmod(descriptor, _MODE)
        return descriptor

    def _mode(self, name: str) -> int:
        try:
            return (self.common / DIRECTORY / name).lstat().st_mode
        except OSError:
            return 0


def _parse(line: str) -> Prompt | None:
    try:
        found = json.loads(line)
        withheld = tuple(map(str, found.get("withheld", ())))
        text = found.get("prompt")
        return Prompt(
            str(found["time"]), str(found["session"]), None if text is None else str(text), withheld
        )
    except (*MALFORMED, AttributeError):
        return None
