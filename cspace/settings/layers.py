"""Reads each place that settings come from into one layer: files, the environment, flags."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from cspace import beneath
from cspace.errors import CspaceError, UsageError
from cspace.settings.model import Settings, iter_keys
from cspace.settings.problems import translate, unknown_key

MAX_BYTES = 1_000_000
PREFIX = "CSPACE_"
CERTIFICATES = "SSL_CERT_FILE"
SYSTEM_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
LOCAL_FILE = ".cspace.local.json"
PROJECT_FILES = (".cspace.json", LOCAL_FILE)

# Ours, but not settings: what instances, tests and demos carry in their environment.
NOT_SETTINGS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("DEBUG", "DEMO", "GIT_EMAIL", "GIT_NAME", "HOME", "IMAGE", "INSTANCE", "OFFLINE"),
        "SOAK",
    )
)


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source sets, checked; keys that it does not set are absent.

    Attributes:
        source: the file's path, the variable's name, or `--set <key>`.
    """

    source: str
    values: Mapping[str, Any]


def read_user_file(path: Path) -> Iterator[Layer]:
    """Read the user's own file, where it exists; it may be a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path}: can not be read: {error.strerror}") from error
    yield Layer(str(path), _parse(str(path), _read(descriptor, path)))


def read_project_files(root: Path) -> Iterator[Layer]:
    """Read the files of the project that exist; a link could lead to any file of the user."""
    for name in PROJECT_FILES:
        data = read_project_bytes(root, name)
        if data is not None:
            yield Layer(str(root / name), _parse(str(root / name), data))


def read_project_bytes(root: Path, name: str) -> bytes | None:
    """Read a file of the project; None where there is none.

    Raises:
        UsageError: it can not be read, is a link, or is too large.
    """
    path = root / name
    try:
        descriptor = beneath.open_file(root, PurePosixPath(name))
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise UsageError(f"{path}: can not be read: {reason}") from error
    except CspaceError as error:
        raise UsageError(str(error)) from error
    return _read(descriptor, path)


def read_environment(environ: Mapping[str, str]) -> Iterator[Layer]:
    """Read CSPACE_PORTS='[3000]', CSPACE_LIMITS__CPUS=2, CSPACE_ENV__NODE_ENV=test …"""
    known = {f"{PREFIX}{'__'.join(path).upper()}": path for path, _ in iter_keys()}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
            continue
        group, _, name = variable.partition("__")
        path = ("env", name) if group == f"{PREFIX}ENV" and name else known.get(variable)
        if path is None:
            raise unknown_key("environment", variable, known)
        yield Layer(variable, _parse_text(variable, path, environ[variable]))


def read_certificates(environ: Mapping[str, str]) -> Iterator[Layer]:
    """Take the CA bundle that the host's own programs use, where that file exists.

    Companies that intercept TLS install their authority into the system's bundle, and many shells
    never set the variable.
    """
    named = environ.get(CERTIFICATES)
    path = Path(named) if named else SYSTEM_BUNDLE
    if path.is_file():
        yield Layer(CERTIFICATES if named else "system", {"ca_bundle": path.absolute()})


def read_flags(flags: Mapping[str, object]) -> Iterator[Layer]:
    """Read {"limits.cpus": 2}, or {"limits.cpus": "2"} as `--set limits.cpus=2` gives it."""
    for key, value in flags.items():
        source, path = f"--set {key}", tuple(key.split(".", 1))
        if isinstance(value, str):
            yield Layer(source, _parse_text(source, path, value))
        else:
            yield Layer(source, _check(source, path, value))


def _read(descriptor: int, path: Path) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{path} is not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES} bytes, too large for settings")
    return data


def _parse(source: str, data: str | bytes) -> dict[str, Any]:
    try:
        return Settings.model_validate_json(data).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise translate(source, error) from error


def _check(source: str, path: tuple[str, ...], value: object) -> dict[str, Any]:
    for name in reversed(path):
        value = {name: value}
    # Through JSON, so that a flag's list or path meets the same strict rules as a file's.
    return _parse(source, json.dumps(value, default=str))


def _parse_text(source: str, path: tuple[str, ...], text: str) -> dict[str, Any]:
    """Take a value as text where its key takes text, and as JSON everywhere else."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"{source}: {'.'.join(path)} is not UTF-8 text") from error
    try:
        return _check(source, path, text)
    except UsageError:
        try:
            value = from_json(data)
        except ValueError:
            value = text
        return _check(source, path, value)
