"""How the host and a throw-away container hand work to each other: a directory and a program.

The host never opens a workspace: a container of our image without network and secrets does.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cspace import files, proc
from cspace.engine.model import Mount
from cspace.errors import CommandFailed, Conflict, CspaceError, NotFound
from cspace.files import Owner
from cspace.paths import INSIDE

# Where the container has the workspace, the directory, and the commits that the host has.
WORKSPACE, EXCHANGE = "/workspace", "/exchange"
HOST = f"{EXCHANGE}/host"
# -I: a package named cspace in the work directory is an agent's.
PROGRAM = (INSIDE.python, "-I", "-m", "cspace.instance.snapshot")
_PREFIX = "archive-"
_ERRORS: dict[int, type[CspaceError]] = {3: NotFound, 4: Conflict, 5: CommandFailed}

# Writes a line to a started program's stdin, for which it waits, and returns what it answered.
Go = Callable[[], proc.Result]


class Isolated(Protocol):
    """Starts a program of our image in a throw-away container without network and secrets."""

    def __call__(
        self, argv: tuple[str, ...], mounts: tuple[Mount, ...]
    ) -> contextlib.AbstractContextManager[Go]:
        """Start argv as the container's user; every exit code is an answer."""


@dataclass(frozen=True, slots=True)
class Place:
    """An instance's workspace on the host, and where files are exchanged with its container.

    Attributes:
        exchange: a directory of the host's in which a temporary one is made.
    """

    name: str
    workspace: Path
    exchange: Path
    owner: Owner


def list_exchanges(directory: Path) -> tuple[Path, ...]:
    """List the temporary directories that are there for exchange with a container."""
    return tuple(sorted(directory.glob(f"{_PREFIX}*")))


@contextlib.contextmanager
def exchanging(place: Place) -> Iterator[Path]:
    """Give a temporary directory that a container can share."""
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place.exchange))
    try:
        files.give(directory, place.owner)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def tell(place: Place, exchange: Path, **lines: Collection[str]) -> None:
    """Write down commits for the program in the container: argv may be too short for all refs."""
    text = "".join(f"{word} {one}\n" for word, ids in lines.items() for one in ids)
    files.write_atomic(exchange / Path(HOST).name, text, owner=place.owner)


def check_answer(result: proc.Result, failed: str) -> None:
    """Raise what the program raised in its container."""
    if result.code == 0:
        return
    try:
        answer = json.loads(result.stdout)
        message, hint = str(answer["message"]), answer["hint"]
    except (ValueError, TypeError, KeyError) as error:
        said = result.stderr.decode("utf-8", "replace")
        raise proc.failure(result.argv, result.code, said) from error
    raise _ERRORS.get(result.code, CspaceError)(
        f"{failed}: {message}", hint=hint if isinstance(hint, str) else None
    )
