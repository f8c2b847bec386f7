"""What cspace remembers of an instance beside its workspace: `instance.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.errors import CspaceError
from cspace.files import Owner

SCHEMA = 1


class NewerRecord(CspaceError):
    """A newer cspace wrote it: what belongs to the instance now is unknown here."""


@dataclass(frozen=True, slots=True)
class Record:
    """The facts of an instance that can not be read off its containers.

    Attributes:
        project: the project's id.
        root: the project's main worktree.
        branch: what the workspace was created on.
        base: the commit that the workspace started from.
        known: commits that the host's repository had then; an archive need not hold them.
        engine: the id of the engine that runs it.
        created: aware UTC time.
        restoring: the archive that is being unpacked; None once the workspace is whole.
    """

    name: str
    project: str
    root: Path
    branch: str
    base: str
    known: tuple[str, ...]
    engine: str
    created: datetime
    restoring: str | None = None


def save_record(path: Path, record: Record, owner: Owner) -> None:
    """Write a record, whole or not at all."""
    data = asdict(record) | {"root": str(record.root), "created": record.created.isoformat()}
    text = json.dumps({"schema": SCHEMA, **data}, indent=2) + "\n"
    files.write_atomic(path, text, mode=0o600, owner=owner)


def _check_texts(data: Mapping[str, object]) -> None:
    for key, value in data.items():
        texts = value if key == "known" and isinstance(value, list) else [value]
        if not all(
            isinstance(text, str) or (text is None and key == "restoring") for text in texts
        ):
            raise TypeError(f"{key} is {value!r}, not a text")


def load_record(path: Path) -> Record:
    """Read a record.

    Raises:
        NewerRecord: it is of a version that this cspace does not know.
        CspaceError: it is damaged.
        OSError: it can not be read.
    """
    raw = beneath.read_file(path.parent, PurePosixPath(path.name))
    try:
        data = json.loads(raw)
        schema = data.pop("schema")
        if schema == SCHEMA:
            _check_texts(data)
            return Record(
                **data
                | {
                    "root": Path(data["root"]),
                    "known": tuple(data["known"]),
                    "created": datetime.fromisoformat(data["created"]),
                }
            )
        if not isinstance(schema, int) or schema < SCHEMA:
            raise TypeError(f"schema is {schema!r}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = f"cspace down {path.parent.name}"
        raise CspaceError(f"{path} is damaged: {error}", hint=hint) from error
    raise NewerRecord(
        f"{path} has schema {schema}, this cspace knows {SCHEMA}",
        hint="use the newer cspace that wrote it; to lose the work in it:"
        f" cspace down --discard {path.parent.name}",
    )
