"""Sessions of an instance, as Claude Code leaves them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from cspace.sessions.place import Place, Session, get_session, list_sessions

SLUG = "-workspace"


@dataclass(frozen=True, slots=True)
class Desk:
    """Where an instance's sessions lie, and what lies there."""

    place: Place

    @property
    def path(self) -> Path:
        return self.place.path

    def transcript(self, id_: str, *lines: object, slug: str = SLUG, age: int = 0) -> Path:
        """Write a transcript that changed some seconds ago."""
        path = self.path / slug / f"{id_}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        os.utime(path, (1_800_000_000 - age,) * 2)
        return path

    def notes(self, id_: str, text: str, slug: str = SLUG) -> Path:
        path = self.path / slug / f"{id_}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return path

    def session(self, id_: str | None = None) -> Session:
        return get_session(list_sessions(self.place), id_)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    below = PurePosixPath("sessions/sample-0123abcd/mercury")
    (tmp_path / "user" / below).mkdir(parents=True)
    return Desk(Place("mercury", tmp_path / "user", below))
