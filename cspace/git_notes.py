"""Commit notes as git keeps them: one blob for each annotated object, below any fan-out.

As in `cspace.git`, nothing here is ever pointed at a workspace.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cspace import proc
from cspace.errors import CommandFailed, Conflict
from cspace.git import AS_STORED, environment, git, list_refs
from cspace.git_import import AUTHOR, WRITING, BlobReader, blob_reader, read_answer

# A directory with more notes gets directories for the notes to come, as git itself makes them.
MOST_IN_DIRECTORY = 256
_CHUNK = 1000
_MESSAGE = b"Notes added by 'cspace notes'"
_HEX = frozenset("0123456789abcdef")


def list_notes(repository: Path, tip: str) -> dict[str, str]:
    """Return the blob of each annotated object, whatever the fan-out.

    What is no note in the tree is left out.

    Args:
        tip: a notes commit, or a ref to one.

    Raises:
        CommandFailed: there is no such commit.
    """
    said = git(repository, "ls-tree", "-r", "-z", "--full-tree", tip, env=AS_STORED).stdout
    found = {}
    for line in said.decode("utf-8", "replace").split("\0"):
        known, _, path = line.partition("\t")
        mode, _, rest = known.partition(" ")
        kind, _, blob = rest.partition(" ")
        if kind == "blob" and mode != "120000" and _is_object(name := path.replace("/", ""), blob):
            found[name] = blob
    return found


def changed_notes(repository: Path, old: str, new: str) -> dict[str, str | None]:
    """Return the objects whose notes differ between two notes commits, with their new blob.

    None stands for a note that is gone. A change of the fan-out alone is no difference.
    """
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
    parts = git(repository, *words, env=AS_STORED).stdout.decode("utf-8", "replace").split("\0")
    gone, come = dict[str, str](), dict[str, str]()
    for known, path in zip(parts[:-1:2], parts[1::2], strict=True):
        _, _, before, after, _ = known.split(" ")
        name = path.replace("/", "")
        if _is_object(name, after):
            if set(before) != {"0"}:
                gone[name] = before
            if set(after) != {"0"}:
                come[name] = after
    changed = {name: come.get(name) for name in gone | come}
    return {name: blob for name, blob in changed.items() if blob != gone.get(name)}


def _is_object(name: str, like: str) -> bool:
    return len(name) == len(like) and _HEX.issuperset(name)


def read_notes(repository: Path, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each blob's id and bytes, in the order asked; one that is missing is left out."""
    asked = iter(blobs)
    words = ("cat-file", "--batch", "--buffer")
    while chunk := list(itertools.islice(asked, _CHUNK)):
        said = git(repository, *words, stdin="\n".join([*chunk, ""]).encode(), env=AS_STORED)
        stream = io.BytesIO(said.stdout)
        for _ in chunk:
            found = read_answer(stream)
            if found is not None and found.kind == "blob":
                yield found.id, found.content


@dataclass(slots=True)
class _Directory:
    """A directory of a notes tree: notes and directories by their names, these read on demand."""

    notes: dict[str, str] = field(default_factory=dict)
    directories: dict[str, _Directory | str] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        return bool(self.directories) or len(self.notes) >= MOST_IN_DIRECTORY


@dataclass(slots=True)
class NotesTree:
    """The notes of one commit, read as far as somebody asks for them.

    Attributes:
        tip: the commit, None where there is none yet.
        reader: of the repository's other objects.
    """

    tip: str | None
    reader: BlobReader
    _root: _Directory

    def read(self, name: str) -> bytes | None:
        """Return the note of an object, None where it has none."""
        way, directory = self._find(name)
        blob = directory.notes.get("".join(way[-1:]))
        return self.reader.read(blob) if blob else None

    def put(self, name: str) -> str:
        """Return the path at which a note of an object stands, or shall stand."""
        way, directory = self._find(name)
        rest = way.pop()
        if rest not in directory.notes:
            while directory.is_full and len(rest) > 2:
                directory.directories[rest[:2]] = directory = _Directory()
                way, rest = [*way, rest[:2]], rest[2:]
            directory.notes[rest] = ""
        return "/".join((*way, rest))

    def _find(self, name: str) -> tuple[list[str], _Directory]:
        """Return the path of a name as far as directories lead, and the last of these."""
        way, directory = list[str](), self._root
        while name not in directory.notes and name[:2] in directory.directories:
            directory = self._open(directory, name[:2])
            way, name = [*way, name[:2]], name[2:]
        return [*way, name], directory

    def _open(self, above: _Directory, name: str) -> _Directory:
        found = above.directories[name]
        if isinstance(found, str):
            found = above.directories[name] = _load(self.reader, found)
        return found


