"""The facts that memory tools return, as their output schemas show them."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel

from cspace.memory.entries import Entries, Entry
from cspace.memory.hidden import reveal
from cspace.memory.scopes import Scope

# A model that is shown more of a scope than this finds less in it: it searches.
MOST_ENTRIES = 200


class ScopeFacts(BaseModel):
    """A scope; frame says what its memories are, and are not."""

    scope: str
    entries: int
    frame: str | None = None


class EntryFacts(BaseModel):
    """A memory without its text."""

    scope: str
    slug: str
    type: str
    description: str
    updated: str


class ListFacts(BaseModel):
    """Memories by scope, the most specific first; left_out counts those for which no room was."""

    scopes: list[ScopeFacts]
    memories: list[EntryFacts]
    left_out: int
    skipped: list[str]


class FiledFacts(BaseModel):
    """What became of a wish; says is for whoever asked."""

    proposal: str
    status: str
    memory: str
    operation: str
    says: list[str]
    diff: str


def list_facts(found: Iterable[tuple[Scope, Entries]]) -> ListFacts:
    """Show what scopes hold."""
    each = tuple(found)
    entries = [one for _, listed in each for one in listed.entries]
    skipped = (
        reveal(f"{scope}/{one.path}: {one.reason}")
        for scope, listed in each
        for one in listed.skipped
    )
    return ListFacts(
        scopes=[
            ScopeFacts(scope=str(scope), entries=len(listed.entries), frame=scope.frame or None)
            for scope, listed in each
        ],
        memories=[_entry(one) for one in entries[:MOST_ENTRIES]],
        left_out=max(0, len(entries) - MOST_ENTRIES),
        skipped=list(skipped),
    )


def _entry(entry: Entry) -> EntryFacts:
    return EntryFacts(
        scope=str(entry.scope),
        slug=reveal(entry.slug),
        type=reveal(entry.type),
        description=reveal(entry.description),
        updated=entry.updated.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
