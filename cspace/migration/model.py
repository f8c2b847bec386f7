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
        open: gives the stream from its beginning; a read gives less than it was asked for only at
            the end. Paths in it are relative, with or without `./` before them.
    """

    name: str
    suffix: str
    open: Callable[[], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True, slots=True)
class Target:
    """Where files go.

    Attributes:
        root: nobody else writes to it or above it.
        place: relative to root and not root itself; an agent may write below it, so it is opened
            component by component. What is being copied lies beside it, on its file system.
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
    """One file of the source; an empty directory is none.

    Attributes:
        path: where it belongs, relative to the target's place.
        size: bytes; None where it is not a file.
        digest: SHA-256 of its bytes, in hex; None where it is not a file, or too large to be one.
        lands: where its bytes will be written; None where they will not.
        reason: why it is unsafe, or what happens to a conflict; may be empty.
        origin: the source's own path of the bytes; another file's for a hard link.
        found: where the target holds it, once what lands has landed; None where it will not.
        result: SHA-256 of what is found there; another one than `digest` for a merged index.
        replaces: SHA-256 of our file that stands where it lands; None where nothing does.
        aside: where our file stays that it replaces; None where that has no content of its own.
    """

    path: PurePosixPath
    fate: Fate
    size: int | None
    digest: str | None
    lands: PurePosixPath | None
    reason: str
    origin: PurePosixPath
    found: PurePosixPath | None = None
    result: str | None = None
    replaces: str | None = None
    aside: PurePosixPath | None = None

    @property
    def spot(self) -> PurePosixPath:
        """Where to look for it in the target: what lands does so there."""
        return self.found or self.path


@dataclass(frozen=True, slots=True)
class Plan:
    """What a migration would do.

    Attributes:
        files: by path.
        others: how many files of the source are not wanted in the target, and stay.
    """

    files: tuple[Planned, ...]
    others: int = 0

    @property
    def pending(self) -> tuple[Planned, ...]:
        """What is still to be written."""
        return tuple(one for one in self.files if one.lands is not None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a migration did.

    Attributes:
        written: what was written by this call.
        refused: what was planned and is not written, since the source or the target changed
            meanwhile: `reason` says which. Planned anew it is mended.
        left: every file that the target was not found to hold, and the source still does: conflicts
            that were not taken, unsafe files, refused ones.
        verified: nothing is left: every file that was wanted was read in the target with its hash.
            What was not wanted is `plan.others`.
    """

    plan: Plan
    written: tuple[Planned, ...]
    refused: tuple[Planned, ...]
    left: tuple[Planned, ...]

    @property
    def verified(self) -> bool:
        return not self.left

    @property
    def dispensable(self) -> bool:
        """Nothing is lost with the source: all of it is wanted, and verified."""
        return self.verified and not self.plan.others
