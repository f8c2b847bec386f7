"""What recall is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace

DEFAULT_LIMIT = 10
MAX_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for, and among which memories.

    Attributes:
        query: words, or a sentence; never a search engine's syntax.
        namespaces: empty for all.
        tags: a memory has to have all of them.
        file: that a review finding names.
        path: a file or directory that the memory's commit touched, as it was called then.
        author: part of the name or address of the commit's author.
        since: when the record was made.
        status: open or resolved.
    """

    query: str
    namespaces: tuple[Namespace, ...] = ()
    spec: str | None = None
    tags: tuple[str, ...] = ()
    file: str | None = None
    path: str | None = None
    author: str | None = None
    since: datetime | None = None
    status: str | None = None
    limit: int = DEFAULT_LIMIT


class Mode(StrEnum):
    """How memories were looked for."""

    HYBRID = "hybrid"  # by words and by meaning
    LEXICAL = "lexical"  # by words only


@dataclass(frozen=True, slots=True)
class Why:
    """Why a memory was found.

    Attributes:
        words: of the query, that it has.
        fields: where they stand: summary, body, labels (type, spec, tags, file, date, …).
        nearness: of its meaning to the query's, from -1 to 1; None where it was found by words.
        lexical_rank: its place among those found by words, from 1.
        vector_rank: its place among those found by meaning, from 1.
    """

    words: tuple[str, ...]
    fields: tuple[str, ...]
    nearness: float | None
    lexical_rank: int | None
    vector_rank: int | None


@dataclass(frozen=True, slots=True)
class Recollection:
    """A memory that was found: its body is whole, its record's source is not kept (empty)."""

    memory: Memory
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found, the best first.

    Attributes:
        reason: why it was looked for by words only; empty where it was not.
        without_vector: how many memories could be found by words only, for nothing has embedded
            them yet.
    """

    hits: tuple[Recollection, ...]
    mode: Mode
    reason: str = ""
    without_vector: int = 0
