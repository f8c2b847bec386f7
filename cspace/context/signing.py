"""Who a store's records are from, where that is not who started us."""

from __future__ import annotations

import dataclasses

from cspace.context import authored
from cspace.context.store import ContextStore


def signed_by(store: ContextStore, author: str) -> ContextStore:
    """Return the store, signing with another name.

    Raises:
        UsageError: it can not be an author.
    """
    origin = dataclasses.replace(store.origin, author=authored.check_author(author))
    return dataclasses.replace(store, origin=origin)


def for_callers_elsewhere(store: ContextStore) -> ContextStore:
    """Return the store for agents who work in another checkout: ours does not say their commit."""
    origin = dataclasses.replace(store.origin, commit=lambda: None)
    return dataclasses.replace(store, origin=origin)
