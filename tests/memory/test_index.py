"""MEMORY.md: our lines are ours, and every other byte is a person's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.memory import index
from cspace.memory.index import BEGIN, END, BrokenIndex, find_lines, set_line, set_lines
from tests.context.texts import examples

PREFIX = index.entry_prefix("testing")
LINE = index.dump_line(PREFIX, "Use a real database")
BEFORE = st.lists(
    st.sampled_from(
        [b"# Mine\n", b"text\r\n", b"\n", b"- [a](a.md): mine\n", b"\xff\xfe\n", b"  x", b"~~~\n"]
    ),
    max_size=5,
).map(b"".join)


def region(*lines: bytes, end: bytes = b"\n") -> bytes:
    return end.join((BEGIN, *lines, END)) + end


SLUGS = st.lists(st.from_regex(r"[a-z]{1,3}", fullmatch=True))


@given(bom=st.sampled_from([b"", b"\xef\xbb\xbf"]), before=BEFORE, slugs=SLUGS)
@examples(100, 5000)
def test_a_text_around_our_lines_is_never_touched(
    bom: bytes, before: bytes, slugs: list[str]
) -> None:
    start = bom + before
    document = set_lines(start, [])
    assert document.startswith(start)
    added = document.removeprefix(start)
    for slug in slugs:
        prefix = index.entry_prefix(slug)
        changed = set_line(document, prefix, index.dump_line(prefix, "x"))
        assert changed is not None
        document = changed
    assert document.startswith(start)
    assert find_lines(document) == tuple(
        sorted(index.dump_line(index.entry_prefix(slug), "x") for slug in set(slugs))
    )
    for slug in set(slugs):
        document = set_line(document, index.entry_prefix(slug), None) or b""
    assert document == start + added


def test_a_line_is_added_in_order_replaced_and_removed() -> None:
    document = b"top\n" + region(b"- [a](a.md): x", b"- [z](z.md)") + b"no end"
    added = set_line(document, PREFIX, LINE)
    assert added == b"top\n" + region(b"- [a](a.md): x", LINE, b"- [z](z.md)") + b"no end"
    other = set_line(added, PREFIX, index.dump_line(PREFIX, "Other"))
    assert other == added.replace(b"Use a real database", b"Other")
    assert set_line(other, PREFIX, None) == document


def test_lines_end_as_the_marker_before_them_does() -> None:
    document = set_line(region(end=b"\r\n"), PREFIX, LINE)
    assert document == region(LINE, end=b"\r\n")
    assert set_lines(b"# Mine\r\n", [LINE]) == b"# Mine\r\n\r\n" + region(LINE, end=b"\r\n")


def test_without_a_region_nothing_can_be_set_and_a_new_one_goes_to_the_end() -> None:
    assert set_line(b"# Mine", PREFIX, LINE) is None
    assert set_lines(b"# Mine", [LINE]) == b"# Mine\n\n" + region(LINE)
    assert set_lines(b"", [LINE]) == region(LINE)


@pytest.mark.parametrize(
    "document",
    [
        region() + region(),
        BEGIN + b"\n",
        END + b"\n",
        END + b"\n" + BEGIN + b"\n",
        BEGIN + b"\n" + region(),
        region() + END,
        b"```\n" + region() + b"```\n" + BEGIN + b"\n",
    ],
)
def test_markers_that_are_not_one_pair_are_refused_with_their_lines(document: bytes) -> None:
    with pytest.raises(BrokenIndex, match=r"not one pair, in line \d") as refused:
        set_line(document, PREFIX, LINE)
    assert refused.value.hint == (
        "leave one begin and one end, or none, then: cspace memory reindex --all"
    )
    with pytest.raises(BrokenIndex):
        set_lines(document, [LINE])


def test_a_marker_in_a_code_block_is_text() -> None:
    shown = b"```\n" + region(b"- [a](a.md)") + b"```\n"
    assert find_lines(shown) == ()
    document = set_lines(shown, [LINE])
    assert document == shown + b"\n" + region(LINE)
    assert find_lines(document) == (LINE,)
    assert set_line(document, PREFIX, None) == shown + b"\n" + region()


def test_a_fence_that_nobody_closed_hides_no_marker() -> None:
    assert find_lines(b"```\n" + region(LINE)) == (LINE,)


def test_a_marker_counts_only_alone_on_its_line() -> None:
    text = b"the marker " + BEGIN + b" begins our lines\n- " + END + b"\n"
    assert find_lines(text) == ()
    assert find_lines(b"\xef\xbb\xbf" + region(LINE)) == (LINE,)


@pytest.mark.parametrize(
    "description", ["a\n<!-- cspace:index:end -->", "\u202ex", "\x1b[2J", "[/foo]", "a\r\nb", ""]
)
def test_no_description_forges_a_line(description: str) -> None:
    line = index.dump_line(PREFIX, description)
    document = set_lines(b"", [line])
    assert len(find_lines(document)) == 1
    assert line.decode().isprintable()


def test_a_name_of_somebody_else_is_a_link_all_the_same() -> None:
    prefix = index.entry_prefix("My [notes] (1)")
    assert prefix == rb"- [My \[notes\] (1)](My%20%5Bnotes%5D%20%281%29.md)"
    assert set_line(region(b"- [a](a.md) mine"), index.entry_prefix("a"), None) == region(
        b"- [a](a.md) mine"
    )
