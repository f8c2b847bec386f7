"""One directory of documents below a root: reads, creates, edits and removes them.

The directory is shared with people and with other containers: whatever stands there that is not a
regular file is not followed, and nothing outside the root is read or written.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.docstore.opened import (
    SUFFIX,
    Opened,
    UnreadableDocument,
    read_document,
    reason,
    stamp_of,
)
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.files import Owner

LOCK_SECONDS = 10.0
# Looking through a directory of 10,000 costs more than a write, so not every write does it.
SWEEP_SECONDS = 60.0
# An edit is made anew when somebody without our lock, an editor, changed the document meanwhile.
EDITS = 20
# How many names an error compares to suggest one: comparing is slow.
NEAREST_OF = 500

_HINTS = {
    errno.ENOSPC: "free some space, then try again: nothing was changed",
    errno.EDQUOT: "free some space, then try again: nothing was changed",
    errno.EACCES: "see who owns the directory and the files in it: ls -la",
    errno.EPERM: "see who owns the directory and the files in it: ls -la",
    errno.EROFS: "it is read-only here, or gone on the host: there, stop and start this instance",
}


def _nothing(_content: bytes) -> None:
    """Do nothing when a document is written."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The documents of one directory.

    Attributes:
        root: trusted; below it no link is followed.
        relative: the directory, which need not exist.
        holder: who we are, for those who wait for our lock.
        owner: who a created file belongs to, when we are root.
    """

    root: Path
    relative: PurePosixPath
    holder: str = "cspace"
    owner: Owner | None = None
    lock_seconds: float = LOCK_SECONDS
    sweep_seconds: float = SWEEP_SECONDS
    _swept: list[float] = field(default_factory=list, compare=False, repr=False)

    def path_of(self, stem: str) -> PurePosixPath:
        """Return a document's path relative to the root."""
        return self.relative / f"{stem}{SUFFIX}"

    @contextlib.contextmanager
    def opened(self) -> Iterator[Opened]:
        """Hold the directory open to look at many of its documents; a missing one has none.

        Raises:
            NotFound: the root is missing.
            CspaceError: a link or anything else stands where the directory is expected.
        """
        descriptor = self._descriptor()
        try:
            yield Opened(self.relative, descriptor)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _descriptor(self) -> int | None:
        try:
            return beneath.open_directory(self.root, self.relative)
        except FileNotFoundError as error:
            if not self.root.is_dir():
                raise self._without_directory("") from error
            return None
        except OSError as error:
            raise CspaceError(f"{self.root / self.relative}: {reason(error)}") from error

    def list_stems(self) -> tuple[str, ...]:
        """Return the names of what looks like a document, sorted; a missing directory has none."""
        with self.opened() as directory:
            return tuple(sorted(directory.list_stems()))

    def read(self, stem: str) -> bytes:
        """Return a document's bytes.

        Raises:
            NotFound: there is no such document.
            UnreadableDocument: it is not a regular file, not ours to read, or too big.
        """
        with self._opened(stem) as directory:
            return self._read(directory, stem)[0]

    def read_all(self) -> Iterator[tuple[str, bytes | UnreadableDocument]]:
        """Give each document's name, in order, and its bytes, or why it can not be read.

        One that is removed meanwhile is left out; errors as for `opened`.
        """
        with self.opened() as directory:
            for stem in sorted(directory.list_stems()):
                found: bytes | UnreadableDocument
                try:
                    found = directory.read(stem).content
                except FileNotFoundError:
                    continue
                except UnreadableDocument as error:
                    found = error
                yield stem, found

    def create(self, stem: str, content: bytes) -> str:
        """Publish a document under stem, or stem-2, stem-3 … where that is taken; return its name.

        Raises:
            UsageError: the content is too big.
        """
        self._check_size(content)
        with self._opened(create=True) as directory:
            self._sweep(directory)
            names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
            paths = (directory / f"{name}{SUFFIX}" for name in names)
            # Skipping what is taken now is cheap; the link below decides.
            free = itertools.dropwhile(os.path.lexists, paths)
            return files.publish_first_free(free, content, owner=self.owner).stem

    def edit(
        self,
        stem: str,
        change: Callable[[bytes], bytes],
        done: Callable[[bytes], None] = _nothing,
    ) -> None:
        """Replace a document by what change makes of it, serialised with every other edit.

        An editor takes no lock. What it saved before we replace the document is seen, and change is
        called again with that; a document that it has emptied gets time to be filled. What is left
        is a save that falls between our last look and the rename, or goes into a file that was
        opened before it. With 300 edits in 10 s beside an editor that saved every 20 ms, none of
        585 saves in place was lost, and 2 of 541 by rename; without looking, more than half were.

        Args:
            done: is given what was written, while nobody else can edit it.

        Raises:
            NotFound: there is no such document, or it was removed while we waited.
            Conflict: another holds its lock, and the error names the holder; or it is changed
                without the lock faster than we can read it.
        """
        with self._locked(stem) as directory:
            for left in reversed(range(EDITS)):
                before, status = self._read(directory, stem)
                if not before and left:
                    time.sleep(files.LOCK_POLL_SECONDS)
                    continue
                after = change(before)
                if self._replace(directory / f"{stem}{SUFFIX}", after, status):
                    done(after)
                    return
        raise Conflict(
            f"{self.path_of(stem)} was changed by another program at each of {EDITS} tries",
            hint="close what writes to it, then try again",
        )

    def _replace(self, path: Path, content: bytes, before: os.stat_result) -> bool:
        """Replace a document, unless it is no longer the one that was read: then return False."""
        self._check_size(content)
        mode, owner = stat.S_IMODE(before.st_mode), Owner(before.st_uid, before.st_gid)
        with files.temporary(path, content, mode=mode, owner=owner) as written:
            # As late as possible: nothing is between this and the rename.
            if stamp_of(path.lstat()) != stamp_of(before):
                return False
            written.replace(path)
        files.sync_directory(path.parent)
        return True

    def put(
        self,
        stem: str,
        content: bytes,
        expected: bytes | None,
        done: Callable[[bytes], None] = _nothing,
    ) -> None:
        """Store a document as it is, when what stands there is still what is expected.

        Args:
            expected: None where there is to be nothing.
            done: as for `edit`.

        Raises:
            Conflict: something else stands there.
            UnreadableDocument: it can not be read, so nobody knows.
        """

        def change(present: bytes) -> bytes:
            if present != expected:
                raise Conflict(f"{self.path_of(stem)} was changed meanwhile", hint="try again")
            return content

        if expected is not None:
            self.edit(stem, change, done)
            return
        self._check_size(content)
        with self._opened(create=True) as directory:
            self._sweep(directory)
            try:
                files.publish(directory / f"{stem}{SUFFIX}", content, owner=self.owner)
            except FileExistsError:
                raise Conflict(f"{self.path_of(stem)} exists already", hint="try again") from None
            done(content)

    def remove(self, stem: str, done: Callable[[bytes], None] = _nothing) -> None:
        """Remove a document, serialised with edits, so that none of them brings it back.

        Args:
            done: is given what it held when it is gone, while nobody else can edit it.
        """
        with self._locked(stem) as directory:
            content, _ = self._read(directory, stem)
            (directory / f"{stem}{SUFFIX}").unlink()
            files.sync_directory(directory)
            done(content)

    @contextlib.contextmanager
    def _locked(self, stem: str) -> Iterator[Path]:
        with self._opened(stem) as directory, contextlib.ExitStack() as stack:
            # For a wrong name no lock file is made.
            self._read(directory, stem)
            self._sweep(directory)
            path = self.path_of(stem)
            lock = files.lock(
                directory / f"{path.name}.lock",
                timeout=self.lock_seconds,
                holder=self.holder,
                owner=self.owner,
                name=str(path),
            )
            try:
                stack.enter_context(lock)
            except OSError as error:
                raise CspaceError(
                    f"{path}.lock: {reason(error)}",
                    hint=f"look at it and move it away: ls -ld {path}.lock",
                ) from error
            yield directory

    def _sweep(self, directory: Path) -> None:
        now = time.monotonic()
        if not self._swept or now - self._swept[-1] >= self.sweep_seconds:
            self._swept[:] = [now]
            files.sweep(directory)

    def _read(self, directory: Path, stem: str) -> tuple[bytes, os.stat_result]:
        try:
            found = read_document(self.path_of(stem), int(directory.name))
        except FileNotFoundError:
            raise self._missing(stem) from None
        return found.content, found.status

    def _missing(self, stem: str) -> NotFound:
        stems = self.list_stems()
        near = [known for known in stems if stem in known][:3]
        near = near or difflib.get_close_matches(stem, stems[-NEAREST_OF:], n=3)
        known = (
            f"the nearest are {', '.join(near)}" if near else "list the entries to see the slugs"
        )
        return NotFound(f"{self.path_of(stem)} does not exist", hint=known)

    def _check_size(self, content: bytes) -> None:
        if len(content) > beneath.MAX_BYTES:
            raise UsageError(
                f"the document would have {len(content)} bytes, more than {beneath.MAX_BYTES}",
                hint="start a new one, or refer to a file",
            )

    @contextlib.contextmanager
    def _opened(self, stem: str = "", *, create: bool = False) -> Iterator[Path]:
        try:
            with beneath.pinned(
                self.root, self.relative, create=create, owner=self.owner
            ) as directory:
                yield directory
        except FileNotFoundError as error:
            raise self._without_directory(stem) from error
        except OSError as error:
            place = self.path_of(stem) if stem else self.relative
            raise CspaceError(
                f"{self.root / place}: {reason(error)}", hint=_HINTS.get(error.errno or 0)
            ) from error

    def _without_directory(self, stem: str) -> NotFound:
        if not self.root.is_dir():
            return NotFound(
                f"root {self.root} is not a directory", hint="pass the project's root with --root"
            )
        return self._missing(stem) if stem else NotFound(f"{self.relative} does not exist")
