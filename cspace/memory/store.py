"""All curated memories below one root: read by anybody, changed under a lock for each scope."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from cspace.clock import Clock, utc_now
from cspace.docstore.opened import (
    Document,
    Skipped,
    UnreadableDocument,
    is_document,
    show_path,
)
from cspace.errors import NotFound
from cspace.files import Owner
from cspace.memory.entries import Entries, Entry, iter_heads, parse_entry
from cspace.memory.place import (
    check_file,
    file_name,
    find_place,
    list_present_scopes,
    list_scopes,
)
from cspace.memory.scopes import Scope
from cspace.paths import INDEX

if TYPE_CHECKING:
    from cspace.memory.changes import Change
    from cspace.memory.writer import Seen, Writer, Written

# How many names an error compares to suggest one: comparing is slow.
NEAREST_OF = 500


def show_nobody(_before: bytes | None, _after: bytes | None) -> None:
    """Show nobody what is about to be written."""


@dataclass(frozen=True, slots=True)
class MemoryStore:
    """The memories below one root, which need not exist.

    Attributes:
        by: who changes something, for the log and for those who wait for a lock.
        owner: who a created file belongs to, when we are root.
    """

    root: Path
    owner: Owner | None = None
    by: str = "cspace"
    now: Clock = utc_now

    def directory(self, scope: Scope) -> Path:
        """Return a scope's directory, which need not exist; an adopted one is where it really is.

        Raises:
            CspaceError: the orchestrator's is a link that `adopt` did not make.
        """
        return find_place(self.root, scope).directory

    def scopes(self) -> tuple[Scope, ...]:
        """Return the scopes that have a directory, sorted; what has no name of a scope is none."""
        return list_scopes(self.root)

    def present_scopes(self) -> tuple[Scope, ...]:
        """Return those and what stands in a scope's place, as a link, of which a read raises."""
        return list_present_scopes(self.root)

    def count(self, scope: Scope) -> int:
        """Return how many memories a scope has, by their names alone."""
        with find_place(self.root, scope).opened() as opened:
            if opened.descriptor is None:
                return 0
            with os.scandir(opened.descriptor) as entries:
                return sum(
                    is_document(one.name)
                    and one.name != INDEX.name
                    and one.is_file(follow_symlinks=False)
                    for one in entries
                )

    def slugs(self, scope: Scope) -> tuple[str, ...]:
        """Return the names of what looks like a memory, sorted."""
        with find_place(self.root, scope).opened() as opened:
            return tuple(sorted(stem for stem in opened.list_stems() if stem != INDEX.stem))

    def list_entries(self, scope: Scope, *, type: str | None = None) -> Entries:  # noqa: A002
        """Read the first lines of every memory of a scope.

        Args:
            type: leaves out the memories of any other.
        """
        entries: list[Entry] = []
        skipped: list[Skipped] = []
        with find_place(self.root, scope).opened() as opened:
            for slug, found in iter_heads(opened):
                if isinstance(found, UnreadableDocument):
                    path = show_path(PurePosixPath(file_name(slug)))
                    skipped.append(Skipped(path, str(found).rpartition(": ")[2]))
                    continue
                status = found.status
                entry = parse_entry(scope, slug, found.content, status.st_mtime, status.st_size)
                if type is None or entry.type == type:
                    entries.append(entry)
        return Entries(tuple(entries), tuple(skipped))

    def find(self, scope: Scope, slug: str) -> bytes | None:
        """Return a memory's bytes, None where there is none.

        Raises:
            UsageError: the name can not be one.
            UnreadableDocument: it is a link, a FIFO, another's file, or too big.
        """
        found = self._find(scope, slug)
        return found.content if found else None

    def _find(self, scope: Scope, slug: str) -> Document | None:
        check_file(slug)
        place = find_place(self.root, scope)
        with place.opened() as opened:
            return place.load(opened.descriptor, file_name(slug), scope.relative)

    def read(self, scope: Scope, slug: str) -> bytes:
        """Return a memory's bytes; errors as for `find`.

        Raises:
            NotFound: there is none; the hint names the nearest.
        """
        return self._get(scope, slug).content

    def entry(self, scope: Scope, slug: str) -> Entry:
        """Return what is known of one memory; errors as for `read`."""
        found = self._get(scope, slug)
        return parse_entry(scope, slug, found.content, found.status.st_mtime)

    def _get(self, scope: Scope, slug: str) -> Document:
        found = self._find(scope, slug)
        if found is None:
            raise NotFound(f"{scope}/{slug} does not exist", hint=self._nearest(scope, slug))
        return found

    def _nearest(self, scope: Scope, slug: str) -> str:
        slugs = self.slugs(scope)
        near = [known for known in slugs if slug.casefold() in known.casefold()][:3]
        near = near or difflib.get_close_matches(slug, slugs[:NEAREST_OF], n=3)
        if near:
            return f"the nearest are {', '.join(near)}"
        return f"see what there is: cspace memory list --scope {scope}"

    def write(
        self, change: Change, content: bytes | None, expected: str | None, *, proposal: str = ""
    ) -> Written:
        """Put the bytes that somebody was shown in a memory's place, and its line into the index.

        Args:
            content: what `apply_change` made of what was there; None removes the memory.
            expected: the revision of what was there; None where there was nothing.
            proposal: the id of the one that led to it.

        Raises:
            Conflict: something else is there now; or another name that differs in case only.
            UsageError: the name can not be one, or the memory is too big.
            CspaceError: a link stands in the way, the index's markers are broken, the disk is full.
        """
        return self._writer().write(change, content, expected, proposal=proposal)

    def change(self, change: Change, seen: Seen = show_nobody, *, proposal: str = "") -> Written:
        """Apply a change that nobody has to be asked about to what is there, whatever that is.

        For scripts: while many append to one memory, each finds its turn.

        Args:
            seen: is given the bytes before and after while the scope is locked, so it must not
                wait for anybody; where it raises, nothing is written.

        Errors as for `apply_change` and `write`.
        """
        return self._writer().change(change, seen, proposal=proposal)

    def move(self, source: tuple[Scope, str], target: tuple[Scope, str], expected: str) -> Written:
        """Give a memory another name or scope; its bytes are those of `changes.rename_in`.

        Errors as for `write`, and Conflict where the target is there already.
        """
        return self._writer().move(source, target, expected)

    def reindex(self, scope: Scope) -> int:
        """Write all lines of a scope's index anew; return how many they are.

        The scope's own line in the root's MEMORY.md too.
        """
        return self._writer().reindex(scope)

    def point_to(self, scope: Scope) -> None:
        """Give a scope a line in the root's own MEMORY.md; a first write does it by itself."""
        self._writer().point_to(scope)

    def _writer(self) -> Writer:
        from cspace.memory.writer import Writer  # noqa: PLC0415  10 ms, which no read needs

        return Writer(self.root, self.owner, self.by, self.now)
