"""A list costs what it shows, as the index knows it, and is what git says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cspace import files
from cspace.notes import glance
from cspace.notes.catalog import MOST_CHANGES, Catalog
from cspace.notes.listing import Listed, Wanted
from cspace.notes.memory import Memory
from cspace.notes.namespaces import Namespace
from tests.notes.annotated import BEGIN, annotate, draft, open_catalog

SIZE = 30


@pytest.fixture
def catalog(repo: Path) -> Catalog:
    annotate(repo, [(f"Chose plan{one}", f"because of walrus{one}\n") for one in range(SIZE)])
    catalog = open_catalog(repo)
    for name in ("Down", "Slow"):
        blocker = draft(name, namespace=Namespace.BLOCKERS, spec="spec-1", tags=("odd", "ops"))
        last = catalog.store.capture(blocker).memory
    catalog.store.resolve(last.reference, "Faster.")
    catalog.refresh()
    return catalog


def told(listed: Listed) -> tuple[int, list[tuple[int, Memory]]]:
    """Return what a list says, whoever was asked."""
    rows = [
        (row.number, replace(row.memory, record=replace(row.memory.record, source=b"")))
        for row in listed.rows
    ]
    return listed.left_out, rows


def test_what_the_index_lists_is_what_git_lists(catalog: Catalog) -> None:
    wanted = (
        Wanted(),
        Wanted(limit=7),
        Wanted((Namespace.BLOCKERS,), limit=1),
        Wanted((Namespace.BLOCKERS, Namespace.DECISIONS), spec="spec-1"),
        Wanted(tags=("odd", "ops")),
        Wanted(since=BEGIN + timedelta(hours=20), limit=3),
        Wanted(status="resolved"),
        Wanted(spec="none"),
    )
    ours = [told(catalog.list(one)) for one in wanted]
    assert [len(rows) for _, rows in ours] == [32, 7, 1, 7, 2, 3, 1, 0]
    catalog.path.write_bytes(b"no database")
    with files.lock(catalog.path.with_suffix(".lock"), timeout=0, holder="another"):
        from_git = [told(catalog.list(one)) for one in wanted]
    assert all(one == other for one, other in zip(ours, from_git, strict=True))


def test_a_list_reads_no_notes_that_the_index_knows(repo: Path, catalog: Catalog) -> None:
    (repo / ".git/objects").rename(repo / ".git/away")
    (repo / ".git/objects").mkdir()
    (row,) = catalog.list(Wanted(limit=1)).rows
    assert (row.number, row.memory.namespace) == (32, Namespace.BLOCKERS)


def test_what_was_just_captured_is_listed_and_the_index_knows_it_then(
    repo: Path, catalog: Catalog
) -> None:
    catalog.store.capture(draft("A walrus"))
    assert catalog.list(Wanted(limit=1)).rows[0].memory.record.summary == "A walrus"
    with glance.opened(repo / ".git") as index:
        assert glance.is_current(index, repo)


def test_nobody_waits_for_who_writes_the_index(catalog: Catalog) -> None:
    catalog.store.capture(draft("A walrus"))
    lock = catalog.path.with_suffix(".lock")
    with files.lock(lock, timeout=0, holder="another"):
        assert not catalog.refresh_if_small(MOST_CHANGES)
        assert catalog.list(Wanted(limit=1)).rows[0].memory.record.summary == "A walrus"
