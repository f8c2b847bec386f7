"""A store whose every change is a commit as well, where the memory's root is a repository."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.events import Report, ignore
from cspace.memory.changes import Change, Operation
from cspace.memory.keeping import Done, Keeper
from cspace.memory.located import Located
from cspace.memory.repository import find_repository
from cspace.memory.scopes import Scope
from cspace.memory.store import MemoryStore, show_nobody
from cspace.memory.writer import Seen, Written
from cspace.paths import INDEX

_SUBJECTS = {
    Operation.CREATE: "Add",
    Operation.APPEND: "Append to",
    Operation.OVERWRITE: "Rewrite",
    Operation.REMOVE: "Remove",
}


@dataclass(frozen=True, slots=True)
class RecordedStore(MemoryStore):
    """As `MemoryStore`; one change is one commit.

    Attributes:
        keeper: what commits; its own store has no keeper.
    """

    keeper: Keeper | None = None

    def write(
        self, change: Change, content: bytes | None, expected: str | None, *, proposal: str = ""
    ) -> Written:
        """See `MemoryStore.write`."""
        keeper = self._keeper()
        with keeper.keeping(self._done(change, proposal), Located(change.scope, change.slug)):
            return keeper.store.write(change, content, expected, proposal=proposal)

    def change(self, change: Change, seen: Seen = show_nobody, *, proposal: str = "") -> Written:
        """See `MemoryStore.change`."""
        keeper = self._keeper()
        with keeper.keeping(self._done(change, proposal), Located(change.scope, change.slug)):
            return keeper.store.change(change, seen, proposal=proposal)

    def move(self, source: tuple[Scope, str], target: tuple[Scope, str], expected: str) -> Written:
        """See `MemoryStore.move`."""
        keeper, places = self._keeper(), (Located(*source), Located(*target))
        subject = f"Move {places[0].name} to {places[1].name}"
        with keeper.keeping(Done(subject, "move", self.by), *places):
            return keeper.store.move(source, target, expected)

    def reindex(self, scope: Scope) -> int:
        """See `MemoryStore.reindex`."""
        keeper = self._keeper()
        done = Done(f"Make the index of {scope} anew", "reindex", self.by)
        with keeper.keeping(done, Located(scope, INDEX.stem)):
            return keeper.store.reindex(scope)

    def _keeper(self) -> Keeper:
        assert self.keeper is not None  # noqa: S101  a default only since inherited fields have one
        return self.keeper

    def _done(self, change: Change, proposal: str) -> Done:
        subject = f"{_SUBJECTS[change.operation]} {change.scope}/{change.slug}"
        return Done(subject, change.operation, self.by, proposal)


def open_store(plain: MemoryStore, report: Report = ignore) -> MemoryStore:
    """Return the store itself, or one that commits where its root is a repository of ours."""
    repository = find_repository(plain.root, plain.owner)
    if repository is None:
        return plain
    keeper = Keeper(repository, plain, report)
    return RecordedStore(plain.root, plain.owner, plain.by, plain.now, keeper)
