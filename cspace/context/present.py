"""What the context holds on the disk at this moment, as git would name each content.

A file that did not change since it was last read is not read again: it is known by inode, size and
both times, and one that changed just before we looked is not trusted the next time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cspace import beneath, files
from cspace.context.history import MALFORMED
from cspace.context.records import HUMAN, ROOT, Kind
from cspace.docstore.opened import SUFFIX
from cspace.errors import CspaceError

# Coarser than any file system's clock.
_RACY_NS = 2_000_000_000

Stamp = tuple[int, int, int, int]


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

    @property
    def state(self) -> dict[str, str]:
        """The revision of each entry."""
        return {entry: revision for entry, (_, revision) in self.entries.items()}


def observe(
    root: Path, known: Known, before: Mapping[str, str], add: Callable[[bytes], str]
) -> dict[str, tuple[Stamp, str]]:
    """Look at every entry; add is given each content that has to be read and returns its revision.

    What is there and can not be read stays as it was before. No link is followed.

    Raises:
        OSError, CspaceError: a directory can not be read, so nothing is known.
    """
    started = time.time_ns()
    # What is known by its stamp only is not added: the repository must have it for sure.
    stored = set(before.values())
    found: dict[str, tuple[Stamp, str]] = {}
    for entry, directory, status in _iter_files(root):
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        then, revision = known.entries.get(entry, ((0, 0, 0, 0), ""))
        if then != stamp or revision not in stored:
            try:
                revision = add(_read(directory, f"{entry.rpartition('/')[2]}{SUFFIX}"))
            except FileNotFoundError:
                continue
            except (OSError, CspaceError):
                revision = before.get(entry, "")
        if started - max(stamp[2], stamp[3]) < _RACY_NS:
            stamp = (0, 0, 0, 0)
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
    folder, _, stem = entry.rpartition("/")
    try:
        with beneath.pinned(root, ROOT / folder) as directory:
            return _read(directory, f"{stem}{SUFFIX}")
    except FileNotFoundError:
        return None


def _iter_files(root: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    for folder in ("", *(kind.plural for kind in Kind)):
        try:
            with beneath.pinned(root, ROOT / folder) as directory:
                for name, status in _list(directory):
                    stem = name.removesuffix(SUFFIX)
                    if folder or stem in HUMAN:
                        yield (f"{folder}/{stem}" if folder else stem), directory, status
        except FileNotFoundError:
            continue
        except NotADirectoryError as error:
            place = (root / ROOT / folder).as_posix()
            raise CspaceError(
                f"{place}: a link or another file stands where a directory is expected",
                hint=f"look at it and move it away: ls -ld {shlex.quote(place)}",
            ) from error


def _list(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX) and not entry.name.startswith("."):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield entry.name, status


def _read(directory: Path, name: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(directory / name, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CspaceError(f"{name} is not a regular file")
    return beneath.read_limited(descriptor, name)


def load_known(path: Path) -> Known:
    """Read what was saved; nothing is known where that can not be read."""
    try:
        data = json.loads(path.read_bytes())
        rows = ((entry, (tuple(stamp), revision)) for entry, stamp, revision in data["entries"])
        return Known(str(data["tip"]), dict(rows), dict(data["directories"]))
    except (*MALFORMED, OSError):
        return Known()


def save_known(path: Path, known: Known) -> None:
    """Save what was seen, for the next time."""
    rows = [(entry, stamp, revision) for entry, (stamp, revision) in known.entries.items()]
    said = {"tip": known.tip, "entries": rows, "directories": dict(known.directories)}
    files.write_atomic(path, json.dumps(said), mode=0o600)
