"""The facts that context tools return, as their output schemas show them."""

from __future__ import annotations

from pydantic import BaseModel

from cspace.context.digest import skipped_lines
from cspace.context.records import Info, Listing


class LoggedFacts(BaseModel):
    """A new record."""

    path: str
    slug: str


class AppendedFacts(BaseModel):
    """A finding after an update."""

    path: str
    status: str


class RemovedFacts(BaseModel):
    """What was removed."""

    path: str


class EntryFacts(BaseModel):
    """A record without its texts."""

    kind: str
    slug: str
    path: str
    title: str
    date: str
    author: str | None = None


class FindingFacts(EntryFacts):
    """A finding without its texts."""

    status: str
    category: str
    tags: list[str]
    related: list[str]
    updated: str


class EntriesFacts(BaseModel):
    """Records, newest first; left_out counts those that limit cut off."""

    entries: list[EntryFacts]
    left_out: int
    skipped: list[str]


class FindingsFacts(BaseModel):
    """Findings, newest first; left_out counts those that limit cut off."""

    findings: list[FindingFacts]
    left_out: int
    skipped: list[str]


def entries_facts(listing: Listing[Info]) -> EntriesFacts:
    """Show a list of records."""
    return EntriesFacts(
        entries=[EntryFacts(**_common(info)) for info in listing.entries],
        left_out=listing.left_out,
        skipped=skipped_lines(listing.skipped),
    )


def findings_facts(listing: Listing[Info]) -> FindingsFacts:
    """Show a list of findings."""
    return FindingsFacts(
        findings=[
            FindingFacts(
                **_common(info),
                status=info.status,
                category=info.category,
                tags=list(info.tags),
                related=list(info.related),
                updated=info.updated.strftime("%Y-%m-%dT%H:%M:%SZ") if info.updated else "",
            )
            for info in listing.entries
        ],
        left_out=listing.left_out,
        skipped=skipped_lines(listing.skipped),
    )


def _common(info: Info) -> dict[str, str]:
    facts = {
        "kind": info.kind.value,
        "slug": info.slug,
        "path": info.path,
        "title": info.title,
        "date": info.date,
    }
    return facts | ({"author": info.author} if info.author else {})
