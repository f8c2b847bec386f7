"""An index in one SQLite file: texts by their words, and by their meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace.errors import CspaceError
from cspace.index.model import Filters, Hit, Item, Kept


class BrokenIndex(CspaceError):
    """The file is no index of this version, or damaged: it has to be built again."""


@dataclass(slots=True)
class Index:
    """An open index. What it says is derived: it may be deleted at any time."""

    @classmethod
    def open(cls, path: Path, *, to_change: bool = False) -> Index:
        """Open an index that is there.

        Raises:
            BrokenIndex: it is missing, of another version, or damaged.
        """
        raise NotImplementedError

    @classmethod
    def create(cls, path: Path | None) -> Index:
        """Create an empty index where nothing is; in memory without a path."""
        raise NotImplementedError

    def close(self) -> None:
        """Close it."""
        raise NotImplementedError

    def kept(self) -> Kept:
        """Return what it was made from, and by which embedder."""
        raise NotImplementedError

    def apply(
        self, removed: Iterable[str], items: Iterable[Item], state: Mapping[str, str]
    ) -> None:
        """Remove the items of some groups, add others, and keep state: all of it or nothing."""
        raise NotImplementedError

    def count(self, facet: str) -> dict[str, int]:
        """Return how many items have each value of a facet."""
        raise NotImplementedError

    def missing_vectors(self, limit: int) -> dict[bytes, str]:
        """Return the newest texts without a vector, by their digest."""
        raise NotImplementedError

    def put_vectors(self, embedder: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors (float32, little endian, normalised) by the digest of their text."""
        raise NotImplementedError

    def search(
        self, query: str, vector: bytes | None, filters: Filters, limit: int
    ) -> tuple[Hit, ...]:
        """Return what is most about the query, the best first."""
        raise NotImplementedError
