"""The block in which cspace keeps what was known before a compaction, within the notes' budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from cspace.sessions.budget import SECTION_TOKENS, TOTAL_TOKENS, estimate_tokens
from cspace.sessions.sections import (
    CURRENT_STATE,
    WORKLOG,
    find_section,
    raw_text,
    replace_raw,
)
from cspace.sessions.transcript import Moment, Task

BEGIN = "<!-- cspace: kept before a compaction; written anew at the next one -->"
END = "<!-- cspace: end of what was kept -->"
# Most of a section stays its author's: the block takes at most this much of the 2,000.
BLOCK_TOKENS = 1_200
REQUEST_CHARACTERS = 1_200
REQUEST_LINES = 12
LINE_CHARACTERS = 160
MOST_TASKS = 15
MOST_FILES = 12
_REQUEST = "Last request of the user:"
_TASKS = "Tasks as last set:"
_FILES = "Files edited lately, the latest first:"
_CAPTIONS = (_REQUEST, _TASKS, _FILES)
# Always the same, so that what an author wrote before it comes back byte for byte.
_BETWEEN = "\n\n"
_LINE_ENDS = re.compile("[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Compaction:
    """When and why it happened.

    Attributes:
        trigger: `auto` when the window was full, `manual` when somebody asked.
        instructions: what they asked for.
    """

    time: datetime
    trigger: str
    instructions: str

    @property
    def line(self) -> str:
        why = {"auto": "the context window was full", "manual": "asked for by /compact"}
        said = f": {_one_line(self.instructions)}" if self.instructions else ""
        time = f"{self.time:%Y-%m-%dT%H:%M:%SZ}"
        return f"{time} compaction, {why.get(self.trigger, _one_line(self.trigger))}{said}"


def keep(notes: str, compaction: Compaction, moment: Moment) -> str:
    """Return notes with the block below what authors wrote in Current State, and a line in Worklog.

    What does not fit into the budgets is left out, from the end; authors' texts stay.
    """
    notes = _drop_block(notes)
    room = min(_room(notes, CURRENT_STATE), BLOCK_TOKENS)
    block = _fit_block(list(_lines(compaction, moment)), room)
    if block:
        raw = _raw(notes, CURRENT_STATE)
        notes = replace_raw(notes, CURRENT_STATE, raw + _BETWEEN + block if raw else block)
    line = f"- {compaction.line}"
    if estimate_tokens(f"\n{line}\n") < _room(notes, WORKLOG):
        raw = _raw(notes, WORKLOG)
        between = "" if not raw or raw.endswith("\n") else "\n"
        notes = replace_raw(notes, WORKLOG, raw + between + line)
    return notes


def _drop_block(notes: str) -> str:
    """Return notes without the block that ends Current State."""
    raw = _raw(notes, CURRENT_STATE)
    start = raw.rfind(BEGIN)
    own_line = start == 0 or (start > 0 and raw[start - 1] == "\n")
    if not own_line or not raw.rstrip().endswith(END):
        return notes
    return replace_raw(notes, CURRENT_STATE, raw[:start].removesuffix(_BETWEEN))


def _raw(notes: str, name: str) -> str:
    section = find_section(notes, name)
    return raw_text(notes, section) if section else ""


def _room(notes: str, name: str) -> int:
    """Return the tokens that a section can take on."""
    # Rounding up may add a token, and a heading and empty lines a few.
    left = SECTION_TOKENS - estimate_tokens(_raw(notes, name))
    return min(left, TOTAL_TOKENS - estimate_tokens(notes)) - 8


def _fit_block(lines: list[str], room: int) -> str:
    while lines:
        block = "\n".join((BEGIN, *lines, END))
        if estimate_tokens(block) <= room:
            return block
        lines.pop()
        if lines and lines[-1] in _CAPTIONS:
            lines.pop()
    return ""


def _lines(compaction: Compaction, moment: Moment) -> Iterator[str]:
    """Yield the lines of the block: none of them can be taken for a heading, a fence or its end."""
    yield f"Before {compaction.line}."
    if moment.request:
        yield _REQUEST
        yield from (f"> {line}" for line in _quoted(moment.request))
    if moment.tasks:
        yield _TASKS
        tasks = sorted(moment.tasks.values(), key=_is_done)
        yield from (
            f"- [{_one_line(one.status)}] {_one_line(one.subject)}" for one in tasks[:MOST_TASKS]
        )
        yield from _more(len(tasks) - MOST_TASKS)
    if moment.files:
        yield _FILES
        yield from (f"- {_one_line(path)}" for path in moment.files[:MOST_FILES])
        yield from _more(len(moment.files) - MOST_FILES)


def _is_done(task: Task) -> bool:
    return task.status == "completed"


def _more(count: int) -> Iterator[str]:
    if count > 0:
        yield f"- and {count} more"


def _quoted(text: str) -> list[str]:
    lines = [_one_line(line, 400) for line in _LINE_ENDS.split(text[:REQUEST_CHARACTERS])]
    cut = len(text) > REQUEST_CHARACTERS or len(lines) > REQUEST_LINES
    return [*lines[:REQUEST_LINES], *(["… (cut)"] if cut else [])]


def _one_line(text: str, limit: int = LINE_CHARACTERS) -> str:
    line = _UNFIT.sub(" ", text[: limit + 1]).strip()
    return line if len(text) <= limit else f"{line[:limit]}…"
