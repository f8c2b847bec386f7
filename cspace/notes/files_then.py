"""The files that a memory's commit changed, as they were then."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MAX_FILES = 20
MAX_FILE_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class FileThen:
    """A file that a commit changed.

    Attributes:
        path: as git has it; bytes that are no UTF-8 are surrogates.
        text: its content after the commit; None where `note` says why not.
        note: removed, binary, a link, too large, …; empty for a text.
    """

    path: str
    text: str | None
    note: str


@dataclass(frozen=True, slots=True)
class FilesThen:
    """What a commit changed, as far as it is shown.

    Attributes:
        left_out: how many more files it changed.
    """

    files: tuple[FileThen, ...]
    left_out: int


def files_then(repository: Path, commit: str) -> FilesThen:
    """Return the files that a commit changed against its first parent, capped.

    Raises:
        NotFound: the commit is not there.
    """
    raise NotImplementedError
