"""The orchestrator's own directory, which `adopt` links: the one link that is followed."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.errors import MALFORMED, Conflict, CspaceError, NotFound, UsageError
from cspace.files import Owner, ensure_directory, give, write_atomic
from cspace.memory.scopes import Kind

RECORD = ".adopted.json"
MARKER = ".cspace-orchestrator"
LINK = Kind.ORCHESTRATOR.value
VERSION = 1
_SAID = "The memory of this workspace is the scope `orchestrator` of `cspace memory`.\n"


@dataclass(frozen=True, slots=True)
class Adopted:
    """What `adopt` recorded; both are real paths.

    Attributes:
        workspace: the directory that the orchestrator works in.
        memory: where its memories lie.
    """

    workspace: Path
    memory: Path


def find_adopted(root: Path) -> Adopted | None:
    """Return what was recorded in a memory's root, None where nothing was.

    Raises:
        CspaceError: the record can not be read.
    """
    try:
        document = json.loads(beneath.read_file(root, PurePosixPath(RECORD)))
        return Adopted(_absolute(document["workspace"]), _absolute(document[LINK]))
    except FileNotFoundError:
        return None
    except (*MALFORMED, OSError) as error:
        place = root / RECORD
        raise CspaceError(
            f"{place} does not say what was adopted: {error}",
            hint=f"move it away and adopt anew: rm {place} {root / LINK}",
        ) from None


def find_workspace(root: Path, start: Path) -> Path | None:
    """Return the adopted workspace when start lies in it and it has its marker, else None."""
    adopted = find_adopted(root)
    if adopted is None or not start.resolve().is_relative_to(adopted.workspace):
        return None
    return adopted.workspace if (adopted.workspace / MARKER).is_file() else None


def adopt(root: Path, workspace: Path, memory: Path, owner: Owner | None = None) -> Adopted:
    """Link a directory as the orchestrator's memory, and mark its workspace.

    The same again changes nothing.

    Raises:
        UsageError: memory is no directory, or lies in the memory's root itself.
        Conflict: another one is adopted, or something else is in the link's place.
    """
    wanted = Adopted(workspace.resolve(), memory.resolve())
    _check(root, wanted)
    ensure_directory(root, owner=owner)
    link = root / LINK
    if os.path.lexists(link) and _target(root) != wanted.memory:
        raise Conflict(
            f"{link} is there already"
            + (f", and leads to {was}" if (was := _target(root)) else ""),
            hint=f"look at it, and take it away first: ls -ld {link}",
        )
    # The record goes first: a link without one is followed by nobody.
    document = {
        "schema_version": VERSION,
        "workspace": str(wanted.workspace),
        LINK: str(wanted.memory),
    }
    write_atomic(root / RECORD, json.dumps(document, indent=2) + "\n", owner=owner)
    write_atomic(wanted.workspace / MARKER, _SAID, owner=owner)
    if not os.path.lexists(link):
        link.symlink_to(wanted.memory)
        give(link, owner)
    return wanted


def release(root: Path) -> Adopted:
    """Take back what `adopt` did; the memories stay where they lie.

    Raises:
        NotFound: nothing is adopted.
        CspaceError: the record can not be read.
    """
    adopted = find_adopted(root)
    if adopted is None:
        raise NotFound(
            "no orchestrator's directory is adopted", hint="cspace memory adopt ~/orchestrator"
        )
    if _target(root) == adopted.memory:
        (root / LINK).unlink()
    # A marker without a record says nothing, so one that can not go does no harm.
    with contextlib.suppress(OSError):
        (adopted.workspace / MARKER).unlink()
    # Last: what is stopped before can be said again.
    (root / RECORD).unlink()
    return adopted


def _check(root: Path, wanted: Adopted) -> None:
    for directory in (wanted.workspace, wanted.memory):
        if not directory.is_dir():
            raise UsageError(f"{directory} is no directory", hint=f"make it: mkdir -p {directory}")
    if wanted.memory.is_relative_to(root.resolve()):
        raise UsageError(
            f"{wanted.memory} lies in the memory's own directory",
            hint="name the directory of the orchestrator's workspace that holds its memories",
        )


def _target(root: Path) -> Path | None:
    try:
        return (root / LINK).readlink()
    except OSError:
        return None


def _absolute(text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise ValueError(f"{text!r} is no absolute path")
    return path
