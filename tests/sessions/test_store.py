"""Session notes on disk: whole, locked, and never behind a link."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import files
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.sessions.budget import estimate_tokens, list_excess
from cspace.sessions.place import Place, get_session, list_sessions
from cspace.sessions.sections import EMPTY, NAMES, read_section, replace_section
from cspace.sessions.store import change_notes, load_notes, update_section
from tests.sessions.conftest import Desk

WRITERS = NAMES[:8]
FEW, FULL = 10, 250


def test_an_update_makes_the_ten_sections_where_there_are_no_notes(desk: Desk) -> None:
    desk.transcript("one")
    done = update_section(desk.place, desk.session(), "Learnings", "It is slow.")
    assert done.created
    assert done.path == desk.path / "-workspace/one.md"
    text = done.path.read_text(encoding="utf-8")
    assert text == EMPTY.replace("## Learnings\n", "## Learnings\nIt is slow.\n")
    assert not update_section(desk.place, desk.session(), "Learnings", "No.").created


def test_bytes_that_are_no_utf8_stay(desk: Desk) -> None:
    desk.transcript("one")
    path = desk.notes("one", "a \udcff byte\r\n\r\n" + EMPTY)
    update_section(desk.place, desk.session(), "Workflow", "x")
    assert path.read_bytes().startswith(b"a \xff byte\r\n\r\n## Session Title\n")


def append(place: Place, name: str, count: int) -> None:
    session = get_session(list_sessions(place), "one")
    for number in range(count):

        def change(before: str | None, number: int = number) -> str:
            notes = EMPTY if before is None else before
            said = read_section(notes, name) or ""
            return replace_section(notes, name, f"{said}{number}\n")

        change_notes(place, session, change, patience=120)


def test_eight_writers_of_different_sections_lose_nothing(
    desk: Desk, counts: Callable[[int, int], int]
) -> None:
    desk.transcript("one")
    count = counts(FEW, FULL)
    start = multiprocessing.get_context("spawn")
    writers = [start.Process(target=append, args=(desk.place, name, count)) for name in WRITERS]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * len(WRITERS)
    notes = load_notes(desk.place, desk.session())
    wanted = "".join(f"{number}\n" for number in range(count))
    assert {name: read_section(notes, name) for name in WRITERS} == dict.fromkeys(WRITERS, wanted)
    assert sorted(path.name for path in (desk.path / "-workspace").iterdir()) == [
        "one.jsonl", "one.md", "one.md.lock",
    ]  # fmt: skip


def test_who_holds_the_notes_for_too_long_is_named(desk: Desk) -> None:
    desk.transcript("one")
    lock = desk.path / "-workspace/one.md.lock"
    with files.lock(lock, timeout=1, holder="another"), pytest.raises(Conflict, match="another"):
        change_notes(desk.place, desk.session(), lambda _: "", patience=0)


@pytest.mark.parametrize("linked", ["-workspace", "-workspace/one.md", "-workspace/one.md.lock"])
def test_a_link_in_place_of_notes_hazard_nothing_behind_it_is_read_or_written(
    desk: Desk, tmp_path: Path, linked: str
) -> None:
    desk.transcript("one")
    session = desk.session()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private").write_text("private", encoding="utf-8")
    place = desk.path / linked
    if place.is_dir():
        place.rename(tmp_path / "kept")
    place.symlink_to(outside if linked == "-workspace" else outside / "private")
    with pytest.raises((CspaceError, OSError)) as caught:
        update_section(desk.place, session, "Workflow", "x")
    assert "private" not in str(caught.value)
    assert [path.name for path in outside.iterdir()] == ["private"]
    assert (outside / "private").read_text(encoding="utf-8") == "private"


def test_a_fifo_in_place_of_notes_hazard_nothing_waits(desk: Desk) -> None:
    desk.transcript("one")
    os.mkfifo(desk.path / "-workspace/one.md")
    with pytest.raises(CspaceError, match="not a regular file"):
        load_notes(desk.place, desk.session())


def test_notes_that_are_far_too_large_are_refused_and_stay(desk: Desk) -> None:
    desk.transcript("one")
    with pytest.raises(CspaceError, match="more than 262144"):
        update_section(desk.place, desk.session(), "Workflow", "x" * 256 * 1024)
    with pytest.raises(NotFound):
        load_notes(desk.place, desk.session())


def test_a_budget_that_is_exceeded_is_said_and_nothing_is_cut(desk: Desk) -> None:
    desk.transcript("one")
    done = update_section(desk.place, desk.session(), "Workflow", "x" * 8_001)
    assert [str(one) for one in done.excess] == [
        "Workflow has about 2001 tokens, more than 2000",
    ]
    assert read_section(load_notes(desk.place, desk.session()), "Workflow") == "x" * 8_001
    full = EMPTY
    for name in NAMES:
        full = replace_section(full, name, "x" * 4 * 1_300)
    assert [one.section for one in list_excess(full)] == [None]


def test_tokens_are_a_quarter_of_the_bytes_rounded_up() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "漢字")] == [0, 1, 1, 2, 2]


def test_sessions_are_listed_newest_first_in_every_slug(desk: Desk) -> None:
    desk.transcript("old", age=100)
    desk.transcript("new", {"a": 1}, age=10, slug="-workspace-src")
    desk.transcript("agent-1")
    desk.notes("lost", EMPTY)
    (desk.path / "-workspace/memory").mkdir()
    (desk.path / "-workspace/odd.jsonl").symlink_to("old.jsonl")
    found = list_sessions(desk.place)
    assert [(one.id, one.slug, one.size) for one in found if one.id != "lost"] == [
        ("new", "-workspace-src", 9), ("old", "-workspace", 0),
    ]  # fmt: skip
    assert {one.id: one.notes for one in found} == {"new": None, "old": None, "lost": len(EMPTY)}
    assert list_sessions(Place("venus", desk.place.root, desk.place.below / "gone")) == ()


def test_the_beginning_of_an_id_is_enough_where_it_is_one_sessions(desk: Desk) -> None:
    for id_ in ("abc-1", "abd-2", "ab"):
        desk.transcript(id_)
    found = list_sessions(desk.place)
    assert get_session(found, "abc").id == "abc-1"
    assert get_session(found, "ab").id == "ab"
    with pytest.raises(UsageError, match="several"):
        get_session(found, "a")
    with pytest.raises(NotFound, match="'x'"):
        get_session(found, "x")
    with pytest.raises(NotFound, match="no session yet"):
        get_session((), None)
