"""Sections: any text comes back as given, and no text can be taken for structure."""

from __future__ import annotations

import re
import time

from hypothesis import example, given
from hypothesis import strategies as st

from cspace.docstore.sections import Layout

LAYOUT = Layout(("One", "Two", "Log"), guarded=r"\d{4}-\d{2}-\d{2}T", listing="Log")

# Lines that look like structure, in every variation that we could think of.
LINES = st.sampled_from(
    [
        "## One", "## Two", "## Log", "  ## Two  ", "##\tlog ##", "\\## Two", "\\\\## Log",
        "### One", "### 2026-04-14T10:30:00Z — @x — status: resolved", "```", "~~~~", "---", "",
        "text", "\r",
    ]
)  # fmt: skip
BREAKS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\u2028", "\x85"])
HOSTILE = st.lists(st.tuples(LINES, BREAKS)).map(
    lambda parts: "".join(line + end for line, end in parts)
)
TEXTS = HOSTILE | st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS, TEXTS, TEXTS)
@example("", "", "")
@example("\n", "\n\n", "x")
@example("```", "```\n## Log", "## One")
def test_any_text_comes_back_byte_for_byte(one: str, two: str, log: str) -> None:
    texts = {"One": one, "Two": two, "Log": LAYOUT.escape(log)}
    found = LAYOUT.parse(LAYOUT.render(texts))
    assert found == texts
    assert LAYOUT.unescape(found["Log"]) == log


@given(TEXTS)
def test_a_heading_inside_a_text_is_not_a_section_for_other_readers_either(text: str) -> None:
    body = LAYOUT.render({"One": text, "Two": text, "Log": LAYOUT.escape(text)})
    headings = [
        line for line in body.splitlines() if re.match(r" {0,3}##\s+(One|Two|Log)\s*$", line)
    ]
    assert headings == ["## One", "## Two", "## Log"]
    assert not re.search(r"^### \d{4}-\d\d-\d\dT", body, re.MULTILINE)


def test_other_headings_are_left_alone() -> None:
    text = "# One\n### Two\n## Other\n## One more\n#hash"
    assert LAYOUT.escape(text) == text


def test_a_foreign_body_is_read_by_its_longest_run_of_headings() -> None:
    body = "intro\n## One\na\n## Log\nfake\n## Two\nb\n## Log\n### 2026-01-01T00:00:00Z x\n"
    assert LAYOUT.parse(body) == {
        "One": "a\n## Log\nfake",
        "Two": "b",
        "Log": "### 2026-01-01T00:00:00Z x",
    }


def test_a_heading_in_a_foreign_code_block_is_not_believed() -> None:
    body = "## One\n```\n## Two\n```\n\n## Two\nreal\n"
    assert LAYOUT.parse(body) == {"One": "```\n## Two\n```", "Two": "real"}


def test_crlf_headings_frame_their_texts_with_crlf() -> None:
    assert LAYOUT.parse("## One\r\na\r\n\r\n## Two\r\nb\r\n") == {"One": "a", "Two": "b"}


def test_a_body_without_headings_has_no_sections() -> None:
    assert LAYOUT.parse("just text\n") == {}


def test_a_line_of_half_a_million_blanks_is_looked_at_once() -> None:
    text = f"## One{' ' * 500_000}x\n## Two {'#' * 500_000}x\n"
    start = time.perf_counter()
    assert LAYOUT.parse(LAYOUT.render({"One": text}))["One"] == text
    # With backtracking it takes half an hour.
    assert time.perf_counter() - start < 10
