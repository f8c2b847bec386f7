"""Finds legacy volumes by their names, and by a look at the beginning of what they hold."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from cspace.claude_memory.listing import Type
from cspace.engine.model import Engine
from cspace.errors import CspaceError
from cspace.events import Event, State
from cspace.lifecycle.bring_home import Home
from cspace.lifecycle.sessions_migration import transcript_place
from cspace.migration import legacy
from cspace.migration.legacy import Kind
from cspace.migration.model import Source
from cspace.migration.stream import Entry, iter_entries
from cspace.migration.stream import Kind as EntryKind
from cspace.migration.volumes import volume_source
from cspace.paths import INDEX

# Of a volume that may be a database of terabytes only this much is read.
MAX_LOOK_BYTES = 16 * 1024 * 1024
_HEAD_BYTES = 4096
_FRONT_MATTER = re.compile(
    rf"\A---\r?\n(?:.*\n)*?type: *(?:{'|'.join(Type)}) *\r?$".encode(), re.MULTILINE
)
_OURS = "dev.cspace."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A volume that may hold what is to be brought home.

    Attributes:
        why: how it was found.
        files: how many files it holds, or at least holds where only its beginning was read; of a
            Claude home its transcripts. None where it could not be read.
        size: bytes of these.
        whole: whether all of it was read.
        command: what brings it home.
        problem: why it could not be read, or empty.
    """

    volume: str
    kind: Kind
    why: str
    files: int | None
    size: int | None
    whole: bool
    command: str
    problem: str = ""


@dataclass(slots=True)
class _Look:
    """What the beginning of a volume showed."""

    files: int = 0
    size: int = 0
    transcripts: int = 0
    transcripts_size: int = 0
    memory: bool = False
    whole: bool = False
    problem: str = ""


class _Enough(Exception):
    """As much was read as is read of a volume."""


def list_names(engine: Engine) -> tuple[str, ...]:
    """List the names of the volumes that are no cspace's of today."""
    return tuple(
        each.name
        for each in engine.list_volumes()
        if not any(label.startswith(_OURS) for label in each.labels)
    )


def list_candidates(engine: Engine, home: Home) -> tuple[Candidate, ...]:
    """List every volume that a memory or transcripts may be in, this project's first.

    Raises:
        EngineUnavailable: the engine does not answer.
    """
    volumes, found = list_names(engine), []
    for number, volume in enumerate(volumes):
        home.report(Event("volumes", "look", State.ADVANCED, done=number, total=len(volumes)))
        candidate = _examine(engine, home, volume)
        if candidate is not None:
            found.append(candidate)
    home.report(Event("volumes", "look", State.DONE))
    directory = home.project.root.name
    return tuple(sorted(found, key=lambda one: (not _is_ours(one, directory), one.volume)))


def _is_ours(candidate: Candidate, directory: str) -> bool:
    volume = candidate.volume
    return legacy.is_memory_of(volume, directory) or legacy.find_home(volume, directory) is not None


def _examine(engine: Engine, home: Home, volume: str) -> Candidate | None:
    look = _look_into(engine, home, volume)
    named = legacy.kind_of(volume)
    kind = named
    if kind is None and look.transcripts:
        kind = Kind.HOME
    elif kind is None and look.memory:
        kind = Kind.MEMORY
    if kind is None:
        return None
    of_home = kind is Kind.HOME
    found = Candidate(
        volume=volume,
        kind=kind,
        why="its name" if named else "its content",
        files=look.transcripts if of_home else look.files,
        size=look.transcripts_size if of_home else look.size,
        whole=look.whole,
        command=_command(volume, kind, home.project.root.name),
        problem=look.problem,
    )
    return replace(found, files=None, size=None) if look.problem else found


def _command(volume: str, kind: Kind, directory: str) -> str:
    given = shlex.quote(volume)
    if kind is Kind.MEMORY:
        return f"cspace memory migrate --volume {given}"
    known = legacy.find_home(volume, directory)
    if known is not None and known.certain:
        return f"cspace sessions migrate --volume {given}"
    return f"cspace sessions migrate --volume {given} --instance NAME"


def _look_into(engine: Engine, home: Home, volume: str) -> _Look:
    look = _Look()
    source = _beginning(volume_source(engine, home.user, volume))
    try:
        with contextlib.closing(iter_entries(source)) as entries:
            for entry in entries:
                _note(look, entry)
        look.whole = True
    except _Enough:
        pass
    except CspaceError as error:
        engine.ping()  # an engine that has gone is no trait of the volume
        look.problem = str(error)
    return look


def _note(look: _Look, entry: Entry) -> None:
    if entry.kind is not EntryKind.FILE:
        return
    path = PurePosixPath(entry.name)
    look.files += 1
    look.size += entry.size
    if transcript_place(path) is not None:
        look.transcripts += 1
        look.transcripts_size += entry.size
    elif path.name == INDEX.name:
        look.memory = True
    elif path.suffix == ".md" and not look.memory:
        head = next(entry.read(), b"")[:_HEAD_BYTES]
        look.memory = _FRONT_MATTER.match(head) is not None


def _beginning(source: Source) -> Source:
    @contextlib.contextmanager
    def opened() -> Iterator[BinaryIO]:
        with source.open() as stream:
            yield cast("BinaryIO", _Limited(stream))

    return replace(source, open=opened)


class _Limited:
    """A stream whose reader is stopped when it has read enough."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = MAX_LOOK_BYTES

    def read(self, size: int) -> bytes:
        if self._left < 0:
            raise _Enough
        self._left -= size
        return self._stream.read(size)
