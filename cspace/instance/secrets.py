"""Credentials reach an instance as files in one mounted directory, and by no other way.

Every file of `~/.cspace/secrets` is one secret; for those that other tools know by a variable the
environment is asked next. The directory is mounted, not its files, so that a rotated secret reaches
running instances.

A removed file revokes its secret. A variable that is not set does not: another terminal, which has
it, may have started the agent that it would log out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.errors import UsageError
from cspace.files import Owner

# The file's name, and the variables that other tools read the same secret from.
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic_api_key": ("ANTHROPIC_API_KEY",),
    "claude_code_oauth_token": ("CLAUDE_CODE_OAUTH_TOKEN",),
    "github_token": ("GH_TOKEN", "GITHUB_TOKEN"),
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is to be delivered: values by name, and the names that a file gave."""

    values: Mapping[str, str]
    from_files: frozenset[str]


def find_secrets(user: Path, environ: Mapping[str, str]) -> Secrets:
    """Find every secret by name: in `~/.cspace/secrets`, else in the environment.

    Raises:
        UsageError: a file is not text.
    """
    values = {}
    for name, variables in _VARIABLES.items():
        candidates = (environ.get(variable, "").strip() for variable in variables)
        values[name] = next(filter(None, candidates), "")
    own = _read_files(user / "secrets")
    found = {name: value for name, value in (values | own).items() if value}
    return Secrets(found, frozenset(own))


def _read_files(directory: Path) -> dict[str, str]:
    """Read the files that hold something; the user's own, so they may be links."""
    found = {}
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.is_file() and _NAME.fullmatch(path.name):
            try:
                value = path.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise UsageError(f"secret {path} is not UTF-8 text") from error
            # An ssh key needs its last line break; a token in a header must not have it.
            found[path.name] = value.strip() if path.name in _VARIABLES else value
    return {name: value for name, value in found.items() if value}


def deliver_secrets(directory: Path, secrets: Secrets, owner: Owner) -> None:
    """Make the directory hold exactly these secrets, readable by the instance's user only."""
    with _opened(directory, owner) as opened:
        delivered = {path.name for path in opened.iterdir()}
        _write(opened, secrets, delivered - secrets.values.keys(), owner)
    _remember(directory, secrets.from_files, owner)


def update_secrets(directory: Path, secrets: Secrets, owner: Owner) -> None:
    """Make the directory hold these secrets; of the others only those stay that no file gave."""
    remembered = _from_files(directory)
    with _opened(directory, owner) as opened:
        _write(opened, secrets, remembered - secrets.values.keys(), owner)
    _remember(directory, secrets.from_files, owner)


@contextlib.contextmanager
def _opened(directory: Path, owner: Owner) -> Iterator[Path]:
    """Create the directory where it is missing; a link in its place is refused."""
    files.ensure_directory(directory, owner=owner, mode=0o700)
    with beneath.pinned(directory.parent, PurePosixPath(directory.name)) as opened:
        yield opened


def _write(directory: Path, secrets: Secrets, revoked: set[str], owner: Owner) -> None:
    for name in revoked:
        (directory / name).unlink(missing_ok=True)
    for name, value in secrets.values.items():
        files.write_atomic(directory / name, value, mode=0o400, owner=owner)


def _remember(directory: Path, names: frozenset[str], owner: Owner) -> None:
    files.write_atomic(
        _memory(directory), "".join(f"{one}\n" for one in sorted(names)), owner=owner
    )


def _from_files(directory: Path) -> set[str]:
    """Return the names that files gave at the last delivery."""
    memory = _memory(directory)
    try:
        text = beneath.read_file(memory.parent, PurePosixPath(memory.name)).decode("ascii")
    except FileNotFoundError:
        return set()
    return {name for name in text.splitlines() if _NAME.fullmatch(name)}


def _memory(directory: Path) -> Path:
    """Beside the directory, which is mounted; names only."""
    return directory.with_name(f"{directory.name}.from-files")
