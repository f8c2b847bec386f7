"""A diff shows what changes, whatever it holds, and takes no time that an author chooses."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from cspace.memory.diff import NO_END, render_diff

LINES = st.lists(
    st.sampled_from(["a", "b", "", "-x", "--- c", "+++ d", "@@ -1 +1 @@"]), max_size=12
)


def rebuilt(lines: tuple[str, ...], signs: str) -> list[str]:
    body = [line for line in lines[2:] if line != NO_END and not re.match("@@ ", line)]
    return [line[1:] for line in body if line[0] in signs]


@given(LINES, LINES)
def test_both_sides_can_be_told_from_a_diff(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in side) for side in (old, new))
    diff = render_diff(before.encode(), after.encode(), "user/a.md")
    if old == new:
        assert diff.lines == ()
    else:
        shown_old, shown_new = rebuilt(diff.lines, "- "), rebuilt(diff.lines, "+ ")
        assert "\n".join(shown_old) in "\n".join(old)
        assert "\n".join(shown_new) in "\n".join(new)
        assert len(new) - len(old) == diff.added - diff.removed


def test_a_new_memory_is_shown_whole() -> None:
    diff = render_diff(None, b"one\ntwo\n", "user/a.md")
    assert diff.lines == ("--- /dev/null", "+++ user/a.md", "@@ -0,0 +1,2 @@", "+one", "+two")


def test_an_append_to_a_long_memory_is_shown_where_it_is() -> None:
    before = b"".join(b"line %d\n" % number for number in range(1000))
    diff = render_diff(before, before + b"more\n", "user/a.md")
    assert diff.lines[2:] == (
        "@@ -998,3 +998,4 @@", " line 997", " line 998", " line 999", "+more",
    )  # fmt: skip


def test_the_number_of_a_line_is_that_of_the_new_text() -> None:
    before = b"".join(b"%d\n" % number for number in range(40))
    after = before.replace(b"20\n", b"2\xe2\x80\x8b0\n").replace(b"35\n", b"")
    found = render_diff(before, after, "user/a.md").hidden
    assert [(each.line, each.column) for each in found] == [(21, 2)]


def test_what_is_hidden_already_does_not_count_again() -> None:
    before = "a\u200b\n".encode()
    diff = render_diff(before, before + b"b\n", "user/a.md")
    assert diff.hidden == ()
    assert " a<U+200B>" in diff.lines


def test_a_change_of_line_ends_alone_is_seen() -> None:
    diff = render_diff(b"a\n", b"a\r\n", "user/a.md")
    assert diff.lines[3:] == ("-a", "+a<U+000D>")
    assert diff.hidden == ()


def test_texts_that_are_slow_to_compare_are_shown_all_the_same() -> None:
    before = b"".join(b"%d\n" % (number % 500) for number in range(60_000))
    after = b"".join(b"%d\n" % (number * 7 % 501) for number in range(60_000))
    started = time.monotonic()
    diff = render_diff(before, after, "user/a.md")
    assert (diff.added, diff.removed) == (60_000, 60_000)
    assert time.monotonic() - started < 5
