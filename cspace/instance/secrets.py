"""Credentials reach an instance as files in one mounted directory, and by no other way.

The directory is mounted, not its files, so that a rotated secret reaches running instances.

A source that can not be asked again counts as still saying what it said. What a flag gave stays
with the instance until another flag says otherwise. What a variable gave, or gh, stays while the
instance runs: another terminal may have it and this one not. A file can always be asked: a removed
one revokes its secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.errors import MALFORMED, CspaceError
from cspace.files import Owner
from cspace.instance.secret_sources import ORDER, Secret, Secrets, Source, is_name

_OF_THE_INSTANCE = frozenset({Source.FLAG})
_WHILE_IT_RUNS = frozenset({Source.FLAG, Source.ENVIRONMENT, Source.GH})


@dataclass(frozen=True, slots=True)
class Delivered:
    """A secret that an instance has, without its value.

    Attributes:
        source: None where it is not known.
        place: the file, the variable or the command that gave it.
    """

    name: str
    source: Source | None
    place: str


def deliver_secrets(directory: Path, secrets: Secrets, owner: Owner) -> None:
    """Make the directory hold these secrets, for an instance that is about to start."""
    _deliver(directory, secrets, owner, lasting=_OF_THE_INSTANCE)


def update_secrets(directory: Path, secrets: Secrets, owner: Owner) -> None:
    """Make the directory of a running instance hold these secrets."""
    _deliver(directory, secrets, owner, lasting=_WHILE_IT_RUNS)


def list_delivered(directory: Path) -> tuple[Delivered, ...]:
    """List what an instance has been given, by name; reads no value."""
    remembered = _recall(directory)
    try:
        with beneath.pinned(directory.parent, PurePosixPath(directory.name)) as opened:
            names = sorted(path.name for path in opened.iterdir() if is_name(path.name))
    except OSError:
        return ()
    return tuple(remembered.get(name, Delivered(name, None, "")) for name in names)


def is_delivered(directory: Path, secret: Secret) -> bool:
    """Tell whether the directory holds this very value."""
    try:
        return beneath.read_file(directory, PurePosixPath(secret.name)) == secret.value.encode()
    except (OSError, CspaceError):
        return False


def _deliver(directory: Path, secrets: Secrets, owner: Owner, *, lasting: Set[Source]) -> None:
    files.ensure_directory(directory, owner=owner, mode=0o700)
    with beneath.pinned(directory.parent, PurePosixPath(directory.name)) as opened:
        present = {path.name for path in opened.iterdir()}
        kept = {
            name: old
            for name, old in _recall(directory).items()
            if name in present and old.source in lasting and not _replaced(old, secrets)
        }
        for name in present - kept.keys() - secrets.values.keys():
            (opened / name).unlink(missing_ok=True)
        fresh = tuple(secret for secret in secrets.found if secret.name not in kept)
        for secret in fresh:
            files.write_atomic(opened / secret.name, secret.value, mode=0o400, owner=owner)
    new = (Delivered(secret.name, secret.source, secret.place) for secret in fresh)
    _remember(directory, (*kept.values(), *new), owner)


def _replaced(old: Delivered, secrets: Secrets) -> bool:
    """Tell whether what an instance has gives way to what was found now."""
    if old.source is None or (old.source, old.name) in secrets.ended:
        return True
    return any(
        new.name == old.name and ORDER.index(new.source) <= ORDER.index(old.source)
        for new in secrets.found
    )


def _remember(directory: Path, delivered: tuple[Delivered, ...], owner: Owner) -> None:
    text = json.dumps([asdict(one) for one in delivered], indent=2)
    files.write_atomic(_memory(directory), f"{text}\n", mode=0o600, owner=owner)


def _recall(directory: Path) -> Mapping[str, Delivered]:
    """Return what was delivered last, by name."""
    memory = _memory(directory)
    try:
        rows = json.loads(beneath.read_file(memory.parent, PurePosixPath(memory.name)))
        found = [Delivered(row["name"], Source(row["source"]), str(row["place"])) for row in rows]
    except (OSError, CspaceError, *MALFORMED):
        return {}
    return {one.name: one for one in found if is_name(one.name)}


def _memory(directory: Path) -> Path:
    """Beside the directory, which is mounted; names and sources only."""
    return directory.with_name(f"{directory.name}.json")
