"""Machines whose memories are kept in git, and a remote between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cspace import proc
from cspace.events import Event
from cspace.files import Owner
from cspace.memory.changes import Change, Operation, apply_change, revision_of
from cspace.memory.keeping import Done, Keeper
from cspace.memory.reconcile import Chosen
from cspace.memory.recorded import open_store
from cspace.memory.remote import find_remote
from cspace.memory.repository import make_repository, mark_as_ours
from cspace.memory.scopes import parse_scope
from cspace.memory.store import MemoryStore
from cspace.memory.sync import Plan, Sync, Synced
from tests.conftest import Clock

BEGINNING = datetime(2026, 4, 14, 10, 30, tzinfo=UTC)


@dataclass
class Machine:
    """One person's memories on one machine."""

    root: Path
    by: str
    owner: Owner | None = None
    clock: Clock = field(default_factory=lambda: Clock(BEGINNING))
    events: list[Event] = field(default_factory=list)

    @property
    def plain(self) -> MemoryStore:
        return MemoryStore(self.root, self.owner, self.by, self.clock)

    @property
    def store(self) -> MemoryStore:
        return open_store(self.plain, self.events.append)

    @property
    def keeper(self) -> Keeper:
        return Keeper(make_repository(self.root, self.owner), self.plain, self.events.append)

    def init(self) -> Machine:
        keeper = self.keeper
        mark_as_ours(keeper.repository)
        keeper.commit_all(Done("Begin to keep memories", "init", self.by))
        return self

    def write(
        self, name: str, body: str, operation: Operation = Operation.OVERWRITE, proposal: str = ""
    ) -> None:
        self.clock.advance(minutes=1)
        scope, _, slug = name.rpartition("/")
        change = Change(parse_scope(scope), slug, operation, body)
        before = self.plain.find(change.scope, slug)
        after = apply_change(before, change, self.clock())
        self.store.write(change, after, revision_of(before), proposal=proposal)

    def append(self, name: str, body: str) -> None:
        self.write(name, body, Operation.APPEND)

    def remove(self, name: str) -> None:
        self.write(name, "", Operation.REMOVE)

    def path(self, name: str) -> Path:
        return self.root / f"{name}.md"

    def text(self, name: str) -> str:
        return self.path(name).read_text(encoding="utf-8")

    def revision(self, name: str) -> str:
        return revision_of(self.path(name).read_bytes()) or ""

    def git(self, *words: str) -> str:
        return proc.run("git", "-C", self.root, "-c", "safe.directory=*", *words).text

    def log(self) -> list[str]:
        return self.git("log", "--format=%s").splitlines()

    def connect(self, remote: Path) -> None:
        self.git("remote", "add", "origin", str(remote))

    def sync(self, **chosen: str) -> Synced:
        sides = {side: frozenset({name}) for side, name in chosen.items()}
        remote = find_remote(self.keeper.repository, None, self.events.append)
        return Sync(self.keeper, remote, Chosen(**sides)).run(Plan.check)

    def tree(self) -> str:
        return self.git("rev-parse", "HEAD^{tree}")

    def files(self) -> dict[str, bytes]:
        """Return what is on the disk, of memories."""
        found = (path for path in self.root.rglob("*.md") if path.is_file())
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}


def make_remote(directory: Path) -> Path:
    """Make a bare repository."""
    proc.run("git", "init", "--quiet", "--bare", "--initial-branch=main", directory)
    return directory
