"""The closed sets that records and command lines are made of; quick to load."""

from __future__ import annotations

from enum import StrEnum

HUMAN = ("direction", "principles", "roadmap")


class Kind(StrEnum):
    """The three records that agents write."""

    DECISION = "decision"
    DISCOVERY = "discovery"
    FINDING = "finding"

    @property
    def plural(self) -> str:
        """The name of its directory and of its section in a digest."""
        return {"decision": "decisions", "discovery": "discoveries", "finding": "findings"}[self]


BY_PLURAL = {kind.plural: kind for kind in Kind}
# What a digest is made of.
SECTIONS = (*HUMAN, *BY_PLURAL)


class Status(StrEnum):
    """Where a finding stands; any may follow any."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    WONTFIX = "wontfix"


# What still asks for work.
LIVE: frozenset[str] = frozenset({Status.OPEN, Status.ACKNOWLEDGED})


class Category(StrEnum):
    """What a finding is about."""

    BUG = "bug"
    OBSERVATION = "observation"
    REFACTOR = "refactor"
