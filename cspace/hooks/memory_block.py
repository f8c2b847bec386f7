"""What a session is told of curated memory: which scopes have how many entries, and how to read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import CspaceError
from cspace.memory.here import Here
from cspace.memory.personas import Personas
from cspace.memory.projects import Projects
from cspace.memory.scopes import Kind, Scope
from cspace.paths import INDEX

# 120 tokens, at four bytes each.
MOST_BYTES = 480
EVERYWHERE = Scope(Kind.USER), Scope(Kind.GLOBAL)
_SUFFIX = ".md"
_PROPOSALS, _PROPOSAL = PurePosixPath(".proposals"), ".yaml"


def render_block(here: Here, report: Callable[[CspaceError], None]) -> str:
    """Return the block for a place; empty where no scope that concerns it has an entry.

    Directories are listed and no file is opened: no name of an entry and no text is in it.

    Args:
        report: is told why it can not be said where this is, as in an agent's directory. The block
            is then of what concerns every place.

    Raises:
        OSError: the system refused.
    """
    root = here.projects.root
    try:
        scopes = here.scopes()
    except CspaceError as error:
        report(error)
        scopes = EVERYWHERE
    counted = ((scope, count_entries(root, scope)) for scope in scopes)
    known = tuple((scope, count) for scope, count in counted if count)
    if not known:
        return ""
    waiting = 0 if here.inside else _count(root, _PROPOSALS, _PROPOSAL)
    return _render(known, waiting)


def find_here(root: Path, user: Path, directory: Path) -> Here:
    """Join a memory's root and a directory, which is asked about only by what is read."""
    return Here(directory, user, os.environ, Projects(root), Personas(root))


def count_entries(root: Path, scope: Scope) -> int:
    """Count a scope's entries by their names; one that can not be read has none."""
    if scope.kind is not Kind.ORCHESTRATOR:
        return _count(root, scope.relative, _SUFFIX)
    from cspace.memory.place import find_place  # noqa: PLC0415  few hosts have one

    place = find_place(root, scope)
    return _count(place.root, place.relative, _SUFFIX)


def _count(root: Path, directory: PurePosixPath, suffix: str) -> int:
    try:
        descriptor = beneath.open_directory(root, directory)
    except OSError:
        return 0
    try:
        with os.scandir(descriptor) as entries:
            return sum(
                one.name.endswith(suffix)
                and one.name[0] != "."
                and one.name != INDEX.name
                and one.is_file(follow_symlinks=False)
                for one in entries
            )
    finally:
        os.close(descriptor)


def _render(known: Iterable[tuple[Scope, int]], waiting: int) -> str:
    listed = ", ".join(f"{scope} {count}" for scope, count in known)
    block = (
        f"Curated memory, which a person approved, has entries for this session: {listed}."
        " Read what your task needs: memory_search, memory_list, memory_read of cspace-memory,"
        " or `cspace memory show SLUG --scope SCOPE`."
    )
    if waiting:
        block += f" Proposals that wait for the operator: {waiting}."
    return block
