"""What was parsed of files, for as long as they stay as they are.

A file is known by its device, inode, size, mtime and ctime. An edit of the same size within one
tick of the clock that stamps files would leave all of them as they were, so what was read of a file
that had just changed is not kept: it is read again until the change is older than any such tick.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from typing import NamedTuple

from cspace.context.records import Info
from cspace.docstore.opened import Document, Stamp, stamp_of

# Seconds. Linux stamps files with a clock of 1 to 10 ms; the coarsest stamps of a file system that
# a project may lie on are 2 s. Reading again what changed 2 s ago costs next to nothing.
SETTLING = 2.0
# Bytes, about: a kind's share of the memory, for some 40,000 records, and one record's.
MAX_REMEMBERED = 32 * 1024 * 1024
MAX_RECORD = 16 * 1024
_OBJECTS = 700


class _Known(NamedTuple):
    stamp: Stamp
    info: Info
    weight: int


class Remembered:
    """What is known of the files of one directory; threads may share it."""

    def __init__(self, settling: float = SETTLING) -> None:
        self._settling = int(settling * 1e9)
        self._known: dict[str, _Known] = {}
        self._weight = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def stems(self) -> frozenset[str]:
        """The names of the files that something is known of."""
        with self._lock:
            return frozenset(self._known)

    def recall(self, stem: str, status: os.stat_result) -> Info | None:
        """Return what is known of a file that has this status now."""
        known = self._known.get(stem)
        return known.info if known is not None and known.stamp == stamp_of(status) else None

    def keep(self, stem: str, document: Document, info: Info, *, started: int) -> None:
        """Remember what was parsed of a document, unless the file could change unnoticed.

        Args:
            started: `time.time_ns()` from before the file was opened.
        """
        settled = document.status.st_ctime_ns + self._settling < started
        known = _Known(stamp_of(document.status), info, _weigh(info))
        with self._lock:
            self._drop(stem)
            fits = known.weight <= MAX_RECORD and self._weight + known.weight <= MAX_REMEMBERED
            if document.steady and settled and fits:
                self._known[stem] = known
                self._weight += known.weight

    def forget(self, stems: Collection[str]) -> None:
        """Drop what is known of files that are gone."""
        with self._lock:
            for stem in stems:
                self._drop(stem)

    def _drop(self, stem: str) -> None:
        known = self._known.pop(stem, None)
        self._weight -= known.weight if known is not None else 0


def now() -> int:
    """Return the time that `keep` compares with a file's ctime."""
    return time.time_ns()


def _weigh(info: Info) -> int:
    listed = (*info.tags, *info.related)
    text = "".join((info.slug, info.path, info.title, info.author, info.status, *listed))
    # A character takes up to four bytes, a text that lies in a tuple some fifty more.
    return _OBJECTS + 50 * len(listed) + len(text) * (1 if text.isascii() else 4)
