"""Where a scope lies on the disk, and which names of files in it can be a memory's."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace import beneath, files
from cspace.docstore.opened import (
    SUFFIX,
    Document,
    Opened,
    UnreadableDocument,
    read_document,
    reason,
)
from cspace.errors import CspaceError, UsageError
from cspace.files import Owner
from cspace.memory.orchestrator import find_adopted
from cspace.memory.scopes import NAMED, Kind, Scope, check_name, shown
from cspace.paths import INDEX

_HINTS = {
    errno.ENOSPC: "free some space, then try again: nothing was changed",
    errno.EDQUOT: "free some space, then try again: nothing was changed",
    errno.EACCES: "see who owns the directory and the files in it: ls -la",
    errno.EPERM: "see who owns the directory and the files in it: ls -la",
    errno.EROFS: "it is read-only here: in an instance, use cspace memory propose",
}
_LONGEST = 250  # bytes; a file system allows 255, with the suffix


@dataclass(frozen=True, slots=True)
class Place:
    """A scope's directory: a trusted root, and below it a path in which no link is followed."""

    root: Path
    relative: PurePosixPath

    @property
    def directory(self) -> Path:
        return self.root / self.relative

    @contextlib.contextmanager
    def opened(self) -> Iterator[Opened]:
        """Hold the directory open for reading; a missing one holds nothing.

        Raises:
            CspaceError: a link or anything else stands where the directory is expected.
        """
        try:
            descriptor = beneath.open_directory(self.root, self.relative)
        except FileNotFoundError:
            yield Opened(self.relative, None)
            return
        except OSError as error:
            raise CspaceError(
                f"{self.directory}: {reason(error)}", hint=self.advice(error)
            ) from error
        try:
            yield Opened(self.relative, descriptor)
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def changing(self, *, create: bool, owner: Owner | None) -> Iterator[Path]:
        """Give a path to the directory that stays the same one, to write in it.

        Raises:
            CspaceError: it can not be written, for whatever reason the system has.
        """
        try:
            if create:
                files.ensure_directory(self.root, owner=owner)
            with beneath.pinned(self.root, self.relative, create=create, owner=owner) as path:
                yield path
        except OSError as error:
            raise CspaceError(
                f"{self.directory}: {reason(error)}", hint=self.advice(error)
            ) from error

    def load(self, descriptor: int | None, name: str, called: PurePosixPath) -> Document | None:
        """Read a file of the directory, None where there is none.

        Args:
            descriptor: of the directory, None where that is missing.
            called: what messages call the directory.

        Raises:
            UnreadableDocument: it is a link, a FIFO, another's file, or too big.
        """
        if descriptor is None:
            return None
        try:
            return read_document(called / name, descriptor)
        except FileNotFoundError:
            return None
        except UnreadableDocument as error:
            look = f"ls -ld {shlex.quote(str(self.directory / name))}"
            raise UnreadableDocument(
                str(error), hint=f"look at it and move it away: {look}"
            ) from error

    def advice(self, error: OSError, name: str = "") -> str:
        """Say what to do about what the system refused."""
        look = f"look at it and move it away: ls -ld {shlex.quote(str(self.directory / name))}"
        return _HINTS.get(error.errno or 0, look)


def find_place(root: Path, scope: Scope) -> Place:
    """Find a scope's directory, which need not exist.

    Raises:
        CspaceError: the orchestrator's is a link that `adopt` did not make.
    """
    path = root / scope.relative
    if scope.kind is not Kind.ORCHESTRATOR or not path.is_symlink():
        return Place(root, scope.relative)
    adopted = find_adopted(root)
    real = adopted is not None and adopted.memory.resolve() == adopted.memory
    if adopted is None or not real or path.readlink() != adopted.memory:
        raise CspaceError(
            f"{path} is a link that cspace did not make: it is not followed",
            hint=f"look at it and move it away, then adopt the workspace: ls -ld {path}",
        )
    return Place(adopted.memory, PurePosixPath())


def list_scopes(root: Path) -> tuple[Scope, ...]:
    """Return the scopes that have a directory, sorted; what has no name of a scope is none."""
    found = [Scope(kind) for kind in Kind if kind not in NAMED and _is_there(root, Scope(kind))]
    for kind in NAMED:
        found += _list_named(root, kind, linked=False)
    return tuple(sorted(found))


def list_present_scopes(root: Path) -> tuple[Scope, ...]:
    """Return the scopes that have anything in their place, sorted, for reads that name the bad.

    A link is not followed, so that a read of such a scope raises; so does one of `projects` or
    `personas` itself, which is a scope without a name where something else stands there.
    """
    found = [
        Scope(kind)
        for kind in Kind
        if kind not in NAMED and os.path.lexists(root / Scope(kind).relative)
    ]
    for kind in NAMED:
        try:
            found += _list_named(root, kind, linked=True)
        except CspaceError:
            found.append(Scope(kind))
    return tuple(sorted(found))


def _is_there(root: Path, scope: Scope) -> bool:
    path = root / scope.relative
    return scope.kind is Kind.ORCHESTRATOR if path.is_symlink() else path.is_dir()


def _list_named(root: Path, kind: Kind, *, linked: bool) -> list[Scope]:
    found = []
    with Place(root, PurePosixPath(kind)).opened() as opened:
        if opened.descriptor is None:
            return []
        with os.scandir(opened.descriptor) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False) or (linked and one.is_symlink()):
                    with contextlib.suppress(UsageError):
                        found.append(Scope(kind, check_name("scope", one.name)))
    return found


def check_file(slug: str) -> str:
    """Return a name that may be that of a file which somebody made: it is one component.

    Raises:
        UsageError: it can not be, or is kept for something else.
    """
    encoded = os.fsencode(slug) if slug.isprintable() else b""
    if not encoded or "/" in slug or slug.startswith(".") or len(encoded) > _LONGEST:
        raise UsageError(
            f"slug {shown(slug)} is no name",
            hint="a new one is of a-z, 0-9 and -; others are as cspace memory list shows them",
        )
    if slug == INDEX.stem:
        raise UsageError(
            f"slug {shown(slug)} is a reserved name",
            hint=f"{INDEX} is the scope's index: cspace memory list shows what is in it",
        )
    return slug


def file_name(slug: str) -> str:
    """Return the name of a memory's file."""
    return f"{slug}{SUFFIX}"
