"""Prepares a project for cspace: a few files, each only where it is missing."""

from __future__ import annotations

import contextlib
import errno
import json
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cspace import beneath, files
from cspace.context.skeleton import ensure_skeleton
from cspace.errors import CspaceError, UsageError
from cspace.events import Report, ignore
from cspace.files import Owner
from cspace.paths import CONTEXT, CONTEXT_KINDS, INDEX, MEMORY
from cspace.quarantine.shelf import Quarantined, sweep

IGNORED = (".cspace.local.json",)
SERVER = "cspace-context"
REGISTRATION = {"command": "cspace", "args": ["context-server"]}


@dataclass(frozen=True, slots=True)
class Initialised:
    """What `init` made or changed, by path relative to the project; empty when nothing was left.

    Attributes:
        quarantined: what was moved aside before; each was reported when it was.
    """

    root: Path
    changed: tuple[str, ...]
    quarantined: tuple[Quarantined, ...]


def init_project(root: Path, owner: Owner, report: Report = ignore) -> Initialised:
    """Create what is missing; what is there keeps its content.

    Raises:
        UsageError: `.mcp.json` is not a JSON object that a server could be added to.
    """
    quarantined = sweep(root, owner, report)
    registered = _with_server(root / ".mcp.json")
    changed = [".mcp.json"] if registered is not None else []
    if registered is not None:
        _write(root / ".mcp.json", registered, owner)
    with contextlib.suppress(FileExistsError):
        files.publish(root / ".cspace.json", "{}\n", owner=owner)
        changed.append(".cspace.json")
    changed += _ignore(root / ".gitignore", owner)
    missing = [path for path in (MEMORY, CONTEXT) if not (root / path).exists()]
    seed(root, owner)
    return Initialised(root, (*changed, *map(str, missing)), quarantined)


def seed(root: Path, owner: Owner) -> None:
    """Create what `.cspace/` lacks: an empty index for Claude's memory, the context's skeleton.

    Raises:
        CspaceError: a link or a file is in the way.
    """
    beneath.ensure_directory(root, PurePosixPath(MEMORY), owner=owner)
    with (
        beneath.pinned(root, PurePosixPath(MEMORY)) as memory,
        contextlib.suppress(FileExistsError),
    ):
        files.publish(memory / INDEX, b"", owner=owner)
    for kind in CONTEXT_KINDS:
        beneath.ensure_directory(root, PurePosixPath(CONTEXT, kind), owner=owner)
    try:
        ensure_skeleton(root, owner)
    except OSError as error:
        raise CspaceError(f"{root / CONTEXT} can not be prepared: {error}") from error


def _with_server(path: Path) -> str | None:
    """Return the text of `.mcp.json` with our server; None when it has it already."""
    text = _read(path) or "{}"
    try:
        document: dict[str, Any] = json.loads(text)
        servers = document.setdefault("mcpServers", {})
        if SERVER in servers:
            return None
        servers[SERVER] = REGISTRATION
        changed = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        changed.encode("utf-8")  # JSON can name half a character, which no file can hold
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} is not a JSON object with an object mcpServers: {error}",
            hint=f"repair {path}, then: cspace init",
        ) from error
    return changed


def _read(path: Path) -> str:
    """Read a file of the project; one that is missing is empty.

    A link could lead to any file of the user, whose content would come to lie in the repository.
    """
    try:
        return beneath.read_file(path.parent, PurePosixPath(path.name)).decode("utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise UsageError(
            f"{path} can not be read: {reason}", hint=f"put a file there: ls -l {path}"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text", hint=f"repair {path}") from error


def _ignore(path: Path, owner: Owner) -> list[str]:
    text = _read(path)
    missing = [line for line in IGNORED if line not in text.splitlines()]
    if not missing:
        return []
    gap = "\n" if text and not text.endswith("\n") else ""
    _write(path, text + gap + "".join(f"{line}\n" for line in missing), owner)
    return [path.name]


def _write(path: Path, text: str, owner: Owner) -> None:
    """Write a person's file: one that is there keeps its owner and mode."""
    if not path.exists():
        files.write_atomic(path, text, owner=owner)
        return
    found = path.stat()
    kept = Owner(found.st_uid, found.st_gid)
    files.write_atomic(path, text, mode=stat.S_IMODE(found.st_mode), owner=kept)
