"""A store below an empty root, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.memory.changes import Change, Operation, apply_change, revision_of
from cspace.memory.proposals import Proposals
from cspace.memory.scopes import Kind, Scope
from cspace.memory.store import MemoryStore
from tests.conftest import Clock

USER = Scope(Kind.USER)
WEB = Scope(Kind.PROJECT, "web")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(root: Path, clock: Clock) -> MemoryStore:
    return MemoryStore(root, by="ann", now=clock)


@pytest.fixture
def make(store: MemoryStore) -> Callable[..., None]:
    """Return a function that makes memories of the user, each with a text."""

    def make(*slugs: str, scope: Scope = USER) -> None:
        for slug in slugs:
            store.change(Change(scope, slug, Operation.CREATE, f"# About {slug}\n"))

    return make


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Return `~/.cspace`, in which the memory's root does not exist yet."""
    place = tmp_path / ".cspace"
    place.mkdir()
    return place


@pytest.fixture
def proposals(user: Path, clock: Clock) -> Proposals:
    return Proposals(MemoryStore(user / "memory", by="person", now=clock))


def force(store: MemoryStore, slug: str, content: bytes, scope: Scope = USER) -> None:
    """Put bytes in a memory's place, whatever is there."""
    before = store.find(scope, slug)
    change = Change(scope, slug, Operation.OVERWRITE)
    store.write(change, content, revision_of(before))


def append(store: MemoryStore, slug: str, text: str, scope: Scope = USER) -> None:
    """Append as one does who has seen the diff."""
    before = store.read(scope, slug)
    change = Change(scope, slug, Operation.APPEND, text)
    store.write(change, apply_change(before, change, store.now()), revision_of(before))


def index_of(root: Path, scope: Scope = USER) -> str:
    return (root / scope.relative / "MEMORY.md").read_text(encoding="utf-8")
