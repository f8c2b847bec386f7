"""What a project's files ask for that widens access, and what the user allowed of it.

`~/.cspace/trust.json` holds for each project the digests of what was allowed. A digest is of the
widening keys and their values alone: it stands for what a person was shown, and an edit of another
key does not ask again. No instance can write there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cspace import files
from cspace.errors import UsageError
from cspace.settings import layers
from cspace.settings.layers import Layer
from cspace.settings.model import Widens, iter_rules

SCHEMA = 1
LOCK_TIMEOUT_SECONDS = 10.0

# A project's root -> the digests of what it was allowed.
Allowed = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Ask:
    """One key that widens access, with its value as JSON has it, and what it allows in words."""

    key: str
    value: Any
    allows: str


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one file of a project asks for."""

    path: str
    asks: tuple[Ask, ...]
    trusted: bool

    @property
    def digest(self) -> str:
        asked = {ask.key: ask.value for ask in self.asks}
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("ascii")).hexdigest()


def list_requests(user: Path, root: Path) -> tuple[Request, ...]:
    """Read what the files of a project ask for; nothing where none widens access.

    Raises:
        UsageError: a file is wrong, or it can not be told whether it is trusted.
    """
    return find_requests(user, root, layers.read_project_files(root))


def find_requests(user: Path, root: Path, project: Iterable[Layer]) -> tuple[Request, ...]:
    """Find what the layers of a project ask for; the user's answers are read only if they matter.

    Raises:
        UsageError: it can not be told whether they are trusted.
    """
    found = [Request(layer.source, _asks_of(layer), trusted=False) for layer in project]
    found = [request for request in found if request.asks]
    allowed = _load(_store(user)).get(str(root), ()) if found else ()
    return tuple(replace(request, trusted=request.digest in allowed) for request in found)


def without(layer: Layer, request: Request) -> Layer:
    """Return what is left of a layer when it gets nothing of what it asks for."""
    values = dict(layer.values)
    for ask in request.asks:
        group, _, name = ask.key.partition(".")
        if name:
            values[group] = {key: value for key, value in values[group].items() if key != name}
        else:
            del values[group]
    return Layer(layer.source, values)


def refusal(requests: Iterable[Request]) -> UsageError:
    """Describe requests that are not trusted."""
    said = (
        f"{request.path} widens access ({', '.join(ask.key for ask in request.asks)})"
        for request in requests
    )
    return UsageError(
        f"{' and '.join(said)} and is not trusted",
        hint="see what it asks for, and allow it: cspace trust",
    )


def approve(user: Path, root: Path, requests: Iterable[Request]) -> tuple[Request, ...]:
    """Record requests as allowed, as they were shown: the files are not read again.

    Raises:
        UsageError: the record of earlier answers is damaged; it stays as it is.
        Conflict: another cspace is writing it.
    """
    trusted = tuple(replace(request, trusted=True) for request in requests)
    with _changing(user) as allowed:
        known = allowed.get(str(root), [])
        allowed[str(root)] = sorted({*known, *(request.digest for request in trusted)})
    return trusted


def revoke(user: Path, root: Path) -> bool:
    """Take back all that a project was allowed; return whether there was anything.

    Raises:
        UsageError: the record of earlier answers is damaged; it stays as it is.
        Conflict: another cspace is writing it.
    """
    if str(root) not in _load(_store(user)):
        return False
    with _changing(user) as allowed:
        return allowed.pop(str(root), None) is not None


def _asks_of(layer: Layer) -> tuple[Ask, ...]:
    """Find the widening keys of a layer, whatever their value but the one that never widens.

    Even an empty one can take away what the user's own settings say.
    """
    asks = []
    for path, rule in iter_rules():
        group: Any = layer.values
        for name in path[:-1]:
            group = group.get(name, {})
        if not isinstance(rule, Widens) or path[-1] not in group:
            continue
        if rule.unless is None or group[path[-1]] != rule.unless:
            asks.append(Ask(".".join(path), group[path[-1]], rule.allows))
    return tuple(asks)


def _store(user: Path) -> Path:
    return user / "trust.json"


@contextlib.contextmanager
def _changing(user: Path) -> Iterator[Allowed]:
    """Give what is recorded, and replace the record by what became of it."""
    files.ensure_directory(user, mode=0o700)
    with files.lock(user / ".trust.lock", timeout=LOCK_TIMEOUT_SECONDS, holder="cspace trust"):
        allowed = _load(_store(user))
        yield allowed
        text = json.dumps({"schema": SCHEMA, "projects": allowed}, indent=2, sort_keys=True)
        files.write_atomic(_store(user), f"{text}\n", mode=0o600)


def _load(path: Path) -> Allowed:
    """Read what was allowed; only a file that is not there means nothing.

    Raises:
        UsageError: it can not be read, or is not what a cspace of this version wrote.
    """
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error.strerror or "") from error
    except ValueError as error:
        raise _unreadable(path, "it is not JSON") from error
    match document:
        case {"schema": int(schema)} if schema > SCHEMA:
            raise UsageError(
                f"{path} has schema {schema}, this cspace knows {SCHEMA}",
                hint="use the newer cspace that wrote it",
            )
        case {"schema": 1, "projects": dict(projects)} if all(map(_are_digests, projects.values())):
            return projects
    raise _unreadable(path, "it is not what cspace writes")


def _are_digests(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(digest, str) for digest in found)


def _unreadable(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path} can not be read, so nothing of a project is trusted: {reason}",
        hint=f"repair it, or move it away and run cspace trust in each project: ls -l {path}",
    )
