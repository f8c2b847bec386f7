"""The block that is kept before a compaction: bounded, and authors' texts stay."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from cspace.sessions.budget import list_excess
from cspace.sessions.kept import BEGIN, END, Compaction, keep
from cspace.sessions.sections import (
    CURRENT_STATE,
    EMPTY,
    NAMES,
    WORKLOG,
    find_sections,
    read_section,
    replace_section,
)
from cspace.sessions.transcript import Moment, Task
from tests.sessions.test_sections import TEXTS

AUTO = Compaction(datetime(2026, 4, 14, 10, 30, tzinfo=UTC), "auto", "")
LATER = Compaction(datetime(2026, 4, 14, 11, 30, tzinfo=UTC), "manual", "keep the names")
MOMENT = Moment(
    typed="Write it.\n## Learnings\nplease",
    tasks={"1": Task("Parse", "completed"), "2": Task("Test", "in_progress")},
    edited={"/workspace/a.py": None},
)
BLOCK = f"""\
{BEGIN}
Before 2026-04-14T10:30:00Z compaction, the context window was full.
Last request of the user:
> Write it.
> ## Learnings
> please
Tasks as last set:
- [in_progress] Test
- [completed] Parse
Files edited lately, the latest first:
- /workspace/a.py
{END}"""
HUGE = Moment(
    typed="word " * 10_000,
    tasks={str(n): Task("t" * 10_000, "pending") for n in range(1_000)},
    edited=dict.fromkeys("/" + "f" * 4_000 + str(number) for number in range(1_000)),
)


def test_empty_notes_get_the_block_and_a_line_of_the_worklog() -> None:
    notes = keep(EMPTY, AUTO, MOMENT)
    assert read_section(notes, CURRENT_STATE) == BLOCK
    line = "- 2026-04-14T10:30:00Z compaction, the context window was full"
    assert read_section(notes, WORKLOG) == line
    assert [one.name for one in find_sections(notes)] == list(NAMES)


@given(TEXTS, TEXTS)
def test_what_authors_wrote_stays_and_the_block_is_written_anew(state: str, log: str) -> None:
    notes = replace_section(replace_section(EMPTY, CURRENT_STATE, state), WORKLOG, log)
    twice = keep(keep(notes, AUTO, MOMENT), LATER, MOMENT)
    now = read_section(twice, CURRENT_STATE) or ""
    assert now.startswith(state)
    assert now.count(BEGIN) == 1
    assert "compaction, asked for by /compact: keep the names." in now
    logged = read_section(twice, WORKLOG) or ""
    assert logged.startswith(log)
    assert logged.count("compaction, ") == 2
    rest = [name for name in NAMES if name not in (CURRENT_STATE, WORKLOG)]
    assert [read_section(twice, name) for name in rest] == [""] * len(rest)


@settings(deadline=None)
@given(st.integers(0, 8_300), st.integers(0, 9))
def test_the_budgets_hold_however_much_there_is_to_keep(size: int, others: int) -> None:
    notes = replace_section(EMPTY, CURRENT_STATE, "x" * size)
    for name in NAMES[2 : 2 + others]:
        notes = replace_section(notes, name, "x" * 7_600)
    before = list_excess(notes)
    for _ in range(3):
        notes = keep(notes, AUTO, HUGE)
    assert [one.section for one in list_excess(notes)] == [one.section for one in before]
    assert (read_section(notes, CURRENT_STATE) or "").startswith("x" * size)


def test_a_worklog_that_is_full_gets_no_line_more() -> None:
    notes = EMPTY
    for _ in range(200):
        notes = keep(notes, AUTO, MOMENT)
    assert list_excess(notes) == ()
    assert (read_section(notes, WORKLOG) or "").count("\n") > 50


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_nothing_from_a_transcript_can_pass_for_structure(
    request: str, subject: str, path: str, instructions: str
) -> None:
    moment = Moment(typed=request, tasks={"1": Task(subject, subject)}, edited={path: None})
    asked = Compaction(AUTO.time, "manual", instructions)
    notes = keep(EMPTY, asked, moment)
    assert [one.name for one in find_sections(notes)] == list(NAMES)
    assert read_section(keep(notes, asked, moment), CURRENT_STATE) == read_section(
        notes, CURRENT_STATE
    )
