"""Makes a tree of a workspace's files as they are. Runs in a container, never on the host.

The workspace is only read, also while an agent writes there: the index is a copy, and a file that
changes under the reader is read again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from cspace import proc
from cspace.errors import CommandFailed
from cspace.instance.snapshot_git import Scratch, is_sparse
from cspace.instance.snapshot_manifest import LeftOut
from cspace.instance.snapshot_repository import read_exclude
from cspace.instance.snapshot_walk import SHARED, join

LARGEST_FILE = 32 << 20
LARGEST_TOTAL = 256 << 20
# Far above what anybody commits while an agent works, and below what fills a disk.
LARGEST_PACK = 2 << 30
PASSES = 5
# Each takes milliseconds; a file that an agent writes without pause spoils every other one.
LOOKS = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of uncommitted work that come along: of one file, of all together; of a pack."""

    each: int = LARGEST_FILE
    total: int = LARGEST_TOTAL
    pack: int = LARGEST_PACK


@dataclass(frozen=True, slots=True)
class Taken:
    """A tree, what it lacks, and whether files changed all the time."""

    tree: str
    left_out: tuple[LeftOut, ...]
    moving: bool


def take_tree(scratch: Scratch, workspace: Path, head: str | None, limits: Limits) -> Taken:
    """Store the work tree's files, committed or not, but for what git ignores and what is shared.

    Of the index only its names count: marks and times in it, which could hide a change, are an
    agent's to set.

    Raises:
        CommandFailed: git can not read something; the message says what.
        OSError: a file of the git directory vanished.
    """
    index = scratch.directory / "index"
    exclude = read_exclude(join(workspace, b".git"))
    (scratch.directory / "info/exclude").write_bytes(exclude)
    skipped = _make_index(scratch, workspace, head, index)
    return _Taking(scratch, workspace, index, limits).run(skipped)


def _make_index(scratch: Scratch, workspace: Path, head: str | None, index: Path) -> list[bytes]:
    """Make an index that knows nothing of any file; return what a sparse checkout leaves out."""
    theirs = scratch.directory / "theirs"
    if not _copy_index(workspace / ".git", theirs):
        scratch.run("read-tree", head or "--empty", env={"GIT_INDEX_FILE": str(index)})
        return []
    words = ("ls-files", "-t", "-z", "--stage")
    said = scratch.run(*words, env={"GIT_INDEX_FILE": str(theirs / "index")}).stdout
    rows = [row[2:] for row in said.split(b"\0") if row]
    scratch.run(
        "update-index", "-z", "--index-info", env={"GIT_INDEX_FILE": str(index)},
        stdin=b"".join(row + b"\0" for row in rows),
    )  # fmt: skip
    marked = (row.partition(b"\t")[2] for row in said.split(b"\0") if row.startswith(b"S "))
    return [name for name in marked if not os.path.lexists(join(workspace, name))]


def _copy_index(git_directory: Path, target: Path) -> bool:
    source = git_directory / "index"
    found = source.lstat() if source.exists() else None
    if found is None or not stat.S_ISREG(found.st_mode) or is_sparse(source.read_bytes()):
        return False
    target.mkdir()
    for path in (source, *git_directory.glob("sharedindex.*")):
        shutil.copyfile(path, target / path.name, follow_symlinks=False)
    return True


