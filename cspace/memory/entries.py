"""What the header of one memory says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from cspace.clock import parse_time
from cspace.docstore.frontmatter import BOM, FrontMatter, dump_value, parse_front_matter
from cspace.docstore.nested import nested_text
from cspace.docstore.opened import Document, Opened, Skipped, UnreadableDocument
from cspace.errors import UsageError
from cspace.memory.scopes import Kind, Scope
from cspace.paths import INDEX

METADATA, TYPE, UPDATED = "metadata", "type", "updated_at"
MAX_DESCRIPTION = 200
# Of one that is made from a text.
SHORT_DESCRIPTION = 100
# The first lines are all that a list reads of a file.
HEAD_BYTES = 8 * 1024


class Type(StrEnum):
    """What a memory is about."""

    FEEDBACK = "feedback"
    PROJECT = "project"
    USER = "user"
    REFERENCE = "reference"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory, by its header.

    Attributes:
        slug: the file's name without `.md`; one that somebody else made may be any text.
        type: as it is written, any text; empty where there is none.
        description: on one line; made of the text where the header has none.
        updated: by the header where it says so, else the file's own time.
        stamped: whether the header says so.
        size: bytes of the whole file.
        name: as the header has it; empty where it has none.
        problem: why nothing is known from the header; empty where something is.
    """

    scope: Scope
    slug: str
    type: str
    description: str
    updated: datetime
    stamped: bool
    size: int
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class Entries:
    """What a scope holds.

    Attributes:
        entries: sorted by slug.
        skipped: what looks like a memory and can not be read as one.
    """

    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...] = ()


def default_type(scope: Scope) -> Type:
    """Return what a memory of a scope is about when nobody says."""
    match scope.kind:
        case Kind.GLOBAL:
            return Type.GLOBAL
        case Kind.USER:
            return Type.USER
        case Kind.PROJECT:
            return Type.PROJECT
        case _:
            return Type.FEEDBACK


def default_description(body: str) -> str:
    """Make a description of a text: its first line that has a word, cut."""
    for line in body.splitlines():
        words = plain_line(line).lstrip("#>*-+ ").strip("*_ ")
        if any(mark.isalnum() for mark in words):
            return _cut(words)
    return _cut(plain_line(body))


def _cut(line: str) -> str:
    return line if len(line) <= SHORT_DESCRIPTION else f"{line[: SHORT_DESCRIPTION - 1].rstrip()}…"


def plain_line(text: str) -> str:
    """Return a text on one line, without what can not be seen."""
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())


def check_type(given: str) -> Type:
    """Read a type.

    Raises:
        UsageError: it is none.
    """
    try:
        return Type(given)
    except ValueError:
        raise UsageError(f"type {given[:60]!a} is none", hint=", ".join(Type)) from None


def check_description(given: str) -> str:
    """Return a description on one line.

    Raises:
        UsageError: it is too long, or holds what nobody can see.
    """
    line = " ".join(given.split())
    odd = next((mark for mark in line if not mark.isprintable()), None)
    if odd is not None:
        raise UsageError(
            f"description holds U+{ord(odd):04X}, which can not be seen",
            hint="take it out, then try again",
        )
    if len(line) > MAX_DESCRIPTION:
        raise UsageError(
            f"description has {len(line)} characters, more than {MAX_DESCRIPTION}",
            hint="one line: the rest belongs in the body",
        )
    return line


def parse_entry(
    scope: Scope, slug: str, content: bytes, modified: float, size: int | None = None
) -> Entry:
    """Read what a memory's first bytes say of it.

    Args:
        modified: the file's own time, in seconds since 1970.
        size: of the whole file, where content is a part of it.
    """
    header = parse_front_matter(content)
    updated, stamped = _updated(header, modified)
    return Entry(
        scope=scope,
        slug=slug,
        type=header_text(header, TYPE),
        description=_summary(header, content[:HEAD_BYTES]),
        updated=updated,
        stamped=stamped,
        size=len(content) if size is None else size,
        name=header_text(header, "name"),
        problem=_problem(header),
    )


def body_of(content: bytes) -> bytes:
    """Return a memory without its header."""
    return content[parse_front_matter(content).body :]


def header_text(header: FrontMatter, key: str) -> str:
    """Return a text of a header, in its metadata first, on one line."""
    text = nested_text(header, METADATA, key)
    return " ".join((header.prose(key) or "" if text is None else text).split())


def summary_of(head: bytes) -> str:
    """Return what an index says of a memory with these first bytes: never empty for a text."""
    head = head[:HEAD_BYTES]
    return _summary(parse_front_matter(head), head)


def _summary(header: FrontMatter, head: bytes) -> str:
    written = header_text(header, "description")
    return written or default_description(head[header.body :].decode("utf-8", "replace"))


def iter_heads(opened: Opened) -> Iterator[tuple[str, Document | UnreadableDocument]]:
    """Give the slug and the first bytes of every memory in a directory, sorted."""
    for slug in sorted(stem for stem in opened.list_stems() if stem != INDEX.stem):
        found: Document | UnreadableDocument
        try:
            found = opened.read(slug, start=HEAD_BYTES)
        except FileNotFoundError:
            continue
        except UnreadableDocument as error:
            found = error
        yield slug, found


def _updated(header: FrontMatter, modified: float) -> tuple[datetime, bool]:
    written = parse_time(header_text(header, UPDATED))
    if written is not None:
        return written, True
    try:
        return datetime.fromtimestamp(modified, UTC), False
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC), False


def _problem(header: FrontMatter) -> str:
    if header.body <= len(BOM):
        return "has no front matter: it has to begin with --- and end with ---"
    if not header.values:
        return "has an empty front matter"
    return ""


def dump_entry(slug: str, type_: str, description: str, now: datetime, body: bytes) -> bytes:
    """Write a new memory's file; the body stays as it is."""
    stamp = dump_value(now.replace(microsecond=0))
    header = (
        f"---\nname: {dump_value(slug)}\ndescription: {dump_value(description)}\n"
        f"{METADATA}:\n  {TYPE}: {dump_value(type_)}\n  {UPDATED}: {stamp}\n---\n"
    )
    return header.encode() + body
