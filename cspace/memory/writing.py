"""One change of a scope's files: a memory and its index line, both whole or not at all.

While the two files are put in their places a file `.changing` says so. Who finds it under the lock
knows that somebody was killed there, and makes the index anew.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import files
from cspace.docstore.opened import (
    Document,
    Opened,
    UnreadableDocument,
    reason,
    stamp_of,
)
from cspace.errors import Conflict, CspaceError
from cspace.files import TEMPORARY_SUFFIX, Owner
from cspace.memory import index
from cspace.memory.changes import revision_of
from cspace.memory.entries import iter_heads, summary_of
from cspace.memory.index import BrokenIndex
from cspace.memory.place import Place, file_name
from cspace.paths import INDEX

LOCK, LOCKS = ".lock", ".locks"
CHANGING = ".changing"
LOCK_SECONDS = 10.0
# The index is made anew when a person's editor saved it meanwhile.
TRIES = 20
# Bytes of an index: ten times what it should have.
MAX_LISTED = 128 * 1024
# Up to here a line of the index for each memory costs less than all lines once.
FEW = 20
# Files that are written before the first of them is in its place, and how many at a time.
BATCH, WRITERS = 64, 16
# A memory's name, what it becomes, and the revision that is expected.
Wanted = tuple[str, bytes | None, str | None]


@contextlib.contextmanager
def locked(
    place: Place, relative: PurePosixPath, *, by: str, owner: Owner | None, create: bool
) -> Iterator[Held]:
    """Hold a scope for a change.

    Args:
        relative: what the scope is called in messages.
        create: make its directory where there is none.

    Raises:
        Conflict: another holds it for LOCK_SECONDS, and the error names the holder.
        CspaceError: it can not be written, for whatever reason the system has.
    """
    with place.changing(create=create, owner=owner) as directory, contextlib.ExitStack() as stack:
        name = f"{place.directory}/"
        path, shown = _lock_of(place, directory)
        try:
            files.ensure_directory(path.parent, owner=owner)
            lock = files.lock(path, timeout=LOCK_SECONDS, holder=by, owner=owner, name=name)
            stack.enter_context(lock)
        except OSError as error:
            raise CspaceError(
                f"{shown}: {reason(error)}", hint=place.advice(error, LOCK)
            ) from error
        held = Held(relative, place, directory, owner)
        held.heal()
        yield held


def _lock_of(place: Place, directory: Path) -> tuple[Path, Path]:
    """Return what is locked for a scope, and what it is called in messages.

    It lies beside the scopes, of which instances mount some: who can only read a file can lock it
    all the same, and would keep everybody from writing.
    """
    if not place.relative.parts:
        # The orchestrator's own, and the root's, which no instance mounts.
        return directory / LOCK, place.directory / LOCK
    path = place.root / LOCKS / f"{'.'.join(place.relative.parts)}{LOCK}"
    return path, path


@dataclass(frozen=True, slots=True)
class Held:
    """One scope's directory, locked.

    Attributes:
        relative: what it is called in messages.
        directory: a path to the very directory that is locked.
    """

    relative: PurePosixPath
    place: Place
    directory: Path
    owner: Owner | None

    def find(self, slug: str) -> Document | None:
        """Read a memory, None where there is none.

        Raises:
            UnreadableDocument: something else stands there.
        """
        return self._read(file_name(slug))

    def _read(self, name: str) -> Document | None:
        return self.place.load(int(self.directory.name), name, self.relative)

    def check(self, slug: str, expected: str | None) -> Document | None:
        """Return what is there, which is what is expected.

        Raises:
            Conflict: it is not.
        """
        found = self.find(slug)
        present = revision_of(found.content if found else None)
        if present != expected:
            raise self._moved(slug, present, expected)
        return found

    def _moved(self, slug: str, present: str | None, expected: str | None) -> Conflict:
        what = "was changed" if present and expected else "was removed"
        if expected is None:
            what = "was made"
        return Conflict(
            f"{self.relative}/{slug} {what} meanwhile: nothing was written",
            hint=f"look at it, then try again: cspace memory list --scope {self.relative}",
        )

    def check_twins(self, slug: str, *, besides: str = "") -> None:
        """Refuse a new name that differs from another in case only; debris goes on the way.

        Every file is looked at, but for a scope whose index is beyond MAX_LISTED: there every line
        of the index is, or the cost of a write would grow with the files.

        Args:
            besides: a memory that goes at the same time.

        Raises:
            Conflict: there is such a one.
        """
        present = self._read(INDEX.name)
        if present and len(present.content) > MAX_LISTED:
            known = index.has_twin(present.content, index.entry_prefix(slug))
            if known and besides.casefold() != slug:
                raise self._twin(slug, "another name in the index")
            return
        own, gone = file_name(slug), file_name(besides)
        names = os.listdir(int(self.directory.name))  # noqa: PTH208  Path takes no descriptor
        if any(name.endswith(TEMPORARY_SUFFIX) for name in names):
            files.sweep(self.directory)
        for name in names:
            if name not in (own, gone) and name.casefold() == own:
                raise self._twin(slug, ascii(name))

    def _twin(self, slug: str, other: str) -> Conflict:
        return Conflict(
            f"{self.relative / file_name(slug)} and {other} are one file where case does not count",
            hint="choose another name, or change that memory",
        )

    def put(self, slug: str, content: bytes | None, before: Document | None) -> None:
        """Put a memory and its line in their places, or take both away.

        Args:
            before: what `check` returned.

        Raises:
            Conflict: an editor without our lock changed one of the two.
        """
        prefix = index.entry_prefix(slug)
        line = None if content is None else index.dump_line(prefix, summary_of(content))

        def change(document: bytes) -> bytes:
            changed = index.set_line(document, prefix, line)
            if changed is None:
                changed = index.set_lines(document, self._lines(slug, line))
            return changed

        for _ in range(TRIES):
            if self._place(slug, content, before, self._change_index(change)):
                return
        raise self._busy()

    def put_all(self, changes: Sequence[Wanted]) -> Iterator[Document | None]:
        """Put many memories in their places, one a step; make the index anew after the last one.

        Few are put one by one, each with its line.

        Args:
            changes: of each its slug, what becomes of it, and the revision that is expected.

        Raises:
            Conflict: one was changed, or has a twin; what came before it stays.
        """
        if len(changes) <= FEW:
            for slug, content, expected in changes:
                before = self.check(slug, expected)
                if before is None:
                    self.check_twins(slug)
                self.put(slug, content, before)
                yield before
            return
        names = os.listdir(int(self.directory.name))  # noqa: PTH208  Path takes no descriptor
        folded = {name.casefold(): name for name in names}
        self._mark()
        for start in range(0, len(changes), BATCH):
            some = changes[start : start + BATCH]
            for slug, _, _ in some:
                if folded.get(file_name(slug), file_name(slug)) != file_name(slug):
                    self.check_twins(slug)
            yield from self._put_some(some)
        self.heal()

    def _put_some(self, changes: Sequence[Wanted]) -> Iterator[Document | None]:
        """Write files side by side, since each waits for the disk; then put each in its place."""
        befores = [self.check(slug, expected) for slug, _, expected in changes]

        def write(change: Wanted, before: Document | None) -> Path | None:
            slug, content, _ = change
            return stack.enter_context(self._temporary(file_name(slug), content, before))

        with contextlib.ExitStack() as stack:
            with ThreadPoolExecutor(WRITERS) as pool:
                written = list(pool.map(write, changes, befores))
            for (slug, _, expected), before, entry in zip(changes, befores, written, strict=True):
                if not self._is_still(file_name(slug), before):
                    raise self._moved(slug, "", expected)
                self._put_entry(self.directory / file_name(slug), entry, fresh=before is None)
                yield before

    def reindex(self) -> int:
        """Write all lines of the index anew; return how many they are. Errors as for `put`."""
        lines = self._lines()
        self.rewrite(lambda document: index.set_lines(document, lines))
        return len(lines)

    def point(self, line: bytes, lines: list[bytes]) -> None:
        """Write one line of an index that is not of this directory's files. Errors as for `put`.

        Args:
            lines: all of them, for an index that has none yet.
        """

        def change(document: bytes) -> bytes:
            changed = index.set_line(document, line, line)
            return index.set_lines(document, lines) if changed is None else changed

        self.rewrite(change)

    def rewrite(self, change: Callable[[bytes], bytes]) -> None:
        """Replace the index by what change makes of it. Errors as for `put`."""
        for _ in range(TRIES):
            planned = self._change_index(change)
            with self._index(planned) as written:
                if self._is_still(INDEX.name, planned[0]):
                    if written is not None:
                        written.replace(self.directory / INDEX.name)
                        files.sync_directory(self.directory)
                    return
        raise self._busy()

    def _change_index(self, change: Callable[[bytes], bytes]) -> tuple[Document | None, bytes]:
        present = self._read(INDEX.name)
        try:
            return present, change(present.content if present else b"")
        except BrokenIndex as error:
            place = self.place.directory / INDEX
            raise BrokenIndex(f"{place}: {error}", hint=error.hint) from error

    def _busy(self) -> Conflict:
        return Conflict(
            f"{self.relative / INDEX} was changed by another program at each of {TRIES} tries",
            hint="close what writes to it, then try again",
        )

    def heal(self) -> None:
        """Make the index anew when a change was stopped between its two files."""
        if os.path.lexists(self.directory / CHANGING):
            self.reindex()
            (self.directory / CHANGING).unlink()

    def _lines(self, slug: str = "", line: bytes | None = None) -> list[bytes]:
        """Return the index's lines by the files, but for one memory that is about to change."""
        opened = Opened(self.relative, int(self.directory.name))
        lines = [
            index.dump_line(index.entry_prefix(stem), summary_of(found.content))
            for stem, found in iter_heads(opened)
            if stem != slug and not isinstance(found, UnreadableDocument)
        ]
        return lines if line is None else [*lines, line]

    def _place(
        self,
        slug: str,
        content: bytes | None,
        before: Document | None,
        change: tuple[Document | None, bytes],
    ) -> bool:
        """Do a change, unless the index is no longer the one that was read: then return False."""
        with self._temporary(file_name(slug), content, before) as entry, self._index(change) as new:
            # As late as possible: nothing is between these and the renames.
            if not self._is_still(INDEX.name, change[0]):
                return False
            if not self._is_still(file_name(slug), before):
                raise Conflict(
                    f"{self.relative}/{slug} was changed meanwhile: nothing was written",
                    hint="look at it, then try again",
                )
            self._mark()
            try:
                self._put_entry(self.directory / file_name(slug), entry, fresh=before is None)
            except BaseException:
                (self.directory / CHANGING).unlink()
                raise
            if new is not None:
                new.replace(self.directory / INDEX.name)
            (self.directory / CHANGING).unlink()
            files.sync_directory(self.directory)
        return True

    def _put_entry(self, path: Path, entry: Path | None, *, fresh: bool) -> None:
        if entry is None:
            path.unlink(missing_ok=True)
        elif not fresh:
            entry.replace(path)
        else:
            try:
                os.link(entry, path)
            except FileExistsError:
                raise self._moved(path.stem, "", None) from None

    def _mark(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(self.directory / CHANGING, flags, 0o600))

    @contextlib.contextmanager
    def _index(self, change: tuple[Document | None, bytes]) -> Iterator[Path | None]:
        present, changed = change
        same = present is not None and present.content == changed
        with self._temporary(INDEX.name, None if same else changed, present) as written:
            yield written

    @contextlib.contextmanager
    def _temporary(
        self, name: str, content: bytes | None, before: Document | None
    ) -> Iterator[Path | None]:
        """Write what is to stand under a name, with the rights of what stands there."""
        if content is None:
            yield None
            return
        mode, owner = 0o644, self.owner
        if before is not None:
            mode = stat.S_IMODE(before.status.st_mode)
            owner = Owner(before.status.st_uid, before.status.st_gid)
        with files.temporary(self.directory / name, content, mode=mode, owner=owner) as written:
            yield written

    def _is_still(self, name: str, before: Document | None) -> bool:
        try:
            status = (self.directory / name).lstat()
        except FileNotFoundError:
            return before is None
        return before is not None and stamp_of(status) == stamp_of(before.status)