class _Taking:
    """Brings an index of ours up to what lies in the work tree, in passes."""

    def __init__(self, scratch: Scratch, workspace: Path, index: Path, limits: Limits) -> None:
        self.scratch, self.workspace, self.limits = scratch, workspace, limits
        self.env = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(workspace)}
        self.left_out: dict[bytes, LeftOut] = {}
        self.room = limits.total

    def run(self, skipped: list[bytes]) -> Taken:
        """Look and add until nothing is left to add, or nothing that can be.

        Args:
            skipped: what is not there, and not deleted either.
        """
        marked = b"".join(name + b"\0" for name in skipped)
        self._git("update-index", "-z", "--skip-worktree", "--stdin", stdin=marked)
        # Each file is read once, and then git knows it by its time. One that can not be read now
        # is none that is known.
        with contextlib.suppress(CommandFailed):
            self._git("update-index", "-q", "--unmerged", "--refresh")
        stuck: set[bytes] = set()
        for _ in range(PASSES):
            changed = self._changed()
            if stuck == set(changed):
                break
            stuck = self._add(changed)
        else:
            changed = [name for name in self._changed() if name not in stuck]
            return Taken(self._write(), self._lacking(stuck), moving=bool(changed))
        return Taken(self._write(), self._lacking(stuck), moving=False)

    def _git(self, *words: str, stdin: bytes = b"") -> proc.Result:
        # A file that shrinks while it is mapped into memory ends git, so larger ones are streamed.
        top = ("-C", str(self.workspace), "-c", "core.bare=false")
        streamed = ("-c", "core.bigFileThreshold=32k")
        return self.scratch.run(*top, *streamed, *words, stdin=stdin, env=self.env)

    def _write(self) -> str:
        return self._git("write-tree").text

    def _lacking(self, stuck: set[bytes]) -> tuple[LeftOut, ...]:
        reason = "git can not read it, or it changes all the time"
        lacking = self.left_out | {name: LeftOut(name, 0, reason) for name in stuck}
        return tuple(lacking[path] for path in sorted(lacking))

    def _changed(self) -> list[bytes]:
        """List what differs from the index, without what stays out."""
        names = set(filter(None, self._list().split(b"\0")))
        sizes = {name: self._size(name) for name in names if not _is_shared(name)}
        links = {name for name in sizes if os.path.islink(join(self.workspace, name))}  # noqa: PTH114
        fit = []
        for name in sorted(sizes, key=lambda one: (sizes[one], one)):
            beyond = any(parent in links for parent in _parents(name))
            if not beyond and self._fits(name, sizes[name]):
                fit.append(name)
        return fit

    def _list(self) -> bytes:
        """Have git look; a file that shrinks while git reads it ends that, so it looks again."""
        words = ("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
        for _ in range(LOOKS - 1):
            with contextlib.suppress(CommandFailed):
                return self._git(*words).stdout
        return self._git(*words).stdout

    def _size(self, name: bytes) -> int:
        try:
            found = os.lstat(join(self.workspace, name))
        except OSError:
            return 0  # deleted
        return found.st_size if stat.S_ISREG(found.st_mode) else 0

    def _fits(self, name: bytes, size: int) -> bool:
        reason = self._why_not(name, size)
        if reason:
            self.left_out[name] = LeftOut(name, size, reason)
        else:
            self.room -= size
        return reason is None

    def _why_not(self, name: bytes, size: int) -> str | None:
        path = join(self.workspace, name)
        if name.endswith(b"/"):
            return "a repository of its own"
        if size > self.limits.each:
            return f"above {self.limits.each} bytes"
        if size > self.room:
            return f"uncommitted files are above {self.limits.total} bytes together"
        if os.path.isfile(path) and not os.access(path, os.R_OK):  # noqa: PTH113  names are bytes
            return "it can not be read"
        return None

    def _add(self, names: list[bytes]) -> set[bytes]:
        """Add files to the index; return those that git can not read at this moment."""
        words = ("update-index", "-z", "--add", "--remove")
        try:
            asked = b"".join(name + b"\0" for name in names)
            self._git(*words, "--replace", "--stdin", stdin=asked)
        except CommandFailed:
            if len(names) == 1:
                return set(names)
            middle = len(names) // 2
            return self._add(names[:middle]) | self._add(names[middle:])
        return set()


def _is_shared(name: bytes) -> bool:
    return any(name == shared or name.startswith(shared + b"/") for shared in SHARED)


def _parents(name: bytes) -> list[bytes]:
    parts = name.rstrip(b"/").split(b"/")
    return [b"/".join(parts[:length]) for length in range(1, len(parts))]
