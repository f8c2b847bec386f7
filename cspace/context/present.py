"""What the context holds on the disk at this moment, as git would name each content.

A file that did not change since it was last read is not read again: it is known by its stamp, and
one that changed just before we looked is not trusted the next time.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.context.history import path_of
from cspace.context.records import HUMAN, ROOT, Kind
from cspace.context.remembered import SETTLING
from cspace.docstore.folder import Folder
from cspace.docstore.opened import Stamp, stamp_of
from cspace.errors import MALFORMED, CspaceError

_UNKNOWN = Stamp(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Known:
    """What was seen when somebody last looked: a stamp and a revision for each entry.

    Attributes:
        tip: the recording whose state this is; empty for none.
        directories: the inode of each directory of records, 0 for one that was gone.
    """

    tip: str = ""
    entries: Mapping[str, tuple[Stamp, str]] = field(default_factory=dict)
    directories: Mapping[str, int] = field(default_factory=dict)


def state_of(seen: Mapping[str, tuple[Stamp, str]]) -> dict[str, str]:
    """Return the revision of each entry that was seen."""
    return {entry: revision for entry, (_, revision) in seen.items()}


def observe(
    root: Path, known: Known, before: Mapping[str, str], add: Callable[[bytes], str]
) -> dict[str, tuple[Stamp, str]]:
    """Look at every entry; add is given each content that has to be read and returns its revision.

    What is there and can not be read stays as it was before. No link is followed.

    Raises:
        CspaceError, OSError: a directory can not be read, so nothing is known.
    """
    started = time.time_ns()
    # What is known by its stamp only is not added: the repository must have it for sure.
    stored = set(before.values())
    found: dict[str, tuple[Stamp, str]] = {}
    for entry, directory, status in _iter_files(root):
        stamp = stamp_of(status)
        then, revision = known.entries.get(entry, (_UNKNOWN, ""))
        if then != stamp or revision not in stored:
            try:
                revision = add(beneath.read_file(directory, PurePosixPath(path_of(entry).name)))
            except FileNotFoundError:
                continue
            except (OSError, CspaceError):
                revision = before.get(entry, "")
        if started - max(stamp.mtime, stamp.ctime) < SETTLING * 1e9:
            stamp = _UNKNOWN
        if revision:
            found[entry] = (stamp, revision)
    return found


def find_directories(root: Path) -> dict[str, int]:
    """Return the inode of each directory of records that there is."""
    found = {}
    for kind in Kind:
        with (
            contextlib.suppress(OSError),
            beneath.pinned(root, ROOT / kind.plural) as directory,
        ):
            found[kind.plural] = directory.stat().st_ino
    return found


def read_entry(root: Path, entry: str) -> bytes | None:
    """Return an entry's bytes, None when it is not there; OSError or CspaceError as for reading."""
    try:
        return beneath.read_file(root, path_of(entry))
    except FileNotFoundError:
        return None


def _iter_files(root: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Yield each entry, the very directory that it was found in, and its status."""
    for prefix in ("", *(f"{kind.plural}/" for kind in Kind)):
        with Folder(root, ROOT / prefix).opened() as opened:
            directory = Path(f"/proc/self/fd/{opened.descriptor}")
            for stem, status in opened.scan():
                if stat.S_ISREG(status.st_mode) and (prefix or stem in HUMAN):
                    yield f"{prefix}{stem}", directory, status


def load_known(path: Path) -> Known:
    """Read what was saved; nothing is known where that can not be read."""
    try:
        data = json.loads(path.read_bytes())
        rows = ((entry, (Stamp(*stamp), revision)) for entry, stamp, revision in data["entries"])
        return Known(str(data["tip"]), dict(rows), dict(data["directories"]))
    except (*MALFORMED, OSError):
        return Known()


def save_known(path: Path, known: Known) -> None:
    """Save what was seen, for the next time."""
    rows = [(entry, stamp, revision) for entry, (stamp, revision) in known.entries.items()]
    said = {"tip": known.tip, "entries": rows, "directories": dict(known.directories)}
    files.write_atomic(path, json.dumps(said), mode=0o600)
