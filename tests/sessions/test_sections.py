"""Sections of session notes: any text comes back, and nothing outside of a section changes."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cspace.sessions import sections
from cspace.sessions.sections import EMPTY, NAMES, find_sections, read_section, replace_section

# Lines that look like structure, in every variation that we could think of.
LINES = st.sampled_from(
    [
        "## Workflow", "# LEARNINGS", "  ###### worklog ##", "\\## Workflow", "\\\\# Workflow",
        "## Mine", "# Mine", "### Mine", "#", "\\#", "```", "~~~~", "````", "\\```", "```sh",
        "---", "", "text", "\r", "#tag", "Errors & Corrections", "\ufeff## Workflow",
    ]
)  # fmt: skip
BREAKS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\u2028", "\x85"])
HOSTILE = st.lists(st.tuples(LINES, BREAKS)).map(
    lambda parts: "".join(line + end for line, end in parts)
)
TEXTS = HOSTILE | st.text(st.characters(exclude_categories=["Cs"]))
NAMED = st.sampled_from(NAMES)
LAX = """\
\ufeffAbout this file.

# session title
A title
# My own
mine
# CURRENT STATE ##
state
## Sub
more
#### Learnings
lesson
"""


def test_an_empty_file_has_the_ten_sections_in_order() -> None:
    assert [one.name for one in find_sections(EMPTY)] == list(NAMES)
    assert [read_section(EMPTY, name) for name in NAMES] == [""] * 10


@given(st.lists(st.tuples(NAMED, TEXTS)))
@example([("Learnings", "```"), ("Key Results", "```\n# x\n"), ("Learnings", "y")])
@example([("Session Title", "\n"), ("Worklog", "\n\n"), ("Workflow", "~~~\n# a\n~~~")])
def test_any_texts_come_back_byte_for_byte(updates: list[tuple[str, str]]) -> None:
    notes, expected = EMPTY, dict.fromkeys(NAMES, "")
    for name, text in updates:
        notes = replace_section(notes, name, text)
        expected[name] = text
    assert {name: read_section(notes, name) for name in NAMES} == expected
    assert [one.name for one in find_sections(notes)] == list(NAMES)


@given(TEXTS, st.integers(1, 6))
def test_what_was_escaped_comes_back(text: str, level: int) -> None:
    assert sections.unescape(sections.escape(text, level)) == text


@given(TEXTS, NAMED, TEXTS)
def test_in_a_file_of_any_form_every_other_byte_stays(notes: str, name: str, text: str) -> None:
    found = sections.find_section(notes, name)
    after = replace_section(notes, name, text)
    if found:
        assert after.startswith(notes[: found.body.start])
        assert after.endswith(notes[found.body.end :])
    else:
        same = os.path.commonprefix([notes, after])  # noqa: RUF071  of texts
        assert after.endswith(notes[len(same) :])
        assert len(after) > len(notes)
    again = replace_section(after, name, text)
    assert again == after or found is None


@given(st.lists(st.tuples(NAMED, TEXTS), max_size=4))
def test_an_unknown_section_and_the_preamble_survive(updates: list[tuple[str, str]]) -> None:
    preamble, mine = "before\r\n\r\n", "## Mine\r\nkept\r\n```\n# no heading\n```\n\n"
    place = EMPTY.index("## Workflow")
    notes = preamble + EMPTY[:place] + mine + EMPTY[place:]
    for name, text in updates:
        notes = replace_section(notes, name, text)
    assert notes.startswith(preamble)
    assert notes.count(mine) >= 1
    assert read_section(notes, "Files and Functions") is not None


def test_headings_of_any_level_and_case_are_read() -> None:
    assert [one.name for one in find_sections(LAX)] == [
        "Session Title", "Current State", "Learnings",
    ]  # fmt: skip
    assert read_section(LAX, "Current State") == "state\n## Sub\nmore"
    after = replace_section(LAX, "Session Title", "Another")
    assert after == LAX.replace("A title\n", "Another\n\n")


def test_a_missing_section_is_put_in_its_place() -> None:
    after = replace_section(LAX, "Workflow", "steps")
    assert after == LAX.replace("#### Learnings", "# Workflow\nsteps\n\n#### Learnings")
    assert replace_section("mine", "Worklog", "x") == "mine\n\n## Worklog\nx\n"


def test_windows_line_ends_stay_and_frame_what_is_new() -> None:
    notes = replace_section(EMPTY.replace("\n", "\r\n"), "Learnings", "a\nb")
    assert "## Learnings\r\na\nb\r\n\r\n## Key Results\r\n" in notes
    assert read_section(notes, "Learnings") == "a\nb"


def test_a_template_in_a_code_block_is_not_taken_for_the_sections() -> None:
    notes = replace_section(EMPTY, "Learnings", "real")
    place = notes.index("## Learnings")
    pasted = notes[:place] + "```\n## Learnings\npasted\n```\n\n" + notes[place:]
    assert read_section(pasted, "Learnings") == "real"


def test_an_open_fence_by_hand_hides_no_section() -> None:
    notes = EMPTY.replace("## Workflow\n", "## Workflow\n```\nopen\n")
    notes = replace_section(notes, "Key Results", "```\n# closed\n```")
    assert [one.name for one in find_sections(notes)] == list(NAMES)
    assert read_section(notes, "Key Results") == "```\n# closed\n```"


@pytest.mark.parametrize(
    "line", ["#" + " " * 200_000, "```\n" * 50_000, "\\" * 200_000, "# x\n" * 50_000]
)
def test_a_large_hostile_text_takes_no_time(line: str) -> None:
    started = time.monotonic()
    notes = replace_section(EMPTY, "Workflow", line)
    assert read_section(notes, "Workflow") == line
    assert time.monotonic() - started < 5
