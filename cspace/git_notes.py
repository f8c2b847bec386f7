"""Commit notes as git keeps them: one blob for each annotated object, below any fan-out.

As in `cspace.git`, nothing here is ever pointed at a workspace.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

from cspace import proc
from cspace.errors import CommandFailed, Conflict
from cspace.git import AS_STORED, environment, git, list_refs
from cspace.git_import import WITHOUT_HOOKS, BlobReader, ReaderEnded, blob_reader, read_answer
from cspace.git_notes_tree import NotesTree, open_notes
from cspace.git_objects import index_pack
from cspace.git_pack import dump_pack

_CHUNK = 1000
_MOST_MOVES = 500
# As git does with what it receives.
MOST_UNPACKED = 100
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
    changed = _Changed()
    for known, path in zip(parts[:-1:2], parts[1::2], strict=True):
        changed.add(known, path)
    return {name: after for name, (_, after) in changed.blobs().items()}


@dataclass(slots=True)
class _Changed:
    """What differs between two trees of notes: each note's blob in the first and in the second."""

    gone: dict[str, str] = field(default_factory=dict)
    come: dict[str, str] = field(default_factory=dict)

    def add(self, known: str, path: str) -> None:
        """Take up a line of git's."""
        _, _, before, after, _ = known.split(" ")
        name = path.replace("/", "")
        if _is_object(name, after):
            if set(before) != {"0"}:
                self.gone[name] = before
            if set(after) != {"0"}:
                self.come[name] = after

    def blobs(self) -> dict[str, tuple[str | None, str | None]]:
        both = {name: (self.gone.get(name), self.come.get(name)) for name in self.gone | self.come}
        return {name: pair for name, pair in both.items() if pair[0] != pair[1]}


def _is_object(name: str, like: str) -> bool:
    return len(name) == len(like) and _HEX.issuperset(name)


@dataclass(frozen=True, slots=True)
class Move:
    """A step of a notes ref, from one commit to another, and the words of who made it."""

    old: str
    new: str
    said: str


def list_moves(repository: Path, ref: str) -> tuple[Move, ...]:
    """Return a ref's last moves, the newest first, as far as its log goes and git keeps one."""
    words = ("log", "--walk-reflogs", f"--max-count={_MOST_MOVES}", "--format=%H%x00%gs%x00%s")
    said = git(repository, *words, ref, "--", env=AS_STORED, ok=(0, 128))
    steps = [line.split("\0") for line in said.text.splitlines()]
    return tuple(
        Move(before[0], step[0], f"{step[1]}\n{step[2]}")
        for step, before in itertools.pairwise(steps)
    )


def read_moves(
    repository: Path, moves: Sequence[Move]
) -> Iterator[tuple[Move, dict[str, tuple[str | None, str | None]]]]:
    """Yield each move with the blobs that a note had before and after it, where they differ.

    Costs one git, however many there are.
    """
    if not moves:
        return
    words = ("diff-tree", "--stdin", "--always", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    asked = "".join(f"{one.new} {one.old}\n" for one in moves).encode("ascii")
    said = git(repository, *words, stdin=asked, env=AS_STORED).stdout.decode("utf-8", "replace")
    found: list[_Changed] = []
    parts = iter(said.split("\0")[:-1])
    for part in parts:
        if part.startswith(":"):
            found[-1].add(part, next(parts))
        else:
            found.append(_Changed())
    if len(found) == len(moves):  # else git has thrown one away
        for move, changed in zip(moves, found, strict=True):
            yield move, changed.blobs()


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


class _NothingToDo(Exception):
    """Ends the programs that were started to write."""


_LOCK = re.compile(r"'([^'\n]+\.lock)': File exists")


class RefMoved(Conflict):
    """A notes ref is not at what was expected of it; nothing was changed."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"{ref} was moved by somebody else", hint="try again")


class RefLocked(RefMoved):
    """Another git is just moving a notes ref, or was killed when it did; nothing was changed."""

    def __init__(self, ref: str, lock: str) -> None:
        Conflict.__init__(
            self, f"{ref} is locked by another git: {lock}",
            hint="when no git runs in this repository, remove that file",
        )  # fmt: skip


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
    reader: BlobReader | None = None,
) -> str | None:
    """Change notes as plan says when it has seen those that are there.

    Args:
        reader: one that is open already.

    Returns:
        The commit that the ref is at then.

    Raises:
        RefMoved: somebody else moved the ref meanwhile; nothing was changed.
        CommandFailed: git said no.
    """
    tip = None
    try:
        # All three start at once: most of their time is what a program needs to start.
        with _started(repository, "update-ref", "-z", "--stdin") as mover:
            with (
                _started(repository, "unpack-objects", "-q") as taker,
                contextlib.nullcontext(reader) if reader else blob_reader(repository) as opened,
            ):
                notes = open_notes(opened, ref)
                tip = notes.tip
                changes = plan(notes)
                if not changes and not notes.restored:
                    raise _NothingToDo
                new = notes.commit(changes, at)
                taker.write(_to_unpack(repository, notes))
            mover.write(f"update {ref}\0{new}\0{tip or '0' * len(new)}\0".encode())
    except _NothingToDo:
        return tip
    except ReaderEnded:
        raise  # whether the ref was moved nobody knows then
    except CommandFailed as error:
        if lock := _LOCK.search(str(error)):
            raise RefLocked(ref, lock[1]) from error
        if list_refs(repository, ref).get(ref) != tip:
            raise RefMoved(ref) from error
        raise
    return new


@contextlib.contextmanager
def _started(repository: Path, *words: str) -> Iterator[IO[bytes]]:
    """Give the stdin of a git command that writes.

    A note is synced as the user's git syncs the commit that it belongs to: core.fsync says.
    """
    env = environment() | AS_STORED
    with proc.talk("git", "-C", repository, *WITHOUT_HOOKS, *words, env=env) as process:
        assert process.stdin is not None  # noqa: S101  a pipe; tells the type checker
        yield process.stdin
        process.stdin.flush()


def _to_unpack(repository: Path, notes: NotesTree) -> bytes:
    """Return the pack of what is to be single objects; of many, git keeps a pack instead."""
    pack = dump_pack(notes.new.values(), notes.algorithm)
    if len(notes.new) <= MOST_UNPACKED:
        return pack
    with tempfile.TemporaryFile() as file:
        file.write(pack)
        file.seek(0)
        index_pack(repository, file)
    return dump_pack((), notes.algorithm)
