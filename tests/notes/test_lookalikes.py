"""A review finding says how often and where earlier ones like it were seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cspace import proc
from cspace.git_import import find_place
from cspace.index.embedder import Missing
from cspace.notes.catalog import Catalog
from cspace.notes.draft import Draft
from cspace.notes.lookalikes import LEAST_NEARNESS, Lookalikes, choose, find_lookalikes
from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace
from cspace.notes.question import Recollection, Why
from cspace.notes.store import NotesStore
from tests.notes.findings import ALIKE, DIFFERENT

WORDS_ONLY = Missing("no model", "none")
START = datetime(2026, 8, 1, tzinfo=UTC)
# Measured with all-MiniLM-L6-v2: pairs that say the same have 0.42 to 0.86, seven of eight at least
# 0.64; others -0.1 to 0.42.
ALL_BELOW = 0.45


class Reviews:
    """A repository in which each capture is a day later than the one before."""

    def __init__(self, repo: Path) -> None:
        self.repo, self.days = repo, 0

    @property
    def catalog(self) -> Catalog:
        now = START + timedelta(days=self.days)
        return Catalog(NotesStore(self.repo, find_place(self.repo), now=lambda: now))

    def add(self, summary: str, category: str = "security", **more: str) -> Memory:
        self.days += 1
        draft = Draft(
            namespace=Namespace.REVIEWS,
            summary=summary,
            body="",
            severity="high",
            category=category,
            **more,  # type: ignore[arg-type]
        )
        return self.catalog.store.capture(draft).memory

    def like(self, finding: Memory) -> Lookalikes:
        return find_lookalikes(self.catalog, finding, WORDS_ONLY)


@pytest.fixture
def reviews(repo: Path) -> Reviews:
    return Reviews(repo)


@pytest.mark.parametrize(("earlier", "later"), ALIKE)
def test_a_finding_that_says_the_same_is_seen_before(
    reviews: Reviews, earlier: str, later: str
) -> None:
    first = reviews.add(earlier)
    assert [one.id for one in reviews.like(reviews.add(later)).earlier] == [first.id]


def test_findings_about_something_else_are_not(reviews: Reviews) -> None:
    for earlier, _ in DIFFERENT:
        reviews.add(earlier)
    assert [reviews.like(reviews.add(later)).earlier for _, later in DIFFERENT] == [()] * 8


def test_it_says_how_often_since_when_and_where(reviews: Reviews) -> None:
    for place in ("orders", "customers", "reports", "carts"):
        reviews.add(f"User input goes into the SQL of {place}", file=f"src/{place}.py")
        proc.run("git", "commit", "--allow-empty", "-m", place, cwd=reviews.repo)
    found = reviews.like(reviews.add("User input goes into the SQL of invoices"))
    said = found.describe()
    assert said.startswith("seen 4 times since 2026-08-02: reviews:")
    assert (
        said.index("src/carts.py") < said.index("src/reports.py") < said.index("src/customers.py")
    )
    assert said.endswith(" and 1 more")
    assert "src/orders.py" not in said


def test_another_category_and_another_namespace_are_something_else(reviews: Reviews) -> None:
    reviews.add("The export loads all rows into memory", category="performance")
    other = reviews.add("The import loads all rows into memory", category="quality")
    assert reviews.like(other).describe() == ""
    draft = Draft(Namespace.LEARNINGS, "The import loads all rows into memory", "")
    assert reviews.like(reviews.catalog.store.capture(draft).memory).earlier == ()


def test_the_same_finding_on_another_commit_was_seen_before(reviews: Reviews) -> None:
    first = reviews.add("Tokens are written to the log")
    proc.run("git", "commit", "--allow-empty", "-m", "later", cwd=reviews.repo)
    again = reviews.add("Tokens are written to the log")
    assert again.id == first.id
    assert [one.commit for one in reviews.like(again).earlier] == [first.commit]


@pytest.mark.parametrize(("nearness", "count"), [(LEAST_NEARNESS, 1), (ALL_BELOW, 0)])
def test_by_meaning_only_what_is_nearer_than_any_stranger_counts(
    reviews: Reviews, nearness: float, count: int
) -> None:
    other, finding = reviews.add("Secrets leak"), reviews.add("Keys are printed")
    found = Recollection(other, 1.0, Why((), (), nearness, None, 1))
    assert len(choose(finding, [found])) == count
