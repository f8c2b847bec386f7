"""Words that mean another day tomorrow."""

from __future__ import annotations

import pytest

from cspace.claude_memory.relative_dates import iter_relative_dates


@pytest.mark.parametrize(
    "text",
    [
        "We froze it yesterday.",
        "The freeze is next week",
        "Since last Monday it fails",
        "Ships in two days",
        "Ships in 3 weeks.",
        "a few days ago",
        "the day after tomorrow",
        "Done today.",
        "This sprint we test",
        "Seit gestern kaputt",
        "nächste Woche, letzten Freitag",
        "in zwei Tagen",
    ],
)
def test_a_relative_date_is_named(text: str) -> None:
    ((line, words),) = iter_relative_dates(f"First.\n{text}\n")
    assert line == 2
    assert words.lower() in text.lower()


@pytest.mark.parametrize(
    "text",
    [
        "today's build",
        "`git log --since=yesterday`",
        "```\nyesterday\n```",
        "Frozen yesterday (2026-04-13)",
        'Never write "yesterday".',
        "yesterday-job runs at night",
        "The next page and the last line",
        "in two files",
        "Heutige Werte",
        "within a week of work",
    ],
)
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert list(iter_relative_dates(text)) == []
