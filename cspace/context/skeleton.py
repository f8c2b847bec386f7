"""The directories and human-owned files that a project's context starts with."""

from __future__ import annotations

import contextlib
from pathlib import Path, PurePosixPath

from cspace import assets, beneath, files
from cspace.context.records import HUMAN, ROOT, Kind
from cspace.errors import CspaceError
from cspace.files import Owner

# Locks and half-written files are nobody's history.
IGNORED = ("*.md.lock", f".*{files.TEMPORARY_SUFFIX}")


def ensure_skeleton(root: Path, owner: Owner | None = None) -> None:
    """Create what is missing of `.cspace/context` and `.cspace/.gitignore`; change nothing else.

    Not for the inside of an instance, where the human-owned files are mounted.

    Raises:
        OSError: root is missing, or a link or file stands where a directory is needed.
    """
    for kind in Kind:
        with beneath.pinned(root, ROOT / kind.plural, create=True, owner=owner):
            pass
    with beneath.pinned(root, ROOT) as directory:
        files.sweep(directory)
        for name in HUMAN:
            _seed(directory / f"{name}.md", owner)
    with beneath.pinned(root, PurePosixPath(".cspace")) as directory:
        files.sweep(directory)
        _ignore(directory, owner)


def _seed(path: Path, owner: Owner | None) -> None:
    # is_symlink: a link is somebody's decision too, even where it leads nowhere.
    if not (path.exists() or path.is_symlink()):
        with contextlib.suppress(FileExistsError):
            files.publish(path, assets.template(path.name), owner=owner)


def _ignore(directory: Path, owner: Owner | None) -> None:
    name = PurePosixPath(".gitignore")
    # Bytes: whatever encoding a person used, it stays.
    try:
        present = beneath.read_file(directory, name)
    except FileNotFoundError:
        present = b""
    except (OSError, CspaceError):
        return  # a link, or no file at all: somebody's decision too
    lines = present.splitlines()
    missing = [line for line in IGNORED if line.encode() not in lines]
    if missing:
        start = present if present.endswith(b"\n") or not present else present + b"\n"
        added = "".join(f"{line}\n" for line in missing).encode()
        files.write_atomic(directory / name, start + added, owner=owner)
