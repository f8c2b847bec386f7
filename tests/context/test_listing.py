"""Lists are newest first, honour their limit before the work, and count what they leave out."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest

from cspace.context.listing import Period, Wanted, list_entries, list_findings, newest
from cspace.context.records import Category, Decision, Discovery, Finding, Kind, Status
from cspace.context.store import ContextStore
from cspace.errors import NotFound
from tests.conftest import Clock


def log(store: ContextStore, title: str, status: Status = Status.OPEN, *tags: str) -> str:
    return store.log_finding(Finding(title, Category.BUG, "s", status=status, tags=tags)).slug


def test_entries_come_newest_first_by_time_and_not_by_name(
    store: ContextStore, clock: Clock
) -> None:
    for title in ("z first", "a second", "m third"):
        store.log_decision(Decision(title, "c", "a", "d", "c"))
        clock.advance(minutes=1)
    store.log_discovery(Discovery("b fourth", "f", "i"))
    assert [info.title for info in list_entries(store).entries] == [
        "b fourth",
        "m third",
        "a second",
        "z first",
    ]


def test_the_limit_cuts_and_says_how_much(store: ContextStore, clock: Clock) -> None:
    for day in range(5):
        log(store, f"day {day}")
        clock.advance(days=1)
    found = list_entries(store, limit=2)
    assert ([info.title for info in found.entries], found.left_out) == (["day 4", "day 3"], 3)


def test_the_limit_is_honoured_before_the_work(
    store: ContextStore, root: Path, clock: Clock
) -> None:
    for day in range(4):
        log(store, f"day {day}")
        clock.advance(days=1)
    # What is not opened can not be found unreadable.
    oldest = root / ".cspace/context/findings/2026-04-14-day-0.md"
    oldest.unlink()
    oldest.symlink_to("/nowhere")
    found = newest(store, Kind.FINDING, limit=2)
    assert (len(found.entries), found.left_out, found.skipped) == (2, 2, ())


def test_a_name_without_a_day_is_placed_by_its_front_matter(
    store: ContextStore, root: Path, clock: Clock
) -> None:
    log(store, "new")
    directory = root / ".cspace/context/findings"
    (directory / "by-hand.md").write_text("---\ndate: 2020-01-01\n---\n", encoding="utf-8")
    (directory / "newer.md").write_text("---\ndate: 2030-01-01\n---\n", encoding="utf-8")
    slugs = [info.slug for info in list_entries(store, (Kind.FINDING,)).entries]
    assert slugs == ["newer", "2026-04-14-new", "by-hand"]


def test_findings_are_filtered_by_status_category_and_tags(store: ContextStore) -> None:
    log(store, "one", Status.OPEN, "db")
    log(store, "two", Status.RESOLVED, "db", "ui")
    log(store, "three", Status.WONTFIX)

    def titles(**wanted: frozenset[str]) -> set[str]:
        return {info.title for info in list_findings(store, Wanted(**wanted)).entries}

    assert titles(status=frozenset({"open", "wontfix"})) == {"one", "three"}
    assert titles(tags=frozenset({"db"})) == {"one", "two"}
    assert titles(category=frozenset({"refactor"})) == set()


def test_since_also_finds_findings_that_were_updated_since(
    store: ContextStore, clock: Clock
) -> None:
    updated, quiet = log(store, "updated"), log(store, "quiet")
    store.log_decision(Decision("old", "c", "a", "d", "c"))
    clock.advance(days=10)
    store.append_to_finding(updated, "news")
    since = Period(since=clock().date() - datetime.timedelta(days=1))
    assert [info.slug for info in list_entries(store, period=since).entries] == [updated]
    assert quiet not in {info.slug for info in list_findings(store, Wanted(), period=since).entries}


def test_until_includes_its_day(store: ContextStore, clock: Clock) -> None:
    log(store, "one")
    clock.advance(days=1)
    log(store, "two")
    until = Period(until=datetime.date(2026, 4, 14))
    assert [info.title for info in list_entries(store, period=until).entries] == ["one"]


def test_an_answer_equals_what_is_on_disk_at_the_time_of_the_call(
    store: ContextStore, root: Path
) -> None:
    path = root / store.log_finding(Finding("old", Category.BUG, "s")).path
    before = path.stat()
    assert list_entries(store).entries[0].title == "old"
    path.write_bytes(path.read_bytes().replace(b"title: old", b"title: new"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert list_entries(store).entries[0].title == "new"


def test_reads_on_a_fresh_project_create_nothing(store: ContextStore, root: Path) -> None:
    assert list_entries(store).entries == ()
    assert os.listdir(root) == []


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list_entries(ContextStore(tmp_path / "gone"))
