"""The ten sections of session notes: read as laxly as agents write them, replaced one at a time.

A section begins at its heading, of any level and in any case, and ends at the next known heading or
at any other heading of its level or above. All else stays: what stands before the first section,
unknown sections, line endings. On writing, a line of an author's text that could end its section
gets a backslash, which markdown shows as the plain line, and loses it again on reading.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass

from cspace.docstore.sections import BREAKS, FENCE, Layout, Span, list_fenced, unframed

CURRENT_STATE = "Current State"
TASK = "Task specification"
TITLE = "Session Title"
WORKLOG = "Worklog"
NAMES = (
    *(TITLE, CURRENT_STATE, TASK, "Files and Functions", "Workflow", "Errors & Corrections"),
    *("Codebase and System Documentation", "Learnings", "Key Results", WORKLOG),
)
EMPTY = Layout(NAMES).render({})

_LEVEL = 2
_KNOWN_NAMES = "|".join(map(re.escape, NAMES))
# Possessive: giving back spaces one by one would take hours on a line of a million.
_KNOWN = re.compile(
    rf"(?:\A\ufeff|^)[ ]{{0,3}}(#{{1,6}})[ \t]+({_KNOWN_NAMES})[ \t]*+#*+[ \t]*+\r?(?:\n|\Z)",
    re.MULTILINE | re.IGNORECASE,
)
_ANY = re.compile(r"^[ ]{0,3}(#{1,6})(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NAMED = rf"[ \t]+(?:{_KNOWN_NAMES})[ \t]*+#*+[ \t]*+(?=[{BREAKS}]|\Z)"
_STRUCTURE = re.compile(
    rf"((?:\A|(?<=[{BREAKS}]))[ ]{{0,3}})(\\*+)"
    rf"(?=(#{{1,6}})(?=[ \t{BREAKS}]|\Z)({_NAMED})?|`{{3}}|~{{3}})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section stands.

    Attributes:
        name: as in NAMES, however the heading is written.
        level: how many # its heading has.
        heading: its line, with its line end.
        body: all that belongs to it, with the line ends that frame it.
    """

    name: str
    level: int
    heading: Span
    body: Span


def find_sections(notes: str) -> tuple[Section, ...]:
    """Find the sections as they stand, in whatever order; one name may stand twice.

    A heading in a closed code block counts where its name has no other.
    """
    headings = list(_KNOWN.finditer(notes))
    fenced = list_fenced(notes)
    plain = {_name(one) for one in headings if not _inside(fenced, one.start())}
    counted = [
        one for one in headings if _name(one) not in plain or not _inside(fenced, one.start())
    ]
    ends = [*(one.start() for one in counted), len(notes)][1:]
    return tuple(_section(notes, one, end) for one, end in zip(counted, ends, strict=True))


def _name(heading: re.Match[str]) -> str:
    return next(name for name in NAMES if name.lower() == heading[2].lower())


def _inside(fenced: list[Span], position: int) -> bool:
    block = bisect.bisect(fenced, (position,)) - 1
    return block >= 0 and position < fenced[block].end


def _section(notes: str, heading: re.Match[str], limit: int) -> Section:
    level = len(heading[1])
    inner = notes[heading.end() : limit]
    fenced = list_fenced(inner)
    for other in _ANY.finditer(inner):
        if len(other[1]) <= level and not _inside(fenced, other.start()):
            limit = heading.end() + other.start()
            break
    return Section(
        _name(heading), level, Span(heading.start(), heading.end()), Span(heading.end(), limit)
    )


def find_section(notes: str, name: str) -> Section | None:
    """Return the first section of a name."""
    return next((one for one in find_sections(notes) if one.name == name), None)


def raw_text(notes: str, section: Section) -> str:
    """Return a section's text as it stands in the file."""
    crlf = notes.endswith("\r\n", *section.heading)
    last = section.body.end == len(notes)
    return notes[slice(*unframed(notes, *section.body, crlf=crlf, last=last))]


def read_section(notes: str, name: str) -> str | None:
    """Return a section's text as its author gave it, None when there is no such section."""
    section = find_section(notes, name)
    return None if section is None else unescape(raw_text(notes, section))


def replace_section(notes: str, name: str, text: str) -> str:
    """Replace one section; every byte outside of it stays. A missing one is put in its place."""
    section = find_section(notes, name)
    level = section.level if section else _usual_level(notes)
    return replace_raw(notes, name, escape(text, level))


def replace_raw(notes: str, name: str, raw: str) -> str:
    """Replace one section by a text that is written already as it should stand in the file."""
    section = find_section(notes, name)
    if section is None:
        return _insert(notes, name, raw)
    heading = notes[slice(*section.heading)]
    newline = "\r\n" if heading.endswith(("\r\n", "\r")) else "\n"
    body = raw + newline if raw else ""
    if section.body.end < len(notes):
        body += newline
    if not heading.endswith("\n"):
        body = newline.removeprefix("\r" * heading.endswith("\r")) + body
    return notes[: section.body.start] + body + notes[section.body.end :]


def _insert(notes: str, name: str, raw: str) -> str:
    place = NAMES.index(name)
    newline = "\r\n" if "\r\n" in notes else "\n"
    piece = f"{'#' * _usual_level(notes)} {name}{newline}" + (raw + newline if raw else "")
    for other in find_sections(notes):
        if NAMES.index(other.name) > place:
            # A mark of byte order stays at the very beginning.
            start = other.heading.start + notes.startswith("\ufeff", other.heading.start)
            return notes[:start] + piece + newline + notes[start:]
    before = newline if notes.endswith("\n") else newline * 2 if notes else ""
    return notes + before + piece


def _usual_level(notes: str) -> int:
    sections = find_sections(notes)
    return sections[0].level if sections else _LEVEL


def escape(text: str, level: int = _LEVEL) -> str:
    """Return text with a backslash before each line that could end a section of this level.

    So are fences of a code block that is never closed: they would hide what follows.
    """
    fenced = list_fenced(text)
    closed = fenced[-1].end if fenced else 0

    def guard(line: re.Match[str]) -> str:
        heading = line[3]
        if heading is None:
            guarded = line.end() >= closed and bool(FENCE.match(text, line.start()))
        else:
            ends = len(heading) <= level and not _inside(fenced, line.start())
            guarded = line[4] is not None or ends
        return f"{line[1]}\\{line[2]}" if line[2] or guarded else line[0]

    return _STRUCTURE.sub(guard, text)


def unescape(text: str) -> str:
    """Return what `escape` was given."""
    if "\\" not in text:
        return text
    return _STRUCTURE.sub(lambda line: line[1] + line[2][1:], text)
