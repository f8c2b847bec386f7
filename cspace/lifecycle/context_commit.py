"""Commits the context from the host; from an instance nobody does, by accident or otherwise."""

from __future__ import annotations

from cspace.context.commit import Committed, Wanted, commit_context
from cspace.context.store import ContextStore
from cspace.errors import UsageError


def commit_shared(store: ContextStore, wanted: Wanted) -> Committed:
    """Commit the context of a store; errors as for `commit_context`.

    Raises:
        UsageError: this is an instance, whose clone leaves the shared context out.
    """
    if store.origin.instance is not None:
        raise UsageError(
            "the context is not committed from inside an instance, where all agents share it",
            hint="run cspace context commit on the host",
        )
    return commit_context(store.root, wanted)
