"""Writes a commit from bytes alone: no index, work tree, filter or hook of anybody's takes part.

As in `cspace.git`, nothing here is ever pointed at a workspace.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.errors import CommandFailed
from cspace.git import AS_STORED, environment, git
from cspace.git_pack import NewObject

AUTHOR = "cspace <cspace@localhost>"
# No hook of the repository's runs.
WITHOUT_HOOKS = ("-c", "core.hooksPath=/dev/null")
# git syncs packs and refs by itself, and loose objects only when it is told to.
_CONFIG = (
    *(*WITHOUT_HOOKS, "-c", "core.fsync=committed,loose-object"),
    *("-c", "fastimport.unpackLimit=20"),
)


def blob_id(content: bytes, algorithm: str) -> str:
    """Return what git calls these bytes; algorithm is the repository's, sha1 or sha256."""
    return NewObject("blob", content).id(algorithm)


@dataclass(slots=True)
class Import:
    """A stream for git that grows as blobs are added; nothing is in the repository before `commit`.

    Attributes:
        known: blobs that the repository has for sure.
        env: variables on top of our own.
    """

    repository: Path
    algorithm: str
    stream: IO[bytes]
    known: set[str] = field(default_factory=set)
    env: Mapping[str, str] = field(default_factory=dict)

    def add(self, content: bytes) -> str:
        """Add a blob unless it is known; return its id."""
        one = blob_id(content, self.algorithm)
        if one not in self.known:
            self.known.add(one)
            self.stream.write(b"blob\n")
            self._data(content)
        return one

    def commit(self, ref: str, parent: str | None, new: Commit) -> None:
        """Move ref from parent to a new commit; with the parent's tree as far as it is not changed.

        Raises:
            CommandFailed: the ref is not at parent any more, or git said no.
        """
        said = new.message.encode("utf-8", "replace")
        self.stream.write(f"commit {ref}\n".encode())
        self.stream.write(f"committer {new.author} {int(new.time.timestamp())} +0000\n".encode())
        self._data(said)
        if parent is not None:
            self.stream.write(f"from {parent}\n".encode())
        for other in new.merged:
            self.stream.write(f"merge {other}\n".encode())
        for path in new.removed:
            self.stream.write(b"D %b\n" % _quoted(path))
        for path, one in new.files.items():
            self.stream.write(b"M 100644 %b %b\n" % (one.encode(), _quoted(path)))
        self.stream.write(b"done\n")
        self.stream.flush()
        self.stream.seek(0)
        words = ("fast-import", "--quiet", "--done", "--date-format=raw")
        with proc.talk(
            "git", "-C", self.repository, *_CONFIG, *words, stdin=self.stream,
            env=environment() | AS_STORED | dict(self.env),
        ) as process:  # fmt: skip
            assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
            process.stdout.read()

    def _data(self, content: bytes) -> None:
        self.stream.write(b"data %d\n%b\n" % (len(content), content))


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit changes: paths, with directories, that go; then files that come, by blob.

    Attributes:
        author: `Name <address>`, who also commits.
        merged: further parents.
    """

    message: str
    time: datetime
    removed: Collection[bytes]
    files: Mapping[bytes, str]
    author: str = AUTHOR
    merged: tuple[str, ...] = ()


@contextlib.contextmanager
def new_import(
    repository: Path, algorithm: str, known: Collection[str], env: Mapping[str, str] | None = None
) -> Iterator[Import]:
    """Give an empty import; its stream lies on disk, since it may be larger than memory."""
    with tempfile.TemporaryFile() as stream:
        yield Import(repository, algorithm, stream, set(known), env or {})


def _quoted(path: bytes) -> bytes:
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
    return b'"%b"' % b"".join(bytes([each]) if each in plain else b"\\%03o" % each for each in path)


@dataclass(frozen=True, slots=True)
class Object:
    """What a repository holds under an id."""

    id: str
    kind: str
    content: bytes


class ReaderEnded(CommandFailed):
    """The program that reads objects ended before it had answered."""

    def __init__(self) -> None:
        super().__init__(
            "git cat-file ended before it had answered", hint="try again; if it stays so: git fsck"
        )


@dataclass(slots=True)
class BlobReader:
    """Reads objects one by one, as they are asked for, with one program."""

    _stdin: IO[bytes]
    _stdout: IO[bytes]

    def read(self, name: str) -> bytes | None:
        """Return the bytes that an id or `<commit>:<path>` names, None where there are none."""
        found = self.read_object(name)
        return found.content if found is not None and found.kind == "blob" else None

    def read_object(self, name: str) -> Object | None:
        """Return the object that a revision names, None where there is none; one line.

        Raises:
            ReaderEnded: what it did not answer is not what is not there.
        """
        try:
            self._stdin.write(os.fsencode(name) + b"\n")
            self._stdin.flush()
        except BrokenPipeError as error:
            raise ReaderEnded from error
        return read_answer(self._stdout)


def read_answer(stream: IO[bytes]) -> Object | None:
    """Read one answer of `git cat-file --batch`, None where it says that there is no object.

    Raises:
        ReaderEnded: it has not answered, or not to the end.
    """
    line = stream.readline()
    if not line:
        raise ReaderEnded
    head = line.split()
    if len(head) != 3 or not head[1].isalpha() or not head[2].isdigit():
        return None
    size = int(head[2])
    content = stream.read(size + 1)
    if len(content) <= size:
        raise ReaderEnded
    return Object(head[0].decode("ascii"), head[1].decode("ascii"), content[:size])


@contextlib.contextmanager
def blob_reader(repository: Path, env: Mapping[str, str] | None = None) -> Iterator[BlobReader]:
    """Give a reader of the repository's blobs."""
    words = ("git", "-C", repository, "cat-file", "--batch")
    with proc.talk(*words, env=environment() | AS_STORED | dict(env or {})) as process:
        assert process.stdin is not None  # noqa: S101  a pipe; tells the type checker
        assert process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        yield BlobReader(process.stdin, process.stdout)
        process.stdin.close()


def list_commits(repository: Path, tip: str) -> tuple[str, ...]:
    """Return the commits of a history without merges, oldest first."""
    return tuple(git(repository, "rev-list", "--reverse", tip, env=AS_STORED).text.split())


@dataclass(frozen=True, slots=True)
class Place:
    """Where a repository keeps its own, and what it names objects by."""

    common_directory: Path
    algorithm: str


def find_place(repository: Path) -> Place:
    """Ask git for a repository's common directory and its hash."""
    words = ("--path-format=absolute", "--git-common-dir", "--show-object-format")
    common, algorithm = git(repository, "rev-parse", *words).text.rsplit("\n", 1)
    return Place(Path(common), algorithm)
