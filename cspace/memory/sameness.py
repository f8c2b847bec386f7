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

# A text of fewer characters may stand in another by chance.
_LONG = 16


def normalize(text: str) -> str:
    """Return a text without what a reader overlooks: case, spaces, the hidden."""
    return " ".join(_folded(text).split())


def _folded(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", strip_hidden(text))
    return text.casefold()


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
    _texts: dict[Scope, tuple[tuple[str, _Text], ...]] = field(default_factory=dict)
    _ids: dict[str, list[str]] = field(default_factory=dict)

    def of(self, proposal: Proposal) -> tuple[str, ...]:
        """Name the memories of the scope that hold a proposal's text, and the same proposals.

        `user/testing`, `proposal 1f0e9a2b3c`; sorted.
        """
        change = proposal.change
        same = [f"proposal {id_}" for id_ in self._proposed(change) if id_ != proposal.id]
        if change.operation is not Operation.REMOVE:
            same += self._holders(change)
        return tuple(sorted(same))

    def _proposed(self, change: Change) -> list[str]:
        if not self._ids:
            for other in self.pending:
                self._ids.setdefault(digest_of(other.change), []).append(other.id)
        return self._ids.get(digest_of(change), [])

    def _holders(self, change: Change) -> Iterable[str]:
        if change.scope not in self._texts:
            self._texts[change.scope] = tuple(_texts(self.store, change.scope))
        texts = self._texts[change.scope]
        wanted = _Text.of(change.body if texts else "")
        return [f"{change.scope}/{slug}" for slug, text in texts if text.holds(wanted)]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as a reader sees it: as one line, and by its lines, each between line feeds."""

    whole: str
    lines: str

    @classmethod
    def of(cls, text: str) -> _Text:
        found = (" ".join(line.split()) for line in _folded(text).split("\n"))
        lines = [line for line in found if line]
        return cls(" ".join(lines), "\n".join(["", *lines, ""]))

    def holds(self, other: _Text) -> bool:
        """Tell whether another's text stands in this one; a short one has to be lines of it."""
        if len(other.whole) >= _LONG and other.whole in self.whole:
            return True
        return bool(other.whole) and other.lines in self.lines


def _texts(store: MemoryStore, scope: Scope) -> Iterator[tuple[str, _Text]]:
    with find_place(store.root, scope).opened() as opened:
        for slug in sorted(opened.list_stems()):
            with contextlib.suppress(FileNotFoundError, UnreadableDocument):
                if slug != INDEX.stem:
                    body = body_of(opened.read(slug).content)
                    yield slug, _Text.of(body.decode("utf-8", "surrogateescape"))
