"""What a migration plans for each file, and what became of it.

Paths are relative to the target and a stranger's: bytes that are no UTF-8 stand in them as lone
surrogates, and they are shown escaped.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from cspace.files import Owner


class Fate(StrEnum):
    """How a file of the source stands to the target."""

    NEW = "new"
    SAME = "same"
    CONFLICT = "conflict"
    UNSAFE = "unsafe"


class Choice(StrEnum):
    """What happens to a file that both sides have, with other bytes."""

    OURS = "ours"
    THEIRS = "theirs"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Source:
    """Where files come from: a tar stream that can be opened again and again.

    Attributes:
        name: for messages, for example "volume cspace-shop-memory".
        suffix: marks the source's version of a file when both are kept: `role.<suffix>.md`.
        open: gives the stream from its beginning.
    """

    name: str
    suffix: str
    open: Callable[[], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True, slots=True)
class Target:
    """Where files go.

    Attributes:
        root: nobody else writes to it or above it.
        place: relative to root; an agent may write below it, so it is opened component by
            component.
        owner: who the files belong to.
        wanted: returns the path below place for a path of the source; None for what stays there.
    """

    root: Path
    place: PurePosixPath
    owner: Owner
    wanted: Callable[[PurePosixPath], PurePosixPath | None]


@dataclass(frozen=True, slots=True)
class Policy:
    """How conflicts are settled; `merge_index` is for MEMORY.md alone, and goes before choice."""

    choice: Choice = Choice.OURS
    merge_index: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """One file of the source.

    Attributes:
        path: where it belongs, relative to the target's place.
        size: bytes; None where it is not a file.
        digest: SHA-256 of its bytes, in hex; None where it is not a file.
        lands: where its bytes will be written; None where they will not.
        reason: why it is unsafe, or what happens to a conflict; may be empty.
    """

    path: PurePosixPath
    fate: Fate
    size: int | None
    digest: str | None
    lands: PurePosixPath | None
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a migration would do, by path."""

    files: tuple[Planned, ...]

    @property
    def pending(self) -> tuple[Planned, ...]:
        """What is still to be written."""
        return tuple(one for one in self.files if one.lands is not None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a migration did.

    Attributes:
        written: what was written by this call.
        left: what the source still holds alone: conflicts that were not taken, and unsafe files
            with content.
        verified: every file of the source was found in the target with the same hash, so that the
            source is not needed any more.
    """

    plan: Plan
    written: tuple[Planned, ...]
    left: tuple[Planned, ...]
    verified: bool
