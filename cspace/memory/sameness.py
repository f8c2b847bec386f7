"""Which texts are the same to a reader: proposed, written or rejected before."""

from __future__ import annotations

import contextlib
import hashlib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cspace.docstore.opened import UnreadableDocument
from cspace.memory.changes import Change, Operation
from cspace.memory.entries import body_of
from cspace.memory.hidden import strip_hidden
from cspace.memory.place import find_place
from cspace.memory.proposal import Proposal
from cspace.memory.scopes import Scope
from cspace.memory.store import MemoryStore
from cspace.paths import INDEX


def normalize(text: str) -> str:
    """Return a text without what a reader overlooks: case, spaces, the hidden."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", strip_hidden(text))
    return " ".join(text.casefold().split())


def digest_of(change: Change) -> str:
    """Return what two changes have in common that want the same text in the same scope."""
    wanted = f"remove {change.slug}" if change.operation is Operation.REMOVE else ""
    text = f"{change.scope}\n{wanted or normalize(change.body)}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Finds who has a text already; each scope is read once, when it is first asked for.

    Attributes:
        pending: proposals to compare with.
    """

    store: MemoryStore
    pending: tuple[Proposal, ...] = ()
    _texts: dict[Scope, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def of(self, proposal: Proposal) -> tuple[str, ...]:
        """Name the memories of the scope that hold a proposal's text, and the same proposals.

        `user/testing`, `proposal 1f0e9a2b3c`; sorted.
        """
        change = proposal.change
        digest = digest_of(change)
        same = [
            f"proposal {other.id}"
            for other in self.pending
            if other.id != proposal.id and digest_of(other.change) == digest
        ]
        if change.operation is not Operation.REMOVE:
            same += self._holders(change)
        return tuple(sorted(same))

    def _holders(self, change: Change) -> Iterable[str]:
        wanted = normalize(change.body)
        if change.scope not in self._texts:
            self._texts[change.scope] = tuple(_texts(self.store, change.scope))
        return [
            f"{change.scope}/{slug}" for slug, text in self._texts[change.scope] if wanted in text
        ]


def _texts(store: MemoryStore, scope: Scope) -> Iterator[tuple[str, str]]:
    with find_place(store.root, scope).opened() as opened:
        for slug in sorted(opened.list_stems()):
            with contextlib.suppress(FileNotFoundError, UnreadableDocument):
                if slug != INDEX.stem:
                    body = body_of(opened.read(slug).content)
                    yield slug, normalize(body.decode("utf-8", "surrogateescape"))
