"""One call's reads of one kind's records: what is remembered is not read again."""

from __future__ import annotations

import contextlib
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Set

from cspace.context import entryfile, remembered
from cspace.context.records import Entry, Info, Kind
from cspace.context.store import ContextStore
from cspace.docstore.opened import SUFFIX, Document, Opened, Skipped, UnreadableDocument, show_path

# One call reads no more of a kind than this: many large files together hurt as much as one. It is
# far more than ten thousand records of some KB, and what was read is remembered for the next call.
MAX_TOTAL_BYTES = 128 * 1024 * 1024
# Read before all larger ones, so that a few giants hide nothing else.
SMALL = 64 * 1024
# A day and what follows it: a dash, or the dot before the suffix.
_START = len("2026-04-14-")


class Reading:
    """Reads through one directory that is held open; what can not be read is noted in skipped."""

    def __init__(self, store: ContextStore, kind: Kind, opened: Opened) -> None:
        self.kind = kind
        self.unread = 0
        self._opened = opened
        self._folder = store.folder(kind)
        self._memory = store.remembered(kind)
        self._left = {"looked at": MAX_TOTAL_BYTES, "shown": MAX_TOTAL_BYTES}
        self._refused: dict[str, str] = {}
        self._names: list[str] | None = None

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What could not be read, and how many files were not, to protect the reader."""
        paths = {stem: show_path(self._folder.path_of(stem)) for stem in sorted(self._refused)}
        found = [
            Skipped(path, self._refused[stem].removeprefix(f"{path}: "))
            for stem, path in paths.items()
        ]
        if self.unread:
            reason = f"{self.unread} not read, after {MAX_TOTAL_BYTES} bytes of others"
            found.append(Skipped(str(self._folder.relative), reason))
        return tuple(found)

    def count_starts(self) -> Counter[str]:
        """Count the records whose names start with the same day, or at least ten characters."""
        if self._names is None:
            self._names = self._opened.list_names()
        # Ten thousand names take as long as their listing did, if more is done with each.
        starts = Counter([name[:_START] for name in self._names if name[-3:] == SUFFIX])
        return Counter({start: starts[start] for start in starts if start[0] != "."})

    def stems_starting(self, starts: Set[str]) -> list[str]:
        """Return the names of the records that `count_starts` counted for these starts."""
        names = self._names or []
        return [name[:-3] for name in names if name[:_START] in starts and name[-3:] == SUFFIX]

    def all_infos(self) -> list[Info]:
        """Return what is known of every record, in no order."""
        found: dict[str, Info] = {}
        changed: dict[str, os.stat_result] = {}
        for stem, status in self._opened.scan():
            info = self._memory.recall(stem, status)
            if info is None:
                changed[stem] = status
            else:
                found[stem] = info
                changed.pop(stem, None)
        missed = self._memory.stems.difference(found, changed)
        there = ((stem, self._opened.status(stem)) for stem in missed)
        changed |= {stem: status for stem, status in there if status is not None}
        self._memory.forget(missed.difference(changed))
        for stem in sorted(changed, key=lambda one: changed[one].st_size > SMALL):
            info = self._learn(stem, changed[stem])
            if info is not None:
                found[stem] = info
        return list(found.values())

    def infos(self, stems: Iterable[str]) -> Iterator[Info]:
        """Give what is known of the records of these names that are there."""
        for stem in stems:
            status = self._opened.status(stem)
            if status is not None:
                info = self._memory.recall(stem, status) or self._learn(stem, status)
                if info is not None:
                    yield info

    def entry(self, stem: str) -> Entry | None:
        """Return one record whole, None when it is gone or can not be read."""
        document = self._read(stem, "shown")
        if document is None:
            return None
        return entryfile.parse_entry(self.kind, stem, self._path(stem), document.content)

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """Give every record's name and bytes; nothing of them is remembered."""
        sizes = {stem: status.st_size for stem, status in self._opened.scan()}
        for stem in sorted(sizes, key=lambda one: sizes[one] > SMALL):
            document = self._read(stem)
            if document is not None:
                yield stem, document.content

    def _learn(self, stem: str, status: os.stat_result) -> Info | None:
        started = remembered.now()
        if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            document = self._read(stem)
        else:
            self._refused[stem], document = "not a regular file", None
        if document is None:
            self._memory.forget([stem])
            return None
        info = entryfile.parse_info(self.kind, stem, self._path(stem), document.content)
        self._memory.keep(stem, document, info, started=started)
        return info

    def _read(self, stem: str, purpose: str = "looked at") -> Document | None:
        if self._left[purpose] <= 0:
            self.unread += 1
            return None
        try:
            document = self._opened.read(stem)
        except FileNotFoundError:
            return None  # removed since the directory was read
        except UnreadableDocument as error:
            self._refused[stem] = str(error)
            return None
        self._left[purpose] -= len(document.content)
        return document

    def _path(self, stem: str) -> str:
        return f"{self._folder.relative}/{stem}.md"


@contextlib.contextmanager
def reading(store: ContextStore, kind: Kind) -> Iterator[Reading]:
    """Open the records of a kind for one call; errors as for `Folder.opened`."""
    with store.folder(kind).opened() as opened:
        yield Reading(store, kind, opened)
