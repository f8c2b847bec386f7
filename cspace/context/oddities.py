"""What is odd in one file of the context. All of it is read; none of it is what cspace writes."""

from __future__ import annotations

import bisect
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from cspace.clock import parse_time
from cspace.context.entryfile import dated, parse_entry
from cspace.context.records import ROOT, Category, Info, Kind, Status
from cspace.docstore import frontmatter
from cspace.docstore.frontmatter import FrontMatter
from cspace.docstore.sections import list_fenced
from cspace.docstore.slugs import slug_of

REQUIRED = ("title", "date", "kind")
_NAME = re.compile(r"\d{4}-\d\d-\d\d-[a-z0-9-]+")
_OPENS = re.compile(r"^<{7}(?: [^\n]*)?$", re.MULTILINE)
_HALF = re.compile(r"^={7}\r?$", re.MULTILINE)
_ENDS = re.compile(r"^>{7}(?: [^\n]*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Oddity:
    """One odd thing.

    Attributes:
        repair: what to do about it, a command that names the record, say.
    """

    problem: str
    repair: str


def iter_text_oddities(name: str, document: bytes) -> Iterator[Oddity]:
    """Yield what is odd in any file; name is how a command calls it."""
    edit = f"cspace context edit {shlex.quote(name)}"
    if b"\0" in document:
        yield Oddity(f"holds a NUL byte at {document.index(0)}", edit)
    try:
        text = document.decode("utf-8")
    except UnicodeDecodeError as error:
        yield Oddity(f"is not UTF-8 at byte {error.start}", edit)
        text = document.decode("utf-8", "replace")
    if _has_conflict(text):
        yield Oddity("holds a conflict that git left behind: <<<<<<<", edit)


def _has_conflict(text: str) -> bool:
    """Tell whether git's three marks stand there in order, other than as an example in a fence."""
    # A cheap look first: nearly no file has one.
    blocks, place = list_fenced(text) if _OPENS.search(text) else [], 0
    while (opened := _OPENS.search(text, place)) is not None:
        block = bisect.bisect(blocks, (opened.start(), len(text))) - 1
        if block < 0 or opened.start() >= blocks[block].end:
            half = _HALF.search(text, opened.end())
            return half is not None and _ENDS.search(text, half.end()) is not None
        place = blocks[block].end
    return False


def iter_oddities(kind: Kind, stem: str, document: bytes) -> Iterator[Oddity]:
    """Yield what is odd in a record's file."""
    name = f"{kind}/{stem}"
    edit = f"cspace context edit {shlex.quote(name)}"
    yield from iter_text_oddities(name, document)
    header = frontmatter.parse_front_matter(document)
    yield from (Oddity(problem, edit) for problem in _header_problems(kind, header))
    entry = parse_entry(kind, stem, name, document)
    usual = _NAME.fullmatch(stem) is not None and parse_time(dated(stem)) is not None
    if not usual:
        yield Oddity("is not named YYYY-MM-DD-<slug>.md", _rename(entry.info))
    status, last = entry.info.status, entry.updates[-1].status if entry.updates else ""
    if last and status and last != status:
        # A hand changed the one line, as a rule; the update that belongs to it is missing.
        append = f"cspace findings append {stem} 'It is {status} now.' --status {status}"
        repair = append if usual and status in tuple(Status) else edit
        yield Oddity(f"has the status {status!r}, but its last update says {last!r}", repair)


def iter_new_oddities(
    kind: Kind | None, stem: str, before: bytes, after: bytes
) -> Iterator[Oddity]:
    """Yield what is odd in a file since it was changed; kind is None for a human-owned one."""

    def found(document: bytes) -> Iterator[Oddity]:
        if kind is None:
            return iter_text_oddities(stem, document)
        return iter_oddities(kind, stem, document)

    known = set(found(before))
    return (one for one in found(after) if one not in known)


def _rename(info: Info) -> str:
    folder = ROOT / info.kind.plural
    better = f"{info.date or 'YYYY-MM-DD'}-{slug_of(info.title)}"
    return shlex.join(("mv", "-n", "--", f"{folder / info.slug}.md", f"{folder / better}.md"))


def _header_problems(kind: Kind, header: FrontMatter) -> Iterator[str]:
    if not header.values:
        yield "has no front matter: it has to begin with --- and end with ---"
        return
    if not frontmatter.is_whole(header):
        yield "has a front matter that is not YAML: put texts with a colon in quotes"
    missing = [key for key in REQUIRED if not header.text(key)]
    if missing:
        yield f"has no {', '.join(missing)} in its front matter"
    written = header.text("kind")
    if written and written != kind:
        yield f"says that it is a {written!r}, and lies in {kind.plural}"
    date = header.text("date")
    if date and parse_time(date) is None:
        yield f"has the date {date!r}, which is none"
    if kind is Kind.FINDING:
        yield from _closed(header, "status", tuple(Status))
        yield from _closed(header, "category", tuple(Category))


def _closed(header: FrontMatter, key: str, allowed: tuple[str, ...]) -> Iterator[str]:
    value, shown = header.text(key), ", ".join(map(str, allowed))
    if not value:
        yield f"has no {key}, which is one of {shown}"
    elif value not in allowed:
        yield f"has the {key} {value!r}, which is none of {shown}"
