"""Where credentials come from: one order for all of them, and each with its source.

`--secret NAME=FILE`, then the project's directory, then the user's, then the variables that other
tools read the same secret from, then the login of `gh`. What holds nothing is asked past.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from cspace import proc
from cspace.errors import CommandFailed, UsageError
from cspace.paths import project_secrets, user_secrets

# The file's name, and the variables that other tools read the same secret from.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic_api_key": ("ANTHROPIC_API_KEY",),
    "claude_code_oauth_token": ("CLAUDE_CODE_OAUTH_TOKEN",),
    "github_token": ("GH_TOKEN", "GITHUB_TOKEN"),
}
GITHUB_TOKEN = "github_token"  # noqa: S105  its name
GITHUB = "github.com"
# It reads one file, in 0.1 s; a keyring that is locked may never answer.
GH_SECONDS = 3.0
# Far above any key, below what would fill an instance's disk by mistake.
MAX_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)


class Source(StrEnum):
    """Who gives a secret; the first of these that does."""

    FLAG = "flag"
    PROJECT = "project"
    USER = "user"
    ENVIRONMENT = "environment"
    GH = "gh"


ORDER = tuple(Source)


@dataclass(frozen=True, slots=True)
class Secret:
    """One credential.

    Attributes:
        value: in no representation of this.
        place: the file, the variable or the command that gave it.
    """

    name: str
    value: str = field(repr=False)
    source: Source
    place: str


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is to be delivered.

    Attributes:
        found: at most one of a name, by name.
        ended: what a source said earlier and a person has taken back since, by source and name.
    """

    found: tuple[Secret, ...] = ()
    ended: frozenset[tuple[Source, str]] = frozenset()

    @property
    def values(self) -> dict[str, str]:
        return {secret.name: secret.value for secret in self.found}


def is_name(text: str) -> bool:
    """Tell whether a secret can have this name: it becomes a file's."""
    return _NAME.fullmatch(text) is not None


def find_secrets(
    user: Path, project_id: str | None, environ: Mapping[str, str], flags: Mapping[str, Path]
) -> Secrets:
    """Find every secret; of those of one name the first in the order.

    Args:
        project_id: None outside of any project.
        flags: what was given on the command line: files by the secret's name.

    Raises:
        UsageError: a file is not text, or too large.
        OSError: a file can not be read.
    """
    given = {name: _read_flag(name, path) for name, path in flags.items()}
    files = list(_read_directory(user_secrets(user), Source.USER))
    if project_id is not None:
        files += _read_directory(project_secrets(user, project_id), Source.PROJECT)
    candidates = [*given.values(), *files, *_read_variables(environ)]
    # A file of that name, an empty one too, says that the person wants nothing of gh.
    by_file = any(secret.name == GITHUB_TOKEN for secret in (*given.values(), *files))
    if not by_file and all(secret.name != GITHUB_TOKEN for secret in candidates):
        candidates += _ask_gh(environ)
    ended = {(Source.FLAG, name) for name, secret in given.items() if not secret.value}
    ended |= {(Source.GH, GITHUB_TOKEN)} if by_file else set()
    return Secrets(_first_of_each(candidates), frozenset(ended))


def _first_of_each(candidates: Iterable[Secret]) -> tuple[Secret, ...]:
    """Keep the first of each name in the order of sources; empty ones give nothing."""
    best: dict[str, Secret] = {}
    for secret in sorted(candidates, key=lambda secret: ORDER.index(secret.source)):
        if secret.value:
            best.setdefault(secret.name, secret)
    return tuple(best[name] for name in sorted(best))


def _read_directory(directory: Path, source: Source) -> Iterator[Secret]:
    """Read the files of a directory; the user's own, so they may be links."""
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.is_file() and is_name(path.name):
            yield _read(path.name, path, source)


def _read_flag(name: str, path: Path) -> Secret:
    try:
        return _read(name, path, Source.FLAG)
    except OSError as error:
        raise UsageError(
            f"--secret {name}={path}: {error.strerror}",
            hint="name a file that holds the secret; what a command prints: NAME=<(command)",
        ) from error


def _read(name: str, path: Path, source: Source) -> Secret:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UsageError(f"secret {path} is larger than {MAX_BYTES} bytes")
    try:
        value = content.decode("utf-8")
    except UnicodeDecodeError:
        # Without the cause, which holds the content.
        raise UsageError(f"secret {path} is not UTF-8 text") from None
    # An ssh key needs its last line break; a token in a header must not have it.
    return Secret(name, value.strip() if name in VARIABLES else value, source, str(path))


def _read_variables(environ: Mapping[str, str]) -> Iterator[Secret]:
    for name, variables in VARIABLES.items():
        for variable in variables:
            value = environ.get(variable, "").strip()
            if value:
                yield Secret(name, value, Source.ENVIRONMENT, f"${variable}")
                break


def _ask_gh(environ: Mapping[str, str]) -> Iterator[Secret]:
    """Ask gh for its login at github.com; whatever goes wrong with it is no login."""
    program = shutil.which("gh", path=environ.get("PATH", os.defpath))
    if program is None:
        return
    words = ("auth", "token", "--hostname", GITHUB)
    quiet = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
    try:
        answer = proc.run(program, *words, env={**environ, **quiet}, timeout=GH_SECONDS)
    except CommandFailed:
        return
    value = answer.stdout.decode("utf-8", "replace").strip()
    if value and value.isprintable() and " " not in value:
        yield Secret(GITHUB_TOKEN, value, Source.GH, f"gh {' '.join(words)}")
