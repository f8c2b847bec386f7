"""Lists are newest first, honour their limit before the work, and count what they leave out."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest

from cspace.beneath import MAX_BYTES
from cspace.context.listing import Period, Wanted, list_entries, list_findings, newest
from cspace.context.reading import MAX_TOTAL_BYTES
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


def test_the_limit_holds_for_all_kinds_together_before_the_work(
    store: ContextStore, root: Path, clock: Clock
) -> None:
    log(store, "old")
    clock.advance(days=1)
    for title in ("one", "two", "three"):
        store.log_decision(Decision(title, "c", "a", "d", "c"))
    # What is not opened can not be found unreadable.
    old = root / ".cspace/context/findings/2026-04-14-old.md"
    old.unlink()
    os.mkfifo(old)
    found = list_entries(store, limit=2)
    assert (len(found.entries), found.left_out, found.skipped) == (2, 2, ())
    assert [one.reason for one in list_entries(store, limit=4).skipped] == ["not a regular file"]


def test_days_that_hold_nothing_readable_do_not_count_for_the_limit(
    store: ContextStore, root: Path, clock: Clock
) -> None:
    for day in range(4):
        log(store, f"day {day}")
        clock.advance(days=1)
    newest_file = root / ".cspace/context/findings/2026-04-17-day-3.md"
    newest_file.unlink()
    newest_file.symlink_to("/nowhere")
    found = list_entries(store, limit=2)
    assert [info.title for info in found.entries] == ["day 2", "day 1"]
    assert (found.left_out, len(found.skipped)) == (1, 1)


def test_a_filter_sees_every_finding_of_a_large_store_and_giants_hide_none(
    store: ContextStore, root: Path
) -> None:
    log(store, "small")
    directory = root / ".cspace/context/findings"
    for number in range(MAX_TOTAL_BYTES // MAX_BYTES + 4):
        giant = directory / f"2026-05-01-giant-{number}.md"
        giant.write_bytes(b"---\nstatus: open\n---\n")
        os.truncate(giant, MAX_BYTES)
    found = list_findings(store, Wanted(status=frozenset({"open"})), limit=200)
    assert "small" in {info.title for info in found.entries}
    assert [one.reason.split(",")[0] for one in found.skipped] == ["4 not read"]


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


def test_a_period_goes_by_the_header_where_a_name_says_something_else(
    store: ContextStore, root: Path, clock: Clock
) -> None:
    for title in ("one", "two"):
        store.log_decision(Decision(title, "c", "a", "d", "c"))
        clock.advance(days=1)
    moved = root / ".cspace/context/decisions/2026-04-20-moved.md"
    moved.write_text("---\ntitle: moved\ndate: 2026-01-01\n---\n", encoding="utf-8")
    found = list_entries(store, period=Period(since=datetime.date(2026, 4, 1)), limit=1)
    assert ([info.title for info in found.entries], found.left_out) == (["two"], 1)


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
