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


HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def applied(old: list[str], lines: tuple[str, ...]) -> list[str]:
    """Return what a diff makes of a text; its heads and unchanged lines have to fit."""
    new: list[str] = []
    done = 0
    for line in lines[2:]:
        head = HUNK.match(line)
        if head is not None:
            start, count, fresh, added = (int(part or 1) for part in head.groups("1"))
            new += old[done : start - (count > 0)]
            done = start - (count > 0)
            assert len(new) == fresh - (added > 0)
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[done] == line[1:]
            new += [line[1:]] if line[0] == " " else []
            done += 1
    return new + old[done:]


@given(LINES, LINES)
def test_a_diff_makes_the_new_text_of_the_old_one(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in side) for side in (old, new))
    diff = render_diff(before.encode(), after.encode(), "user/a.md")
    assert applied(old, diff.lines) == new
    assert (diff.lines == ()) == (old == new)
    assert diff.added - diff.removed == len(new) - len(old)


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


def test_a_missing_line_end_is_said() -> None:
    assert render_diff(b"a", b"a\n", "user/a.md").lines[3:] == ("-a", NO_END, "+a")


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
