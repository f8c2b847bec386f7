"""What the tools of commit notes work with: one repository, its index, and what embeds texts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from cspace.errors import CommandFailed, CspaceError
from cspace.index.embedder import Embedder, Missing
from cspace.notes.catalog import Catalog
from cspace.notes.draft import Draft
from cspace.notes.files_then import FilesThen, files_where_known
from cspace.notes.listing import Listed, Wanted
from cspace.notes.lookalikes import find_lookalikes
from cspace.notes.memory import Memory
from cspace.notes.question import Question, Recalled
from cspace.notes.secrets import LeakFound
from cspace.notes.store import Captured, NotesStore


@dataclass(slots=True)
class NotesCaller:
    """A model's view: on a host the project's repository, in an instance its own clone.

    Attributes:
        open_catalog: asked again as long as it fails: a server starts in any directory.
        find_embedder: asked again as long as it finds none: a person may fetch the model meanwhile.
        root: where the repository is looked for.
    """

    open_catalog: Callable[[], Catalog]
    find_embedder: Callable[[], Embedder | Missing]
    root: Path
    _catalog: Catalog | None = None
    _embedder: Embedder | None = None
    # An embedder uses every core, and is nobody's to call twice at once.
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _kept: NotesStore | None = None
    _kept_open: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    # The program that reads for captures answers one question at a time.
    _writing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def catalog(self) -> Catalog:
        """The repository's index.

        Raises:
            UsageError: there is no repository.
        """
        if self._catalog is None:
            self._catalog = self.open_catalog()
        return self._catalog

    @property
    def store(self) -> NotesStore:
        return self.catalog.store

    def recall(self, question: Question) -> Recalled:
        """Find memories; errors as the catalog's."""
        with self._turn:
            return self.catalog.recall(question, self._find_embedder())

    def _find_embedder(self) -> Embedder | Missing:
        found = self._embedder or self.find_embedder()
        self._embedder = None if isinstance(found, Missing) else found
        return found

    def show(self, reference: str) -> tuple[Memory, ...]:
        """Return what a reference names, at least one.

        Raises:
            NotFound: it names nothing.
            UsageError: it is no reference.
        """
        return self.store.find(reference) or (self.store.get(reference),)

    def files(self, memories: Iterable[Memory]) -> tuple[tuple[str, FilesThen], ...]:
        """Return what the commits of memories changed, each commit once that is one and is here."""
        commits = (memory.commit for memory in memories)
        return tuple(files_where_known(self.store.repository, commits)[0].items())

    def list(self, wanted: Wanted) -> Listed:
        """List memories by time."""
        return self.catalog.list(wanted)

    def capture(self, draft: Draft, commit: str) -> Captured:
        """Attach a memory to a commit; errors as the store's.

        That something only looks like a secret is for a person to say, and no model is told how.
        """
        try:
            with self._writing:
                return self._capture(draft, commit)
        except LeakFound as error:
            error.hint = "take it out, and capture it again"
            raise

    def _capture(self, draft: Draft, commit: str) -> Captured:
        kept = self._kept
        try:
            return self._keep_open().capture(draft, commit)
        except (OSError, CommandFailed):
            self.close()
            if kept is None:
                raise
            # The program may have ended since the last capture; the same one twice is one.
            return self._keep_open().capture(draft, commit)

    def _keep_open(self) -> NotesStore:
        if self._kept is None:
            self._kept = self._kept_open.enter_context(self.store.kept_open())
        return self._kept

    def close(self) -> None:
        """End the program that reads for captures; the next one starts another."""
        self._kept = None
        with contextlib.suppress(CspaceError, OSError):
            self._kept_open.close()

    def resembled(self, finding: Memory) -> str:
        """Say how often and where something like a review finding was seen; empty for never."""
        try:
            with self._turn:
                return find_lookalikes(self.catalog, finding, self._find_embedder()).describe()
        except (CspaceError, OSError) as error:
            return f"earlier findings could not be looked at: {error}"

    def path(self, named: str) -> str | None:
        """Return a path as git names it, where a model gave it whole; None for none."""
        top = PurePosixPath(self.store.repository)
        path = PurePosixPath(named)
        return str(path.relative_to(top)) if path.is_relative_to(top) else named or None
