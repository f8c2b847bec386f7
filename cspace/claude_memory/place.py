"""Where a memory lies that is read: the project's own, an instance's mount, or a host's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from cspace.paths import INSIDE, MEMORY


class Scope(StrEnum):
    """Whose memory it is."""

    CLAUDE = "claude"


@dataclass(frozen=True, slots=True)
class Place:
    """One memory's directory, which need not exist.

    Attributes:
        root: trusted; below it no link is followed.
        relative: the directory, below root.
        reason: why it is this one.
        off: why Claude Code does not use it at present; empty where it does.
        notes: what else a person should know about the choice.
        writer: starts the Claude Code that writes it.
        host: whether it is the one that commands take with `--host`.
    """

    root: Path
    relative: PurePosixPath
    reason: str
    off: str = ""
    notes: tuple[str, ...] = ()
    writer: str = "claude"
    host: bool = False

    @property
    def directory(self) -> Path:
        return self.root / self.relative

    def command(self, words: str) -> str:
        """Return the command of `cspace memory` that does something with this memory."""
        return f"cspace memory {words} {'--host' if self.host else '--scope claude'}"


def project_place(root: Path) -> Place:
    """Return the memory that all instances of a project share."""
    reason = "the project's, which every instance mounts"
    return Place(root, PurePosixPath(MEMORY), reason, writer="cspace up mercury")


def instance_place() -> Place:
    """Return the same memory as an instance sees it."""
    reason = "the project's, as it is mounted in this instance"
    return Place(Path(INSIDE.memory), PurePosixPath(), reason)
