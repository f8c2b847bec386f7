"""Words of a query, and the lines of a text that hold them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from cspace.docstore.words import find_lines, fold, terms_of

MARKS = st.text("ab_1 -.世界กข€\n", max_size=25)


def is_letter(mark: str) -> bool:
    return bool(re.match(r"\w", mark))


def is_unspaced(mark: str) -> bool:
    return mark in "世界กข"


def ends_word(text: str, after: int) -> bool:
    inside = 0 <= after < len(text)
    return not inside or not is_letter(text[after]) or is_unspaced(text[after])


@given(st.text("ab_1世กข", min_size=1, max_size=3), MARKS)
def test_a_word_is_found_where_no_letter_goes_on_with_it(word: str, text: str) -> None:
    terms = terms_of(f'"{word}"')
    if len(terms) != 1 or terms[0].needle != fold(word):
        return
    at, count = 0, 0
    while (at := text.find(word, at)) >= 0:
        whole = ends_word(text, at - 1) and ends_word(text, at + len(word))
        count, at = (count + 1, at + len(word)) if whole else (count, at + 1)
    assert terms[0].count(text) == terms[0].count(f"{text} é") == count


def test_lines_are_numbered_as_an_editor_does() -> None:
    text = "heron\x0bheron\r\n\u2028\nno\nheron"
    assert find_lines(text, terms_of("heron"), 80) == (
        (1, "heron"),
        (1, "heron"),
        (4, "heron"),
    )


def test_a_long_line_is_cut_around_the_word() -> None:
    text = "é " * 200 + "heron" + " é" * 200
    ((_, cut),) = find_lines(text, terms_of("heron"), 40)
    assert "heron" in cut
    assert len(cut) <= 42
