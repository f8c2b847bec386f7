"""What is known of each memory from its first lines, and which one a name means."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import PurePosixPath

from cspace.claude_memory.index import Index, parse_index, same_name
from cspace.claude_memory.place import Place
from cspace.claude_memory.tree import Walk, missing, read_memory
from cspace.clock import parse_time
from cspace.docstore.frontmatter import FrontMatter, parse_front_matter
from cspace.docstore.opened import SUFFIX, Document, Skipped, UnreadableDocument
from cspace.errors import NotFound, UsageError
from cspace.paths import INDEX

# Clocks of a container and its host differ a little.
AHEAD = timedelta(minutes=5)
CANDIDATES = 3
# How many names an error compares to suggest one: comparing is slow.
NEAREST_OF = 500


class Type(StrEnum):
    """What a memory is about."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Memory:
    """One topic file, by its first lines.

    Attributes:
        path: relative to the memory's directory.
        name: of the front matter, else the file's stem.
        type: as it is written, any text; empty where there is none.
        modified: by the front matter where it says so, else the file's own time.
        stamped: whether the front matter says so.
        size: bytes.
        indexed: whether MEMORY.md has a link to it.
        header: all of the front matter; what is no text in YAML is the text that stands there.
        problem: why nothing is known from the front matter; empty where something is.
    """

    path: str
    name: str
    description: str
    type: str
    modified: datetime
    stamped: bool
    size: int
    indexed: bool
    header: Mapping[str, object]
    problem: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a memory holds.

    Attributes:
        memories: the last changed first.
        index: None where there is no MEMORY.md that can be read.
    """

    memories: tuple[Memory, ...]
    index: Index | None
    skipped: tuple[Skipped, ...]


def list_memories(place: Place) -> Contents:
    """Read the beginning of every topic file; nothing is created.

    Raises:
        CspaceError: a link or anything else stands where the directory is expected.
    """
    index = load_index(place)
    linked = index.lines_by_path() if index else {}
    walk = Walk(place)
    found = [
        parse_memory(path, document, linked) for path, document in walk.heads() if path != INDEX
    ]
    found.sort(key=lambda one: (-one.modified.timestamp(), one.path))
    return Contents(tuple(found), index, tuple(walk.skipped))


def load_index(place: Place) -> Index | None:
    """Read MEMORY.md, None where that is impossible: a walk says why when it meets it."""
    try:
        return parse_index(read_memory(place, INDEX).content)
    except (FileNotFoundError, UnreadableDocument):
        return None


def parse_memory(path: PurePosixPath, document: Document, linked: Mapping[str, str]) -> Memory:
    """Read what a topic file's first lines say of it.

    Args:
        linked: the index's lines, by path.
    """
    header = parse_front_matter(document.content)
    modified, stamped = _modified(header, document.status.st_mtime)
    return Memory(
        path=str(path),
        name=header_text(header, "name") or path.stem,
        description=header_text(header, "description"),
        type=header_text(header, "type"),
        modified=modified,
        stamped=stamped,
        size=document.status.st_size,
        indexed=same_name(str(path)) in linked,
        header=header.values,
        problem=_problem(header),
    )


def header_text(header: FrontMatter, key: str) -> str:
    """Return a text of the front matter; newer versions of Claude Code nest some in metadata."""
    text = header.prose(key)
    metadata = header.values.get("metadata")
    if text is None and isinstance(metadata, dict):
        nested = metadata.get(key)
        text = nested if isinstance(nested, str) else None
    return " ".join((text or "").split())


def _modified(header: FrontMatter, mtime: float) -> tuple[datetime, bool]:
    written = parse_time(header_text(header, "modified"))
    if written is not None:
        return written, True
    try:
        return datetime.fromtimestamp(mtime, UTC), False
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC), False


def _problem(header: FrontMatter) -> str:
    if header.body <= len(b"\xef\xbb\xbf"):
        return "has no front matter: it has to begin with --- and end with ---"
    if not header.values:
        return "has an empty front matter"
    return ""


def age_of(modified: datetime, now: datetime) -> str:
    """Say how old something is, for a person."""
    if is_ahead(modified, now):
        return f"dated in the future, {modified:%Y-%m-%d}"
    days = days_since(modified, now)
    return f"{days} day{'' if days == 1 else 's'} old"


def is_ahead(modified: datetime, now: datetime) -> bool:
    """Tell whether a time is still to come."""
    return modified > now + AHEAD


def days_since(modified: datetime, now: datetime) -> int:
    """Return how many whole days have gone by, 0 for a time to come."""
    return max(0, (now - modified).days)


def get_path(place: Place, given: str) -> PurePosixPath:
    """Find the one file that a person means.

    A whole path wins; then a file's name, with or without its suffix; then a part of the path.

    Raises:
        NotFound: nothing is called so.
        UsageError: several files are.
    """
    paths = [one.path for one in Walk(place).found() if one.path.name.endswith(SUFFIX)]
    if not paths:
        raise missing(place)
    wanted = given.strip().removeprefix(f"{place.relative}/").removeprefix("./")
    asked = same_name(wanted.removesuffix(SUFFIX))
    ways = (
        lambda one: one == asked,
        lambda one: one.rpartition("/")[2] == asked,
        lambda one: bool(asked) and asked.casefold() in one.casefold(),
    )
    named = [(same_name(str(one).removesuffix(SUFFIX)), one) for one in paths]
    for way in ways:
        found = [one for name, one in named if way(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise _ambiguous(given, found)
    near = difflib.get_close_matches(asked, [name for name, _ in named[:NEAREST_OF]], n=CANDIDATES)
    hint = f"the nearest are {', '.join(near)}" if near else place.command("list")
    raise NotFound(f"no memory is called {given!r}", hint=hint)


def get_memory(place: Place, given: str) -> tuple[PurePosixPath, bytes, Memory | None]:
    """Read the one file that a person means, whole; what is known of it, None for the index.

    Errors as for `get_path`.
    """
    path = get_path(place, given)
    index = load_index(place)
    document = read_memory(place, path)
    linked = index.lines_by_path() if index else {}
    memory = None if path == INDEX else parse_memory(path, document, linked)
    return path, document.content, memory


def _ambiguous(given: str, found: list[PurePosixPath]) -> UsageError:
    shown = ", ".join(map(str, itertools.islice(found, CANDIDATES)))
    more = f" and {len(found) - CANDIDATES} more" if len(found) > CANDIDATES else ""
    return UsageError(f"{given!r} may be {shown}{more}", hint="write one of them out")
