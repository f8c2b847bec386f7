"""Earlier review findings that say the same of other code: what comes back is worth a rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cspace.docstore.everyday import FUNCTION_WORDS
from cspace.docstore.stems import stems_of
from cspace.index.embedder import Embedder, Missing
from cspace.notes.catalog import Catalog
from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace
from cspace.notes.question import MAX_LIMIT, Question, Recollection

# Cosine between two findings' meanings with the default model. tests/notes/test_lookalikes.py has
# pairs on both sides.
LEAST_NEARNESS = 0.6
# Of the words of the shorter summary; and one word in common says nothing.
LEAST_SHARE, LEAST_SHARED = 0.5, 2
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Lookalikes:
    """The earlier findings that a finding resembles, the newest first."""

    earlier: tuple[Memory, ...]

    def describe(self) -> str:
        """Say in a line how often, since when and where; empty where there is none."""
        if not self.earlier:
            return ""
        since = min(one.record.timestamp for one in self.earlier)
        times = "once" if len(self.earlier) == 1 else f"{len(self.earlier)} times"
        shown = ", ".join(map(_place, self.earlier[:SHOWN]))
        more = len(self.earlier) - SHOWN
        tail = f" and {more} more" if more > 0 else ""
        return f"seen {times} since {since:%Y-%m-%d}: {shown}{tail}"


def find_lookalikes(catalog: Catalog, finding: Memory, embedder: Embedder | Missing) -> Lookalikes:
    """Find the findings of the same category that a review finding resembles.

    By the words of their summaries, and with an embedder by their meaning too.

    Args:
        finding: as it was captured; nothing is found for another namespace.
    """
    record = finding.record
    if finding.namespace is not Namespace.REVIEWS:
        return Lookalikes(())
    question = Question(record.summary, (Namespace.REVIEWS,), limit=MAX_LIMIT)
    return Lookalikes(choose(finding, catalog.recall(question, embedder).hits))


def choose(finding: Memory, found: Iterable[Recollection]) -> tuple[Memory, ...]:
    """Return the memories among what was found that a finding resembles, the newest first."""
    like = [one.memory for one in found if _is_like(finding, one)]
    return tuple(sorted(like, key=lambda one: one.record.timestamp, reverse=True))


def is_like_by_words(one: str, other: str) -> bool:
    """Whether two summaries share so many words that they say the same."""
    first, second = stems_of(one, FUNCTION_WORDS), stems_of(other, FUNCTION_WORDS)
    shared = len(first & second)
    return shared >= LEAST_SHARED and shared >= LEAST_SHARE * min(len(first), len(second))


def _is_like(finding: Memory, found: Recollection) -> bool:
    other, near = found.memory, found.why.nearness
    if (other.commit, other.id) == (finding.commit, finding.id):
        return False
    if other.record.category != finding.record.category:
        return False
    if near is not None and near >= LEAST_NEARNESS:
        return True
    return is_like_by_words(finding.record.summary, other.record.summary)


def _place(memory: Memory) -> str:
    record = memory.record
    where = f"{record.file}:{record.line}" if record.file and record.line else record.file
    return f"{memory.reference} ({where})" if where else memory.reference
