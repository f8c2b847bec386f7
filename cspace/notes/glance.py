"""The index of notes as it stands, read with the little that this takes: a hook has no time.

What the catalogue, the store and records need to load costs as much as all the rest of a hook.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace.errors import MALFORMED
from cspace.git import list_commit_refs
from cspace.index.database import BrokenIndex, ReadOnlyIndex
from cspace.index.index import Index
from cspace.index.model import Filters, Hit
from cspace.notes.namespaces import PREFIX, Namespace


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What a hook needs of a memory.

    Attributes:
        labels: its tags, specification and file.
    """

    reference: str
    summary: str
    labels: tuple[str, ...]
    body: str


@contextlib.contextmanager
def opened(common: Path) -> Iterator[Index | None]:
    """Give the index of a repository by its common directory; None where none can be read."""
    try:
        index = Index.open(common / "cspace/index.db")
    except (BrokenIndex, ReadOnlyIndex):
        yield None
        return
    try:
        yield index
    finally:
        index.close()


def is_current(index: Index | None, repository: Path) -> bool:
    """Tell whether an index says what git says, no index where git has no notes; asks git once."""
    refs = list_commit_refs(repository, PREFIX)
    tips = {ref.removeprefix(PREFIX): tip for ref, tip in refs.items()}
    known = {name: tip for name, tip in tips.items() if name in set(Namespace)}
    state = index.kept().state if index else {}
    return known == {name: state[name] for name in Namespace if name in state}


def count(index: Index) -> Mapping[str, int]:
    """Return how many memories each namespace has that has any."""
    said = index.count("namespace")
    return {name: said[name] for name in Namespace if name in said}


def search(index: Index, text: str, limit: int) -> Iterator[Glimpse]:
    """Yield the memories that have words of a text, the best first."""
    for hit in index.search(text, None, Filters(), limit):
        with contextlib.suppress(*MALFORMED):
            yield _glimpse(hit)


def _glimpse(hit: Hit) -> Glimpse:
    held = json.loads(hit.payload)
    record = held["record"]
    labels = (*record.get("tags", ()), record.get("spec"), record.get("file"))
    return Glimpse(held["reference"], hit.title, tuple(filter(None, labels)), hit.text)
