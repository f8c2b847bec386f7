"""Keeps what looks like a secret out of notes, which everybody gets who fetches them."""

from __future__ import annotations

from collections.abc import Iterable

from cspace.errors import UsageError
from cspace.leaks.scan import Leak, scan


class LeakFound(UsageError):
    """A text looks like a secret; it is not repeated.

    Attributes:
        leaks: the field of each, and where in it.
    """

    def __init__(self, leaks: tuple[tuple[str, Leak], ...]) -> None:
        places = "; ".join(f"{field}: {leak}" for field, leak in leaks)
        super().__init__(
            f"what looks like a secret was not captured: {places}",
            hint="take it out; if it is none, capture it with --allow-secret",
        )
        self.leaks = leaks


def refuse_leaks(texts: Iterable[tuple[str, str]]) -> None:
    """Refuse texts, each with its field's name, that hold a secret.

    Raises:
        LeakFound: at least one does.
    """
    leaks = tuple((field, leak) for field, text in texts for leak in scan(text))
    if leaks:
        raise LeakFound(leaks)
