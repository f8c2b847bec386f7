"""What somebody wants to capture, before it is a record."""

from __future__ import annotations

from dataclasses import dataclass

from cspace.notes.namespaces import Namespace


@dataclass(frozen=True, slots=True)
class Draft:
    """The fields of a record to be; `check_draft` tells what is wrong with them."""

    namespace: Namespace
    summary: str
    body: str
    type: str | None = None
    spec: str | None = None
    phase: str | None = None
    tags: tuple[str, ...] = ()
    severity: str | None = None
    category: str | None = None
    file: str | None = None
    line: int | None = None


def check_draft(draft: Draft) -> None:
    """Refuse what no record can hold.

    Raises:
        UsageError: names the field, its value and what to do.
    """
    raise NotImplementedError
