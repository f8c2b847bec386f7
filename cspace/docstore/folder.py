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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.files import Owner

SUFFIX = ".md"
LOCK_SECONDS = 10.0
# How many names an error compares to suggest one: comparing is slow.
NEAREST_OF = 500


def _nothing(_content: bytes) -> None:
    """Do nothing when a document is written."""


class UnreadableDocument(CspaceError):
    """A link, a FIFO, a directory, another's file: it is left as it is."""


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
    _swept: set[str] = field(default_factory=set, compare=False, repr=False)

    def path_of(self, stem: str) -> PurePosixPath:
        """Return a document's path relative to the root."""
        return self.relative / f"{stem}{SUFFIX}"

    def list_stems(self) -> tuple[str, ...]:
        """Return the names of what looks like a document, sorted; a missing directory has none."""
        try:
            with self._opened() as directory:
                names = os.listdir(directory)  # noqa: PTH208  a tenth of the time of iterdir
        except NotFound:
            if not self.root.is_dir():
                raise
            return ()
        return tuple(
            sorted(
                name.removesuffix(SUFFIX)
                for name in names
                if name.endswith(SUFFIX) and not name.startswith(".")
            )
        )

    def read(self, stem: str) -> bytes:
        """Return a document's bytes.

        Raises:
            NotFound: there is no such document.
            UnreadableDocument: it is not a regular file, not ours to read, or too big.
        """
        with self._opened(stem) as directory:
            return self._read(directory, stem)[0]

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

        Args:
            done: is given what was written, while nobody else can edit it.

        Raises:
            NotFound: there is no such document, or it was removed while we waited.
            Conflict: another holds its lock; the error names the holder.
        """
        with self._locked(stem) as directory:
            before, status = self._read(directory, stem)
            after = change(before)
            self._check_size(after)
            files.write_atomic(
                directory / f"{stem}{SUFFIX}",
                after,
                mode=stat.S_IMODE(status.st_mode),
                owner=Owner(status.st_uid, status.st_gid),
            )
            done(after)

    def put(
        self, stem: str, content: bytes, expected: bytes | None, done: Callable[[bytes], None]
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
            done: is called when it is gone, while nobody else can edit it.
        """
        with self._locked(stem) as directory:
            (directory / f"{stem}{SUFFIX}").unlink()
            files.sync_directory(directory)
            done(b"")

    @contextlib.contextmanager
    def _locked(self, stem: str) -> Iterator[Path]:
        with self._opened(stem) as directory:
            # For a wrong name no lock file is made.
            self._read(directory, stem)
            self._sweep(directory)
            with files.lock(
                directory / f"{stem}{SUFFIX}.lock",
                timeout=self.lock_seconds,
                holder=self.holder,
                owner=self.owner,
                name=str(self.path_of(stem)),
            ):
                yield directory

    def _sweep(self, directory: Path) -> None:
        # Once for each process: looking through the directory costs more than a write.
        if not self._swept:
            self._swept.add(str(self.relative))
            files.sweep(directory)

    def _read(self, directory: Path, stem: str) -> tuple[bytes, os.stat_result]:
        path = self.path_of(stem)
        try:
            # O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(directory / path.name, flags)
        except FileNotFoundError:
            raise self._missing(stem) from None
        except OSError as error:
            raise UnreadableDocument(f"{path}: {_reason(error)}") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableDocument(f"{path}: not a regular file")
            return beneath.read_limited(os.dup(descriptor), str(path)), status
        except CspaceError as error:
            raise UnreadableDocument(str(error)) from error
        finally:
            os.close(descriptor)

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
            raise CspaceError(f"{self.root / self.relative}: {_reason(error)}") from error

    def _without_directory(self, stem: str) -> NotFound:
        if not self.root.is_dir():
            return NotFound(
                f"root {self.root} is not a directory", hint="pass the project's root with --root"
            )
        return self._missing(stem) if stem else NotFound(f"{self.relative} does not exist")


def _reason(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a link or another file stands where cspace expects its own"
    return error.strerror or str(error)
