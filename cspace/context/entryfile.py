"""The files of the context: front matter, sections and updates, from and to typed records."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Mapping

from cspace.context.blocks import HEADING
from cspace.context.records import LAYOUTS, UPDATES, Entry, Info, Kind, Update
from cspace.docstore import frontmatter
from cspace.docstore.frontmatter import FrontMatter, Value
from cspace.docstore.sections import unframed

_DATED = re.compile(r"\d{4}-\d\d-\d\d(?=-|\Z)")
_HEADING = re.compile(r"^# +(.+?)[ \t]*\r?$", re.MULTILINE)


def dump_entry(kind: Kind, pairs: tuple[tuple[str, Value], ...], texts: Mapping[str, str]) -> bytes:
    """Write a record's file."""
    header = frontmatter.dump_front_matter(pairs)
    return f"{header}\n{LAYOUTS[kind].render(texts)}".encode()


def parse_entry(kind: Kind, slug: str, path: str, document: bytes) -> Entry:
    """Read a record's file, whoever wrote it; what it does not say stays empty."""
    header = frontmatter.parse_front_matter(document)
    body = document[header.body :].decode("utf-8", "replace")
    sections = LAYOUTS[kind].parse(body)
    updates = parse_updates(sections.get(UPDATES, ""))
    created = _created(header, slug)
    times = [created, *(update.time for update in updates)]
    info = Info(
        kind=kind,
        slug=slug,
        path=path,
        title=header.prose("title") or _first_heading(body) or slug,
        created=created,
        updated=max((time for time in times if time is not None), default=None),
        author=header.text("author") or "",
        status=header.text("status") or "",
        category=header.text("category") or "",
        tags=header.texts("tags"),
        related=header.texts("related"),
    )
    return Entry(info, document.decode("utf-8", "replace"), body, sections, updates)


def _first_heading(body: str) -> str | None:
    heading = _HEADING.search(body)
    return heading[1] if heading else None


def _created(header: FrontMatter, slug: str) -> datetime.datetime | None:
    return (
        parse_time(header.text("created") or "")
        or parse_time(header.text("date") or "")
        or parse_time(dated(slug))
    )


def dated(slug: str) -> str:
    """Return the date that a name starts with, empty when there is none."""
    found = _DATED.match(slug)
    return found[0] if found else ""


def parse_time(text: str) -> datetime.datetime | None:
    """Read an ISO 8601 date or time; one without a zone is UTC."""
    try:
        time = datetime.datetime.fromisoformat(text.strip())
        return (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def dump_update(update: Update) -> str:
    """Write one block of a finding's history, without the line end that closes it."""
    time = update.time.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    note = LAYOUTS[Kind.FINDING].escape(update.note)
    return f"### {time} — @{update.author} — status: {update.status}\n{note}"


def parse_updates(section: str) -> tuple[Update, ...]:
    """Read a finding's history; a block whose time is no time is not one."""
    found = list(HEADING.finditer(section))
    updates = []
    for heading, following in itertools.zip_longest(found, found[1:]):
        start, end = heading.end(), len(section)
        if following is not None:
            crlf = heading[0].endswith("\r\n")
            start, end = unframed(section, start, following.start(), crlf=crlf)
        note = LAYOUTS[Kind.FINDING].unescape(section[start:end])
        if time := parse_time(heading[1]):
            updates.append(Update(time, heading[2], heading[3], note))
    return tuple(updates)


def append_update(document: bytes, update: Update, *, status: str | None) -> bytes:
    """Return a finding's file with one more block at its end, and its status line replaced.

    Every other byte stays as it is.

    Args:
        status: the new status; None leaves the line alone.
    """
    if status is not None:
        document = frontmatter.replace_value(document, "status", status)
    if document and not document.endswith(b"\n"):
        document += b"\n"
    body = document[frontmatter.parse_front_matter(document).body :].decode("utf-8", "replace")
    if UPDATES not in LAYOUTS[Kind.FINDING].locate(body):
        document += f"\n## {UPDATES}".encode()
    return document + f"\n{dump_update(update)}\n".encode()
