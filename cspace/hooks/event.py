"""What Claude Code tells a hook on stdin. None of it is trusted: it names files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cspace.errors import MALFORMED, CspaceError
from cspace.sessions.place import TRANSCRIPT, is_id


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event of one session.

    Attributes:
        slug: the directory of its transcript, below the directory of all.
        cause: of a start: startup, resume, clear, compact; of a compaction: auto, manual.
    """

    session: str
    slug: str
    cause: str
    instructions: str


@dataclass(frozen=True, slots=True)
class PromptEvent:
    """What a person typed."""

    session: str
    text: str


def parse_prompt(content: bytes) -> PromptEvent:
    """Read the event of a prompt.

    Raises:
        CspaceError: it is none.
    """
    document = _object(content)
    session = _text(document, "session_id")
    return PromptEvent(session if is_id(session) else "", _text(document, "prompt"))


def parse_event(content: bytes, projects: Path) -> HookEvent:
    """Read an event.

    Raises:
        CspaceError: it is none, or its transcript lies elsewhere than Claude Code puts it.
    """
    document = _object(content)
    session = _text(document, "session_id")
    return HookEvent(
        session,
        _slug(_text(document, "transcript_path"), session, projects),
        _text(document, "source") or _text(document, "trigger"),
        _text(document, "custom_instructions"),
    )


def _object(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except MALFORMED:
        document = None
    if not isinstance(document, dict):
        raise CspaceError("stdin holds no event of Claude Code's")
    return document


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def _slug(transcript: str, session: str, projects: Path) -> str:
    path = PurePosixPath(transcript)
    expected = is_id(session) and path.name == f"{session}{TRANSCRIPT}"
    if not expected or path.parent.parent != PurePosixPath(projects) or ".." in path.parts:
        raise CspaceError(
            f"transcript_path {transcript!r} is not that of a session of this instance"
        )
    return path.parent.name
