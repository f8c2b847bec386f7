"""The file of Claude Code's own settings of a user: read, and replaced whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cspace.beneath import read_limited
from cspace.errors import Conflict, CspaceError, UsageError
from cspace.files import Owner, ensure_directory, write_atomic
from cspace.project import refuse_instance

NAME = "settings.json"
# It may hold keys in `env`.
NEW_MODE = 0o600


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """Settings as they were read.

    Attributes:
        path: where Claude Code looks.
        target: what is read and written: path, or the file that it links to.
        content: None where there is no file.
        owner: of the file that is there.
    """

    path: Path
    target: Path
    content: bytes | None
    mode: int = NEW_MODE
    owner: Owner | None = None

    @property
    def text(self) -> str:
        """Return the text.

        Raises:
            CspaceError: it is not UTF-8.
        """
        try:
            return (self.content or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise CspaceError(
                f"{self.path} is not UTF-8 at byte {error.start}",
                hint="convert it: iconv -t UTF-8",
            ) from None

    def write(self, text: str, owner: Owner | None) -> None:
        """Replace the file; a link to it stays one, and so do its mode and its owner.

        Args:
            owner: of a new one.

        Raises:
            Conflict: it was changed since it was read.
            OSError: nothing was changed.
        """
        if _read(self.target).content != self.content:
            raise Conflict(f"{self.path} was changed meanwhile", hint="the same command again")
        ensure_directory(self.target.parent, owner=owner, mode=0o700)
        write_atomic(self.target, text, mode=self.mode, owner=self.owner or owner)


def find_settings(home: Path, environ: Mapping[str, str]) -> Path:
    """Return where Claude Code reads a user's settings."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(named).absolute() if named else home / ".claude") / NAME


def load_settings(path: Path, user: Path) -> SettingsFile:
    """Read settings. A link is followed: people keep such files elsewhere, and link them.

    Args:
        user: `~/.cspace`.

    Raises:
        CspaceError: it is no regular file, a link that leads nowhere, or somebody else's.
        UsageError: it lies in what an instance can write.
    """
    target = Path(os.path.realpath(path))
    try:
        refuse_instance(target.parent, user)
    except UsageError:
        raise UsageError(
            f"{path} leads to {target}, which an agent can write",
            hint=f"make it a file of your own: ls -l {path}",
        ) from None
    found = _read(target)
    if found.content is None and path.is_symlink():
        raise CspaceError(
            f"{path} is a link to {target}, and there is nothing",
            hint=f"make the file or remove the link: ls -l {path}",
        )
    return replace(found, path=path)


def _read(target: Path) -> SettingsFile:
    try:
        # O_NONBLOCK: a FIFO that nobody writes to must not hang.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(target, flags)
    except FileNotFoundError:
        return SettingsFile(target, target, None)
    found = os.fstat(descriptor)
    mine = found.st_uid == os.geteuid() or os.geteuid() == 0
    if not stat.S_ISREG(found.st_mode) or not mine:
        os.close(descriptor)
        raise CspaceError(
            f"{target} is not a regular file of yours", hint=f"look at it: ls -l {target}"
        )
    mode, owner = stat.S_IMODE(found.st_mode), Owner(found.st_uid, found.st_gid)
    return SettingsFile(target, target, read_limited(descriptor, str(target)), mode, owner)
