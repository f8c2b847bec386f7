"""Logins of Claude Code that lie in two places: whoever refreshes first logs the other out.

A refresh token is good for one use. What is in an instance is an agent's: it is opened without
following links, read up to a size, and only compared by its hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.doctor.model import Diagnosis, Patient
from cspace.errors import MALFORMED, CspaceError
from cspace.instance.observe import project_ids, state_names
from cspace.paths import instance_paths

FILE = ".credentials.json"
MAX_BYTES = 64 * 1024
TOKEN_FILE = "~/.cspace/secrets/claude_code_oauth_token"  # noqa: S105  where it lies


@dataclass(frozen=True, slots=True)
class Login:
    """One login in a file.

    Attributes:
        holder: whose it is, for a person.
        own: whether it is the person's own, on the host.
    """

    holder: str
    path: Path
    own: bool


def check_logins(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare the logins of all instances of this user, and the user's own on the host."""
    held: defaultdict[bytes, list[Login]] = defaultdict(list)
    for login, token in _iter_logins(patient):
        held[token].append(login)
    return tuple(_copied(logins) for logins in held.values() if len(logins) > 1)


def _copied(logins: list[Login]) -> Diagnosis:
    first, *others = logins
    names = " and ".join((first.holder, *(one.holder for one in others)))
    problem = f"{names} have one copied login of Claude Code: who refreshes it logs the others out"
    remove = "; ".join(f"rm -- {shlex.quote(str(one.path))}" for one in others)
    repair = f"{remove}; then log in there, or for all: claude setup-token, kept in {TOKEN_FILE}"
    return Diagnosis("logins", problem, repair)


def _iter_logins(patient: Patient) -> Iterator[tuple[Login, bytes]]:
    named = patient.environ.get("CLAUDE_CONFIG_DIR")
    own = (Path(named) if named else patient.user.parent / ".claude") / FILE
    token = _own_token(own)
    if token is not None:
        yield Login(f"you ({own})", own, own=True), token
    for project in project_ids(patient.user):
        for name in state_names(patient.user, project):
            directory = instance_paths(patient.user, project, name).claude
            token = _token_inside(patient.user, directory)
            if token is not None:
                shown = name if project == patient.project.id else f"{name} of {project}"
                yield Login(f"instance {shown}", directory / FILE, own=False), token


def _own_token(path: Path) -> bytes | None:
    """Read the person's own, which may be a link to wherever they keep such files."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return _hash(file.read(MAX_BYTES + 1))
    except OSError:
        return None


def _token_inside(user: Path, directory: Path) -> bytes | None:
    try:
        relative = PurePosixPath(directory.relative_to(user)) / FILE
        with os.fdopen(beneath.open_file(user, relative), "rb") as file:
            return _hash(file.read(MAX_BYTES + 1))
    except (OSError, CspaceError):
        return None


def _hash(content: bytes) -> bytes | None:
    if len(content) > MAX_BYTES:
        return None
    try:
        token = json.loads(content)["claudeAiOauth"]["refreshToken"]
        return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest() if token else None
    except (*MALFORMED, AttributeError):
        return None
