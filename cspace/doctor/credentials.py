"""Credentials: where they come from, who else can read them, and which of two is used."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from cspace.doctor.model import Diagnosis, Patient
from cspace.errors import CspaceError, expected
from cspace.instance.secret_sources import Secret, Source
from cspace.instance.secrets import Delivered
from cspace.paths import user_secrets

_CHECK = "credentials"
API_KEY, LOGIN = "anthropic_api_key", "claude_code_oauth_token"
_ANYBODY_READS = 0o044
_ANYBODY_PASSES = 0o011
MAX_NAMED = 5


def list_credentials(patient: Patient) -> tuple[Delivered, ...]:
    """List what the next `up` in this terminal would deliver, without the values."""
    try:
        found = patient.secrets().found
    except (CspaceError, OSError):
        return ()  # said by the check
    return tuple(Delivered(one.name, one.source, one.place) for one in found)


def check_sources(patient: Patient) -> tuple[Diagnosis, ...]:
    """Read every secret as `up` does, and look for one that has no effect."""
    try:
        found = patient.secrets().found
    except (CspaceError, OSError) as error:
        place = shlex.quote(str(user_secrets(patient.user)))
        known = expected(error)
        return (Diagnosis(_CHECK, str(known), known.hint or f"ls -lR {place}"),)
    by_name = {secret.name: secret for secret in found}
    if API_KEY not in by_name or LOGIN not in by_name:
        return ()
    key, login = by_name[API_KEY], by_name[LOGIN]
    problem = (
        f"both {API_KEY} ({key.place}) and {LOGIN} ({login.place}) are given: Claude Code uses the"
        " API key, which is paid for by use, and not the subscription's token"
    )
    keep = f"to use the subscription: {_take_away(key)}; to use the key: {_take_away(login)}"
    return (Diagnosis(_CHECK, problem, keep),)


def _take_away(secret: Secret) -> str:
    match secret.source:
        case Source.ENVIRONMENT:
            return f"unset {secret.place.removeprefix('$')}"
        case _:
            return f"rm -- {shlex.quote(secret.place)}"


def check_private(patient: Patient) -> tuple[Diagnosis, ...]:
    """Look for files of secrets that other users of this machine can read."""
    place = user_secrets(patient.user)
    try:
        # Where nobody can pass, nothing below can be read whatever its own mode is.
        if not patient.user.stat().st_mode & _ANYBODY_PASSES:
            return ()
        open_files = tuple(_iter_readable(place))
    except OSError:
        return ()
    if not open_files:
        return ()
    named = ", ".join(str(path) for path in open_files[:MAX_NAMED])
    more = f" and {len(open_files) - MAX_NAMED} more" if len(open_files) > MAX_NAMED else ""
    problem = f"other users of this machine can read {named}{more}"
    return (Diagnosis(_CHECK, problem, f"chmod -R go-rwx {shlex.quote(str(place))}"),)


def _iter_readable(directory: Path, depth: int = 3) -> Iterator[Path]:
    if not depth or not directory.is_dir() or not directory.stat().st_mode & _ANYBODY_PASSES:
        return
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _iter_readable(path, depth - 1)
        elif path.is_file() and path.stat().st_mode & _ANYBODY_READS:
            yield path
