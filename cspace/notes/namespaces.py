"""The ten namespaces of commit notes, each a ref of its own."""

from __future__ import annotations

from enum import StrEnum

from cspace.errors import UsageError

PREFIX = "refs/notes/cs/"
_TYPES = {"decisions": "decision", "blockers": "blocker", "reviews": "review_finding"} | {
    "learnings": "learning",
    "patterns": "pattern",
}


class Namespace(StrEnum):
    """What a memory is about, in the order in which work comes to it."""

    INCEPTION = "inception"
    ELICITATION = "elicitation"
    RESEARCH = "research"
    DECISIONS = "decisions"
    PROGRESS = "progress"
    BLOCKERS = "blockers"
    REVIEWS = "reviews"
    LEARNINGS = "learnings"
    RETROSPECTIVE = "retrospective"
    PATTERNS = "patterns"

    @property
    def ref(self) -> str:
        """The notes ref that holds it."""
        return f"{PREFIX}{self.value}"

    @property
    def type(self) -> str:
        """What a record is that does not say more."""
        return _TYPES.get(self.value, self.value)

    @property
    def has_status(self) -> bool:
        """Whether what stands here is open until it is resolved."""
        return self in (Namespace.BLOCKERS, Namespace.REVIEWS)


def get_namespace(name: str) -> Namespace:
    """Return the namespace of a name.

    Raises:
        UsageError: there is none; says which there are.
    """
    try:
        return Namespace(name)
    except ValueError:
        raise UsageError(
            f"namespace {name!r}: there is no such namespace",
            hint=f"use one of: {', '.join(Namespace)}",
        ) from None
