"""The plugin `cs` for Claude Code, as files: commands, and the hooks of commit notes.

    python -I -m cspace.hooks.plugin DIRECTORY     writes it for the Python that runs this

A directory that holds both a plugin and the marketplace that lists it is read in place, so what is
written there is what the next session has.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path, PurePosixPath

from cspace import assets, beneath
from cspace.errors import CspaceError
from cspace.files import Owner, ensure_directory, write_atomic

NAME, MARKETPLACE = "cs", "cspace"
ID = f"{NAME}@{MARKETPLACE}"
_MANIFEST = PurePosixPath(".claude-plugin/plugin.json")
_PYTHON, _VERSION = "@PYTHON@", "@VERSION@"


def plugin_files(python: str) -> dict[PurePosixPath, str]:
    """Return the plugin's files by their paths, with hooks that python runs."""
    root = assets.directory("templates") / "plugin"
    put = {
        _PYTHON: json.dumps(shlex.quote(python))[1:-1],
        _VERSION: metadata.version("cspace"),
    }
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for mark, value in put.items():
                text = text.replace(mark, value)
            found[PurePosixPath(path.relative_to(root))] = text
    return found


def is_written(directory: Path, files: dict[PurePosixPath, str]) -> bool:
    """Tell whether directory holds just these files."""
    return _list_files(directory) == set(files) and all(
        _read(directory, path) == text for path, text in files.items()
    )


def write_plugin(directory: Path, files: dict[PurePosixPath, str], owner: Owner | None) -> None:
    """Make directory hold these files and no others; each is replaced whole.

    Raises:
        CspaceError: something else lies there, or a link is in the way.
    """
    _refuse_others(directory)
    ensure_directory(directory, owner=owner)
    for path, text in files.items():
        beneath.ensure_directory(directory, path.parent, owner=owner)
        if _read(directory, path) != text:
            with beneath.pinned(directory, path.parent) as parent:
                write_atomic(parent / path.name, text, owner=owner)
    for path in _list_files(directory).difference(files):
        (directory / path).unlink()


def remove_plugin(directory: Path) -> bool:
    """Remove what `write_plugin` made; return whether there was anything.

    Raises:
        CspaceError: as for `write_plugin`.
    """
    import shutil  # noqa: PLC0415  nothing else needs it

    _refuse_others(directory)
    if not directory.exists():
        return False
    shutil.rmtree(directory)
    return True


def _refuse_others(directory: Path) -> None:
    """Refuse a directory that is not ours to empty."""
    if not directory.is_symlink():
        if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
            return
        manifest = _read(directory, _MANIFEST) if directory.is_dir() else None
        if manifest is not None and f'"name": "{NAME}"' in manifest:
            return
    raise CspaceError(
        f"{directory} is something else than the plugin",
        hint=f"look at it and move it away: ls -la {directory}",
    )


def _list_files(directory: Path) -> set[PurePosixPath]:
    """List what is no directory; links are not followed."""
    return {
        PurePosixPath(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def _read(directory: Path, path: PurePosixPath) -> str | None:
    """Read a file; None where there is none that we could have written."""
    try:
        return beneath.read_file(directory, path).decode("utf-8")
    except (OSError, CspaceError, UnicodeDecodeError):
        return None


if __name__ == "__main__":
    write_plugin(Path(sys.argv[1]), plugin_files(sys.executable), None)
