"""Reads and writes the context of one project."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cspace import beneath
from cspace.clock import Clock, utc_now
from cspace.context import authored, entryfile
from cspace.context.history import Action
from cspace.context.journal import Append, Event, Journal
from cspace.context.records import (
    HUMAN,
    ROOT,
    UPDATES,
    Appended,
    Category,
    Decision,
    Discovery,
    Entry,
    Finding,
    Kind,
    Logged,
    Origin,
    Status,
    Update,
)
from cspace.context.remembered import SETTLING, Remembered
from cspace.context.skeleton import ensure_skeleton
from cspace.docstore import slugs
from cspace.docstore.folder import Folder
from cspace.docstore.frontmatter import Value
from cspace.errors import CspaceError, NotFound, UsageError
from cspace.files import Owner

FILED = "filed"
_WORD = re.compile(r"[\w-]+")


def check_root(root: Path) -> None:
    """Raise NotFound when a root is missing: it would be a new, empty brain."""
    if not root.is_dir():
        raise NotFound(
            f"root {root} is not a directory", hint="pass the project's root with --root"
        )


@dataclass(frozen=True)
class ContextStore:
    """The context below a project's root. Reads create nothing.

    Between calls it remembers what was parsed of a file for as long as the file stays as it is.

    Attributes:
        root: the project's directory; that it is missing is an error of every call.
        owner: who created files belong to, when we are root.
        journal: notes every write before it is acknowledged; None keeps none.
        settling: seconds after a change of a file in which nothing of it is remembered.
    """

    root: Path
    origin: Origin = field(default_factory=Origin)
    owner: Owner | None = None
    clock: Clock = utc_now
    journal: Journal | None = None
    settling: float = SETTLING
    _folders: dict[Kind, Folder] = field(init=False, repr=False, compare=False)
    _remembered: dict[Kind, Remembered] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        folders = {
            kind: Folder(self.root, ROOT / kind.plural, self._holder, self.owner) for kind in Kind
        }
        object.__setattr__(self, "_folders", folders)
        memories = {kind: Remembered(self.settling) for kind in Kind}
        object.__setattr__(self, "_remembered", memories)

    @property
    def _holder(self) -> str:
        return self.origin.instance or self.origin.author

    def folder(self, kind: Kind) -> Folder:
        """Return the documents of one kind."""
        return self._folders[kind]

    def human_folder(self) -> Folder:
        """Return direction, principles and roadmap as documents."""
        return Folder(self.root, ROOT, self._holder, self.owner)

    def remembered(self, kind: Kind) -> Remembered:
        """Return what is remembered of one kind's files."""
        return self._remembered[kind]

    def log_decision(self, new: Decision) -> Logged:
        """File a decision.

        Raises:
            UsageError: a text is empty or can not be stored; nothing was written.
        """
        texts = {
            "Context": authored.check_required("context", new.context),
            "Alternatives": authored.check_required("alternatives", new.alternatives),
            "Decision": authored.check_required("decision", new.decision),
            "Consequences": authored.check_required("consequences", new.consequences),
        }
        return self._create(Kind.DECISION, new.title, (), texts, self.clock())

    def log_discovery(self, new: Discovery) -> Logged:
        """File a discovery; errors as for `log_decision`."""
        texts = {
            "Finding": authored.check_required("finding", new.finding),
            "Impact": authored.check_required("impact", new.impact),
        }
        return self._create(Kind.DISCOVERY, new.title, (), texts, self.clock())

    def log_finding(self, new: Finding) -> Logged:
        """File a finding, with a first update that says so; errors as for `log_decision`."""
        now = self.clock()
        status = _member(Status, "status", new.status)
        author = self._signed(new.author)
        pairs: tuple[tuple[str, Value], ...] = (
            ("status", status),
            ("category", _member(Category, "category", new.category)),
            ("tags", authored.check_items("tags", new.tags)),
            ("related", authored.check_items("related", new.related)),
        )
        texts = {
            "Summary": authored.check_required("summary", new.summary),
            "Details": authored.check_text("details", new.details),
            UPDATES: entryfile.dump_update(Update(now, author, status, FILED)),
        }
        return self._create(Kind.FINDING, new.title, pairs, texts, now, author)

    def append_to_finding(
        self, slug: str, note: str, *, status: str | None = None, author: str = ""
    ) -> Appended:
        """Add an update at the end of a finding; with a status, replace its status line too.

        Raises:
            UsageError: an argument can not be stored.
            NotFound: there is no such finding.
            Conflict: another held its lock for too long.
        """
        stem = slugs.check_slug(slug)
        authored.check_required("note", note)
        signed = self._signed(author)
        wanted = _member(Status, "status", status) if status else None
        became: list[str] = []

        def change(document: bytes) -> bytes:
            before = self._parse(Kind.FINDING, stem, document).info.status
            # A hand may have written any status; in a heading it has to be one word.
            became.append(wanted or (before if _WORD.fullmatch(before) else Status.OPEN))
            update = Update(self.clock(), signed, became[-1], note)
            return entryfile.append_update(document, update, status=wanted)

        folder = self.folder(Kind.FINDING)
        with self._noted(Action.WRITTEN, Kind.FINDING, signed) as note_down:
            folder.edit(stem, change, lambda content: note_down(stem, content))
        return Appended(str(folder.path_of(stem)), became[-1])

    def read_entry(self, kind: Kind, slug: str) -> Entry:
        """Return one record.

        Raises:
            UsageError: slug can not be a name; the file system was not touched.
            NotFound: there is no such record.
        """
        stem = slugs.check_slug(slug)
        return self._parse(kind, stem, self.folder(kind).read(stem))

    def load_entry(self, kind: Kind, stem: str) -> Entry:
        """Return one record by a name that its directory gave; errors as for `Folder.read`."""
        return self._parse(kind, stem, self.folder(kind).read(stem))

    def remove_entry(self, kind: Kind, slug: str) -> str:
        """Remove one record and return its relative path; errors as for `read_entry`."""
        stem = slugs.check_slug(slug)
        with self._noted(Action.REMOVED, kind) as note_down:
            self.folder(kind).remove(stem, lambda content: note_down(stem, content))
        return str(self.folder(kind).path_of(stem))

    def edit_entry(self, kind: Kind, stem: str, change: Callable[[bytes], bytes]) -> None:
        """Replace a record's bytes by what change makes of them; errors as for `Folder.edit`."""
        with self._noted(Action.WRITTEN, kind) as note_down:
            self.folder(kind).edit(stem, change, lambda written: note_down(stem, written))

    def put_entry(self, kind: Kind, stem: str, content: bytes, expected: bytes | None) -> None:
        """Store a record's bytes as they are, when what stands there is still what is expected.

        Args:
            stem: a name that its directory or a recording gave.
            expected: None where there is to be nothing.

        Raises:
            Conflict: something else stands there.
        """
        with self._noted(Action.WRITTEN, kind) as note_down:
            self.folder(kind).put(stem, content, expected, lambda written: note_down(stem, written))

    def read_human(self, name: str) -> str | None:
        """Return direction, principles or roadmap as it stands, None when there is none.

        Raises:
            CspaceError: what stands there is not a regular file that we may read.
        """
        if name not in HUMAN:
            raise UsageError(f"{name!r} is none of {', '.join(HUMAN)}")
        path = PurePosixPath(f"{name}.md")
        try:
            return beneath.read_file(self.root, ROOT / path).decode("utf-8", "replace")
        except FileNotFoundError:
            self.check_root()
            return None
        except OSError as error:
            raise CspaceError(f"{ROOT / path}: {error.strerror}") from error

    def check_root(self) -> None:
        """Raise NotFound when the root is missing."""
        check_root(self.root)

    def _signed(self, author: str = "") -> str:
        if author:
            return authored.check_author(author)
        return authored.signature_of(self.origin.author)

    def _parse(self, kind: Kind, stem: str, document: bytes) -> Entry:
        return entryfile.parse_entry(kind, stem, str(self.folder(kind).path_of(stem)), document)

    def _create(
        self,
        kind: Kind,
        title: str,
        pairs: tuple[tuple[str, Value], ...],
        texts: Mapping[str, str],
        now: datetime.datetime,
        author: str = "",
    ) -> Logged:
        known = (
            ("author", author or self._signed()),
            ("instance", self.origin.instance),
            ("commit", self.origin.commit()),
        )
        header: tuple[tuple[str, Value], ...] = (
            ("title", authored.check_title(title)),
            ("date", now.date()),
            ("kind", kind.value),
            *pairs,
            ("created", now),
            *((key, value) for key, value in known if value),
        )
        self._seed()
        name = f"{now.date().isoformat()}-{slugs.slug_of(title)}"
        folder, document = self.folder(kind), entryfile.dump_entry(kind, header, texts)
        with self._noted(Action.WRITTEN, kind, author, now) as note_down:
            stem = folder.create(name, document)
            note_down(stem, document)
        return Logged(str(folder.path_of(stem)), stem)

    @contextlib.contextmanager
    def _noted(
        self,
        action: Action,
        kind: Kind,
        author: str = "",
        time: datetime.datetime | None = None,
    ) -> Iterator[Callable[[str, bytes], None]]:
        """Open the journal before anything is written; give what notes a name and its content."""
        opened: contextlib.AbstractContextManager[Append | None] = (
            self.journal.opened() if self.journal is not None else contextlib.nullcontext()
        )
        with opened as append:

            def note_down(stem: str, content: bytes) -> None:
                if append is not None:
                    when, who = time or self.clock(), author or self._signed()
                    append(Event(when, action, kind, stem, content, who))

            yield note_down

    def _seed(self) -> None:
        # Inside an instance the human-owned files are mounted, read-only.
        self.check_root()
        if self.origin.instance is None:
            try:
                ensure_skeleton(self.root, self.owner)
            except OSError as error:
                raise CspaceError(f"{self.root / ROOT}: {error.strerror}") from error


def _member(closed: type[Status] | type[Category], field_name: str, value: str) -> str:
    members = [member.value for member in closed]
    if value not in members:
        allowed = ", ".join(members)
        raise UsageError(
            f"{field_name} {value!r} is none of {allowed}", hint=f"use one of {allowed}"
        )
    return str(value)
