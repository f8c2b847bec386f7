"""A memory root with its proposals, and what tests look at in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cspace.memory.changes import Change, Operation
from cspace.memory.proposal import Provenance, Source
from cspace.memory.proposals import Proposals
from cspace.memory.scopes import parse_scope

HUMAN = Provenance(Source.HUMAN, "test")


def change(
    slug: str = "testing",
    body: str = "Use a real database.\n",
    operation: Operation = Operation.CREATE,
    *,
    scope: str = "user",
) -> Change:
    return Change(parse_scope(scope), slug, operation, body)


def write(proposals: Proposals, slug: str = "testing", body: str = "Old text.\n") -> None:
    """Write a memory as a person does, past any proposal."""
    proposals.store.change(change(slug, body, Operation.OVERWRITE))


def memory(proposals: Proposals, slug: str = "testing") -> bytes:
    """Return the bytes of one of the user's memories."""
    return (proposals.store.root / f"user/{slug}.md").read_bytes()


def hashes(root: Path) -> dict[str, str]:
    """Return a hash of every memory file and index: what starts with a dot is none."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*.md"))
        if not any(part.startswith(".") for part in path.relative_to(root).parts)
    }
