"""Which version of an entry is its newest one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cspace.context import history
from cspace.context.history import Action, Change

START = datetime(2026, 4, 14, tzinfo=UTC)


def told(*happened: str) -> tuple[Change, ...]:
    """Return what happened, a minute after each other: `w1` the host wrote content 1, `i2` an
    instance wrote 2, `f1` 1 was found, `r` it was removed, `g` it was gone."""
    actions = {
        "w": Action.WRITTEN, "i": Action.WRITTEN, "f": Action.FOUND, "r": Action.REMOVED,
        "g": Action.GONE,
    }  # fmt: skip
    return tuple(
        Change(
            START + timedelta(minutes=number), actions[one[0]], "findings/x", one[1:],
            instance="mercury" if one[0] == "i" else None,
        )
        for number, one in enumerate(happened)
    )  # fmt: skip


def living(*happened: str) -> list[str]:
    return [version.revision for version in history.versions(told(*happened))]


def test_a_content_that_is_found_again_is_no_new_version() -> None:
    assert living("f1", "i2", "f1") == ["1", "2"]
    assert living("i1", "g", "f1") == ["1"]


def test_a_content_that_nobody_knew_is_the_newest() -> None:
    assert living("i1", "i2", "f3") == ["1", "2", "3"]


def test_only_the_host_puts_an_entry_back() -> None:
    assert living("i1", "i2", "w1") == ["1"]
    assert living("i1", "i2", "i1") == ["1", "2"]


def test_what_was_removed_has_no_version_until_it_is_written_anew() -> None:
    assert living("i1", "r") == []
    assert living("i1", "r", "f1", "g") == []
    assert living("i1", "r", "i2") == ["2"]
    assert living("i1", "r", "w1") == ["1"]


def test_what_is_done_on_purpose_leaves_another_record_of_that_name() -> None:
    changes = told("i1", "i20", "i21", "f1", "f21", "r")

    def same(one: str, other: str) -> bool:
        return one[0] == other[0]

    assert [one.revision for one in history.versions(changes, same)] == ["1"]
    assert history.versions(changes) == ()
    back = told("i1", "i10", "i20", "w1")
    assert [one.revision for one in history.versions(back, same)] == ["20", "1"]


def test_an_entry_at_a_time_is_what_was_last_seen_of_it() -> None:
    changes = told("i1", "i2", "g", "f1")
    found = [history.revision_at(changes, START + timedelta(minutes=n)) for n in range(-1, 4)]
    assert found == [None, "1", "2", None, "1"]


def test_changes_come_back_as_lines_and_twice_recorded_ones_count_once() -> None:
    changes = told("i1", "w2", "r", "g", "f3")
    lines = "".join(map(history.dump_change, changes)).encode()
    assert history.parse_changes(lines) == changes
    assert history.parse_changes(b"no json\n[]\n" + lines) == changes
    assert history.by_entry([*changes, *changes]) == {"findings/x": changes}


@pytest.mark.parametrize(
    ("entry", "revision"),
    [
        ("findings/../../escaped", "1"),
        ("findings/.hidden", "1"),
        ("findings/", "1"),
        ("elsewhere/x", "1"),
        ("../direction", "1"),
        ("findings/x", "HEAD:secret"),
        ("findings/x", "1\n2"),
    ],
)
def test_a_fetched_history_hazard_names_nothing_outside_of_the_context(
    entry: str, revision: str
) -> None:
    forged = Change(START, Action.WRITTEN, entry, revision)
    assert history.parse_changes(history.dump_change(forged).encode()) == ()
