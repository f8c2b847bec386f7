"""What a transcript says of the work at hand, from the structured lines at its end.

Claude Code writes one JSON object a line. Nothing is guessed from prose: a request is a line of the
user's, tasks and files are what the results of tools say.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cspace.errors import MALFORMED

# What the end of a transcript is: hundreds of lines, and some milliseconds to read.
TAIL_BYTES = 1024 * 1024
# One of these is in every line that says something; parsing the others would take most of the time.
_TELLING = (b'"user"', b'"last-prompt"', b'"toolUseResult"', b'-title"')
# No line that says something is shorter; a million of those that are would take a second.
_SHORTEST = 24
# How Claude Code marks what a person's own command said; it is not a request to the model.
_COMMANDS = ("<command-name>", "<command-message>", "<local-command-")


@dataclass(frozen=True, slots=True)
class Task:
    """One task of the session's list."""

    subject: str
    status: str


@dataclass(slots=True)
class Moment:
    """What is known at the end of a transcript. Not frozen, since lines add to it.

    Attributes:
        custom_title, ai_title: what a person and what Claude Code called the session.
        typed: the user's last request.
        last_prompt: the same as Claude Code repeats it, cut short, nearer to the end.
        tasks: by their id, in the order in which they were made.
        edited: paths of files, the last edited last.
    """

    custom_title: str = ""
    ai_title: str = ""
    typed: str = ""
    last_prompt: str = ""
    tasks: dict[str, Task] = field(default_factory=dict)
    edited: dict[str, None] = field(default_factory=dict)

    @property
    def request(self) -> str:
        return self.typed or self.last_prompt

    @property
    def files(self) -> tuple[str, ...]:
        """Files that were edited, the latest first."""
        return tuple(reversed(self.edited))

    @property
    def title(self) -> str:
        return self.custom_title or self.ai_title


def read_tail(descriptor: int, limit: int = TAIL_BYTES) -> list[bytes]:
    """Return the whole lines among a file's last bytes.

    Args:
        descriptor: of a regular file; stays open.
    """
    size = os.fstat(descriptor).st_size
    start = max(0, size - limit)
    content = os.pread(descriptor, limit, start)
    lines = content.split(b"\n")
    return lines[1:] if start else lines


def parse_moment(lines: Iterable[bytes]) -> Moment:
    """Collect what lines say; one that can not be read says nothing."""
    moment = Moment()
    for line in lines:
        if len(line) >= _SHORTEST and any(word in line for word in _TELLING):
            try:
                document = json.loads(line)
            except MALFORMED:
                continue
            if isinstance(document, dict) and not document.get("isSidechain"):
                _learn(moment, document)
    return moment


def _learn(moment: Moment, line: dict[str, Any]) -> None:
    match line:
        case {"type": "last-prompt", "lastPrompt": str(prompt)}:
            moment.last_prompt = prompt
        case {"type": "ai-title", "aiTitle": str(title)}:
            moment.ai_title = title
        case {"type": "custom-title", "customTitle": str(title)}:
            moment.custom_title = title
        case {"type": "user", "toolUseResult": dict(result)}:
            _learn_result(moment, result)
        case {"type": "user", "message": {"content": content}} if _is_request(line):
            moment.typed = _text_of(content) or moment.typed


def _is_request(line: dict[str, Any]) -> bool:
    marks = ("isMeta", "isCompactSummary", "toolUseResult", "sourceToolAssistantUUID")
    return not any(line.get(mark) for mark in marks)


def _text_of(content: object) -> str:
    """Return what a person typed; "" for the results of tools and for commands."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict)]
        if any(block.get("type") == "tool_result" for block in blocks):
            return ""
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        content = "\n".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str) or content.lstrip().startswith(_COMMANDS):
        return ""
    return content


def _learn_result(moment: Moment, result: dict[str, Any]) -> None:
    match result:
        case {"task": {"id": str(id_), "subject": str(subject)}}:
            moment.tasks[id_] = Task(subject, "pending")
        case {"taskId": str(id_), "statusChange": {"to": str(status)}} if id_ in moment.tasks:
            moment.tasks[id_] = Task(moment.tasks[id_].subject, status)
        case {"tasks": list(tasks)} | {"newTodos": list(tasks)}:
            moment.tasks = dict(_listed(tasks))
        case {"filePath": str(path), "structuredPatch": list()} | {"notebook_path": str(path)}:
            moment.edited.pop(path, None)
            moment.edited[path] = None


def _listed(tasks: list[object]) -> Iterable[tuple[str, Task]]:
    for number, task in enumerate(tasks):
        match task:
            case {"id": str(id_), "subject": str(subject), "status": str(status)}:
                yield id_, Task(subject, status)
            case {"content": str(subject), "status": str(status)}:
                yield f"todo {number}", Task(subject, status)
