"""The index of the notes: what it was made from, whether it still says what git says, recall."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.events import Report
from cspace.index.embedder import Embedder
from cspace.notes.namespaces import Namespace
from cspace.notes.question import Question, Recalled, Recollection
from cspace.notes.store import NotesStore


@dataclass(frozen=True, slots=True)
class Difference:
    """How a namespace's index differs from git.

    Attributes:
        in_git: memories that git holds.
        in_index: memories that the index holds.
        missing: keys that only git has; of many the first.
        extra: keys that only the index has; of many the first.
    """

    namespace: Namespace
    in_git: int
    in_index: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogState:
    """What the index holds now.

    Attributes:
        counts: memories by namespace, without those that have none.
        rebuilt: why it was built anew; empty where it was not.
        embedder: whose vectors it has.
        without_vector: texts that no vector stands for.
        in_memory: it could not be written, and is gone with this process.
    """

    counts: dict[Namespace, int]
    rebuilt: str
    embedder: str | None
    without_vector: int
    in_memory: bool


@dataclass(slots=True)
class Catalog:
    """The index of a repository's notes, `<common directory>/cspace/index.db`. It is derived.

    Attributes:
        store: the notes themselves.
    """

    store: NotesStore

    def refresh(self) -> CatalogState:
        """Bring the index to what git says now; costs a git that lists ten refs where it is so.

        Nothing is created where no memory was ever captured. Where the index can not be written it
        is built in memory.

        Raises:
            CspaceError: what would be built is smaller than what git lists.
        """
        raise NotImplementedError

    def reindex(self, report: Report, embedder: Embedder | None) -> CatalogState:
        """Build the index anew from git, and embed what no vector stands for yet."""
        raise NotImplementedError

    def verify(self) -> tuple[Difference, ...]:
        """Compare the index as it stands with git; return the namespaces that differ."""
        raise NotImplementedError

    def counts(self) -> dict[Namespace, int]:
        """Return how many memories the index as it stands has; a hook reads it. No refresh."""
        raise NotImplementedError

    def suggest(self, text: str, limit: int) -> tuple[Recollection, ...]:
        """Search the index as it stands by words, without git: for hooks. Nothing where none is."""
        raise NotImplementedError

    def recall(self, question: Question, embedder: Embedder | None) -> Recalled:
        """Find the memories that a question is about, those just captured too.

        Raises:
            UsageError: the query has no word, or a filter's value is wrong.
        """
        raise NotImplementedError
