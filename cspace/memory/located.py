"""Which paths below a memory's root are memory: what git keeps, and takes from elsewhere.

What has another name, and the orchestrator's, is on one machine only: its lines in an index are
not kept either, or two machines would take them from each other for ever.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cspace.docstore.opened import SUFFIX, UnreadableDocument
from cspace.errors import UsageError
from cspace.memory.index import BrokenIndex, keep_lines
from cspace.memory.place import Place, find_place
from cspace.memory.scopes import NAMED, Kind, Scope, check_name, parse_scope
from cspace.memory.store import MemoryStore
from cspace.paths import INDEX

# Another machine has an orchestrator of its own, and a link of its own to it.
KEPT = tuple(kind for kind in Kind if kind is not Kind.ORCHESTRATOR)


@dataclass(frozen=True, slots=True)
class Located:
    """A memory, or an index.

    Attributes:
        scope: None for the root's own index.
        slug: `MEMORY` for an index.
    """

    scope: Scope | None
    slug: str

    @property
    def is_index(self) -> bool:
        return self.slug == INDEX.stem

    @property
    def path(self) -> str:
        """The file below the root."""
        name = PurePosixPath(f"{self.slug}{SUFFIX}")
        return str(self.scope.relative / name if self.scope else name)

    @property
    def name(self) -> str:
        """What it is called in a command: `projects/web/testing`."""
        return self.path.removesuffix(SUFFIX)


def parse_path(path: str) -> Located | None:
    """Return what lies at a path, None where that is no memory."""
    directory, _, name = path.rpartition("/")
    slug = name.removesuffix(SUFFIX)
    try:
        scope = parse_scope(directory) if directory else None
        known = slug == INDEX.stem or (scope is not None and check_name("slug", slug) == slug)
    except UsageError:
        return None
    kept = scope is None or scope.kind in KEPT
    return Located(scope, slug) if kept and known and name.endswith(SUFFIX) else None


def is_directory_of_memory(path: str) -> bool:
    """Tell whether a directory can hold memories, or scopes that do."""
    if path in NAMED:
        return True
    try:
        return parse_scope(path).kind in KEPT
    except UsageError:
        return False


def iter_files(store: MemoryStore) -> Iterator[tuple[Located, bytes]]:
    """Read every memory and every index; what can not be read, or has an odd name, is left out."""
    yield from _iter_place(Place(store.root, PurePosixPath()), None)
    for scope in store.scopes():
        if scope.kind in KEPT:
            yield from _iter_place(find_place(store.root, scope), scope)


def _iter_place(place: Place, scope: Scope | None) -> Iterator[tuple[Located, bytes]]:
    with place.opened() as opened:
        for stem in sorted(opened.list_stems()):
            located = parse_path(str(place.relative / f"{stem}{SUFFIX}"))
            if located is not None and located.scope == scope:
                try:
                    yield located, _kept(place.root, located, opened.read(stem).content)
                except (FileNotFoundError, UnreadableDocument):
                    continue


def read_located(store: MemoryStore, located: Located) -> bytes | None:
    """Read one of them, None where there is none.

    Raises:
        UnreadableDocument: it is a link, a FIFO, or too big.
    """
    root = Place(store.root, PurePosixPath())
    place = root if located.scope is None else find_place(store.root, located.scope)
    with place.opened() as opened:
        try:
            return _kept(store.root, located, opened.read(located.slug).content)
        except FileNotFoundError:
            return None


def _kept(root: Path, located: Located, content: bytes) -> bytes:
    """Return what git keeps of a file."""
    if not located.is_index:
        return content

    def is_index(target: str) -> bool:
        # A scope of which git keeps nothing has none.
        return parse_path(target) is not None and (root / target).exists()

    try:
        return keep_lines(content, _is_memory if located.scope else is_index)
    except BrokenIndex:
        return content


def _is_memory(target: str) -> bool:
    try:
        check_name("slug", target.removesuffix(SUFFIX))
    except UsageError:
        return False
    return target.endswith(SUFFIX)


def is_gone(root: Path, path: str) -> bool:
    """Tell whether nothing is at a path: no file that can not be read, no link on the way."""
    parts = PurePosixPath(path).parts
    for count in range(1, len(parts) + 1):
        try:
            status = root.joinpath(*parts[:count]).lstat()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        if not stat.S_ISDIR(status.st_mode):
            return False
    return False
