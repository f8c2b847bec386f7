"""The files of the context: front matter, sections and updates, from and to typed records."""

from __future__ import annotations

import codecs
import dataclasses
import datetime
import itertools
import re
from collections.abc import Mapping

from cspace.clock import parse_time
from cspace.context.records import LAYOUTS, UPDATES, Entry, Info, Kind, Update
from cspace.docstore import frontmatter
from cspace.docstore.frontmatter import FrontMatter, Value
from cspace.docstore.sections import unframed
from cspace.errors import CspaceError

# The dashes are em dashes; a hand that typed another dash is understood.
UPDATE_HEADING = re.compile(
    r"^### (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?) (?:—|–|-{1,2}) @(.*) (?:—|–|-{1,2}) status: (\S+)"
    r"[ \t]*\r?(?:\n|\Z)",
    re.MULTILINE,
)
_DATED = re.compile(r"\d{4}-\d\d-\d\d(?=-|\Z)")
_HEADING = re.compile(r"^# ++([^\r\n]+)", re.MULTILINE)


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
    info = _info(kind, slug, path, header, _title(kind, header, body, slug))
    info = _updated(info, [update.time for update in updates])
    return Entry(info, document.decode("utf-8", "replace"), body, sections, updates)


def parse_info(kind: Kind, slug: str, path: str, document: bytes) -> Info:
    """Read what `parse_entry` reads but for the texts, in a part of its time."""
    header = frontmatter.parse_front_matter(document)
    title = header.prose("title")
    if kind is not Kind.FINDING and title:
        return _info(kind, slug, path, header, title)
    body = document[header.body :].decode("utf-8", "replace")
    info = _info(kind, slug, path, header, title or _title(kind, header, body, slug))
    span = LAYOUTS[kind].locate(body).get(UPDATES)
    headings = UPDATE_HEADING.finditer(body[slice(*span)]) if span else ()
    return _updated(info, [time for found in headings if (time := parse_time(found[1]))])


def parse_text(kind: Kind, slug: str, document: bytes) -> tuple[str, str]:
    """Read a record's title and the text after its front matter."""
    header = frontmatter.parse_front_matter(document)
    body = document[header.body :].decode("utf-8", "replace")
    return _title(kind, header, body, slug), body


def _info(kind: Kind, slug: str, path: str, header: FrontMatter, title: str) -> Info:
    created = _created(header, slug)
    return Info(
        kind=kind,
        slug=slug,
        path=path,
        title=title,
        created=created,
        updated=created,
        author=header.text("author") or "",
        status=header.text("status") or "",
        category=header.text("category") or "",
        tags=header.texts("tags"),
        related=header.texts("related"),
    )


def _title(kind: Kind, header: FrontMatter, body: str, slug: str) -> str:
    return header.prose("title") or _first_heading(kind, body) or slug


def _updated(info: Info, times: list[datetime.datetime]) -> Info:
    latest = max(times, default=None)
    if latest is None or (info.updated is not None and latest <= info.updated):
        return info
    return dataclasses.replace(info, updated=latest)


def _first_heading(kind: Kind, body: str) -> str | None:
    # Before the sections: what somebody notes on a record must not become its title.
    texts = LAYOUTS[kind].locate(body).values()
    heading = _HEADING.search(body, 0, min((text.start for text in texts), default=len(body)))
    return heading[1].rstrip() if heading else None


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


def dump_update(update: Update) -> str:
    """Write one block of a finding's history, without the line end that closes it."""
    time = update.time.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    note = LAYOUTS[Kind.FINDING].escape(update.note)
    return f"### {time} — @{update.author} — status: {update.status}\n{note}"


def parse_updates(section: str) -> tuple[Update, ...]:
    """Read a finding's history; a block whose time is no time is not one."""
    found = list(UPDATE_HEADING.finditer(section))
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

    Raises:
        CspaceError: the status can not be replaced safely, the file is UTF-16, or the note would
            be read as front matter.
    """
    if document.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise CspaceError(
            "the finding is written in UTF-16, and a note in UTF-8 would garble it",
            hint="save the file as UTF-8, then try again",
        )
    if status is not None:
        document = frontmatter.replace_value(document, "status", status)
    if document and not document.endswith(b"\n"):
        document += b"\n"
    start = frontmatter.parse_front_matter(document).body
    body = document[start:].decode("utf-8", "replace")
    if UPDATES not in LAYOUTS[Kind.FINDING].locate(body):
        document += f"\n## {UPDATES}".encode()
    document += f"\n{dump_update(update)}\n".encode()
    if frontmatter.parse_front_matter(document).body != start:
        # A `---` in the note closed a header that nobody had closed.
        raise CspaceError(
            "the note would be read as a part of the finding's front matter",
            hint="close the front matter with a line `---`, then try again",
        )
    return document