def open_notes(reader: BlobReader, ref: str) -> NotesTree:
    """Open the notes that a ref is at; where there is no such ref there are none.

    Raises:
        CommandFailed: it is at no commit.
    """
    found = reader.read_object(ref)
    tip = found.id if found else None
    return NotesTree(tip, reader, _load(reader, f"{tip}^{{tree}}") if tip else _Directory())


def _load(reader: BlobReader, name: str) -> _Directory:
    found = reader.read_object(name)
    if found is None or found.kind != "tree":
        raise CommandFailed(f"git has no tree {name}", hint="look at it: git fsck")
    directory, at, width = _Directory(), 0, len(found.id) // 2
    while at < len(found.content):
        end = found.content.index(b"\0", at)
        mode, _, raw = found.content[at:end].partition(b" ")
        at = end + 1 + width
        one, path = found.content[end + 1 : at].hex(), raw.decode("utf-8", "replace")
        if mode != b"40000":
            directory.notes[path] = one
        elif len(path) == 2 and _HEX.issuperset(path):
            directory.directories[path] = one
    return directory


@dataclass(slots=True)
class NotesWriter:
    """Writes at most one commit, with a program that started while we still read."""

    _process: subprocess.Popen[bytes]

    def commit(
        self, ref: str, expected: str | None, paths: Mapping[str, bytes | None], at: datetime
    ) -> str | None:
        """Move a ref from expected to a new commit with these paths changed.

        Returns:
            The commit; whether the ref is there is known when the block ends.
        """
        assert self._process.stdin is not None  # noqa: S101  a pipe; tells the type checker
        assert self._process.stdout is not None  # noqa: S101  a pipe; tells the type checker
        stream = self._process.stdin
        stream.write(f"commit {ref}\nmark :1\n".encode())
        stream.write(f"committer {AUTHOR} {int(at.timestamp())} +0000\n".encode())
        stream.write(b"data %d\n%b\n" % (len(_MESSAGE), _MESSAGE))
        stream.write(f"from {expected}\n".encode() if expected else b"")
        for path, content in paths.items():
            if content is None:
                stream.write(f"D {path}\n".encode())
            else:
                stream.write(f"M 100644 inline {path}\n".encode())
                stream.write(b"data %d\n%b\n" % (len(content), content))
        stream.write(b"\nget-mark :1\n")
        stream.flush()
        return self._process.stdout.readline().decode("ascii").strip() or None


@contextlib.contextmanager
def notes_writer(repository: Path) -> Iterator[NotesWriter]:
    """Give a writer; a block that commits nothing changes nothing.

    Raises:
        CommandFailed: git said no, also where the ref was not at what was expected of it.
    """
    words = ("git", "-C", repository, *WRITING, "fast-import", "--quiet", "--done")
    with proc.talk(*words, "--date-format=raw", env=environment() | AS_STORED) as process:
        yield NotesWriter(process)
        if process.stdin is not None:
            process.stdin.write(b"done\n")
            process.stdin.close()


class RefMoved(Conflict):
    """A notes ref is not at what was expected of it; nothing was changed."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"{ref} was moved by somebody else", hint="try again")


def write_notes(
    repository: Path,
    ref: str,
    expected: str | None,
    changes: Mapping[str, bytes | None],
    at: datetime,
) -> str | None:
    """Move a notes ref from expected to a new commit with some notes changed, and return that.

    Without changes it stays where it is.

    Args:
        expected: the commit that the ref is at; None where there is no such ref.
        changes: a note's new bytes by its object; None removes it.

    Raises:
        RefMoved: the ref is somewhere else; nothing was changed.
        CommandFailed: git said no.
    """

    def plan(notes: NotesTree) -> Mapping[str, bytes | None]:
        if notes.tip != expected:
            raise RefMoved(ref)
        return changes

    return change_notes(repository, ref, plan, at)


def change_notes(
    repository: Path,
    ref: str,
    plan: Callable[[NotesTree], Mapping[str, bytes | None]],
    at: datetime,
) -> str | None:
    """Change notes as plan says when it has seen those that are there.

    Returns:
        The commit that the ref is at then.

    Raises:
        RefMoved: somebody else moved the ref meanwhile; nothing was changed.
        CommandFailed: git said no.
    """
    tip = None
    try:
        with notes_writer(repository) as writer, blob_reader(repository) as reader:
            notes = open_notes(reader, ref)
            tip = notes.tip
            paths = {notes.put(name): content for name, content in plan(notes).items()}
            return writer.commit(ref, tip, paths, at) if paths else tip
    except CommandFailed as error:
        if _is_held(error) or list_refs(repository, ref).get(ref) != tip:
            raise RefMoved(ref) from error
        raise


def _is_held(error: CommandFailed) -> bool:
    """Tell whether another git holds the ref just now."""
    return "cannot lock ref" in str(error) or ".lock': File exists" in str(error)
