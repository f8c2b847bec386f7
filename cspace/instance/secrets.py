"""Credentials reach an instance as files in one mounted directory, and by no other way.

Every file of `~/.cspace/secrets` is one secret; for those that other tools know by a variable the
environment is asked next. The directory is mounted, not its files, so that a rotated secret reaches
running instances.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from cspace import files
from cspace.errors import UsageError
from cspace.files import Owner

# The file's name, and the variables that other tools read the same secret from.
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic_api_key": ("ANTHROPIC_API_KEY",),
    "claude_code_oauth_token": ("CLAUDE_CODE_OAUTH_TOKEN",),
    "github_token": ("GH_TOKEN", "GITHUB_TOKEN"),
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


def find_secrets(user: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Find every secret by name: in `~/.cspace/secrets`, else in the environment.

    Raises:
        UsageError: a file is not text.
    """
    directory = user / "secrets"
    found = {}
    for name, variables in _VARIABLES.items():
        values = (environ.get(variable, "").strip() for variable in variables)
        found[name] = next(filter(None, values), "")
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.is_file() and _NAME.fullmatch(path.name):
            try:
                value = path.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise UsageError(f"secret {path} is not UTF-8 text") from error
            # An ssh key needs its last line break; a token in a header must not have it.
            value = value.strip() if path.name in _VARIABLES else value
            found[path.name] = value or found.get(path.name, "")
    return {name: value for name, value in found.items() if value}


def deliver_secrets(directory: Path, secrets: Mapping[str, str], owner: Owner) -> None:
    """Make the directory hold exactly these secrets, readable by the instance's user only."""
    update_secrets(directory, secrets, owner)
    for path in directory.iterdir():
        if path.name not in secrets:
            path.unlink()


def update_secrets(directory: Path, secrets: Mapping[str, str], owner: Owner) -> None:
    """Make the directory hold these secrets beside those that it has."""
    files.ensure_directory(directory, owner=owner, mode=0o700)
    for name, value in secrets.items():
        files.write_atomic(directory / name, value, mode=0o400, owner=owner)
