"""What the context holds: decisions, discoveries, findings, and the results of asking for them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from cspace import paths
from cspace.context.kinds import HUMAN as HUMAN  # noqa: PLC0414  known by this module's name
from cspace.context.kinds import Category as Category  # noqa: PLC0414  as above
from cspace.context.kinds import Kind as Kind  # noqa: PLC0414  as above
from cspace.context.kinds import Status as Status  # noqa: PLC0414  as above
from cspace.docstore.opened import Skipped
from cspace.docstore.sections import Layout

Item = TypeVar("Item")

ROOT = PurePosixPath(paths.CONTEXT)


UPDATES = "Updates"
# A `### ` line that we, or a reader who looks less closely, could take for an update's.
_UPDATE = r"\d{4}-\d{2}-\d{2}T|[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]*[—–-][ \t]*status:"
LAYOUTS = {
    Kind.DECISION: Layout(("Context", "Alternatives", "Decision", "Consequences")),
    Kind.DISCOVERY: Layout(("Finding", "Impact")),
    Kind.FINDING: Layout(("Summary", "Details", UPDATES), guarded=_UPDATE, listing=UPDATES),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Who writes, as far as it is known.

    Attributes:
        author: signs what names no author of its own.
        instance: the instance that we run in; None on a host.
        commit: asks for the commit that the project is at.
    """

    author: str = "agent"
    instance: str | None = None
    commit: Callable[[], str | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice to log."""

    title: str
    context: str
    alternatives: str
    decision: str
    consequences: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """Something non-obvious to log."""

    title: str
    finding: str
    impact: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A bug, observation or refactoring to log; an empty author is the origin's."""

    title: str
    category: Category
    summary: str
    details: str = ""
    status: Status = Status.OPEN
    tags: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    author: str = ""


@dataclass(frozen=True, slots=True)
class Logged:
    """A new record; path is relative to the root."""

    path: str
    slug: str


@dataclass(frozen=True, slots=True)
class Appended:
    """A finding after an update; path is relative to the root."""

    path: str
    status: str


@dataclass(frozen=True, slots=True)
class Update:
    """One block of a finding's history, its note as it was given."""

    time: datetime.datetime
    author: str
    status: str
    note: str


@dataclass(frozen=True, slots=True)
class Info:
    """What is known of a record without its texts.

    Attributes:
        path: relative to the root.
        created: the moment, as exact as the file says it; None where it does not.
        updated: a finding's last update, else created.
        status, category: as the file has them; empty for decisions and discoveries.
    """

    kind: Kind
    slug: str
    path: str
    title: str
    created: datetime.datetime | None
    updated: datetime.datetime | None
    author: str = ""
    status: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    @property
    def date(self) -> str:
        """The day of its creation, empty when unknown."""
        return self.created.date().isoformat() if self.created else ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record.

    Attributes:
        text: the whole file; bytes that are not UTF-8 are shown as U+FFFD.
        body: the text after the front matter.
        sections: each section's text as its author gave it; Updates as it stands in the file.
    """

    info: Info
    text: str
    body: str
    sections: Mapping[str, str]
    updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """Records, newest first.

    Attributes:
        left_out: how many more there are than limit allowed.
        skipped: files met on the way that could not be read.
    """

    entries: tuple[Item, ...]
    left_out: int
    skipped: tuple[Skipped, ...]
