"""The set union of notes."""

from __future__ import annotations

from cspace.notes.namespaces import Namespace


def merge_notes(namespace: Namespace, *contents: bytes) -> bytes:
    """Return a note with every record, and every stray paragraph, of all contents.

    The order of contents does not matter, and a merge with what is in the result changes nothing.
    """
    raise NotImplementedError
