"""What a reader does not see is named; what a reader sees is left alone."""

from __future__ import annotations

import pytest

from cspace.memory.hidden import find_hidden, reveal, strip_hidden

HIDDEN = {
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "right-to-left override": "\u202e",
    "first strong isolate": "\u2068",
    "arabic letter mark": "\u061c",
    "tag letter": "\U000e0041",
    "unassigned tag": "\U000e0002",
    "soft hyphen": "\u00ad",
    "invisible times": "\u2062",
    "interlinear annotation": "\ufff9",
    "hangul filler": "\u3164",
    "halfwidth hangul filler": "\uffa0",
    "hangul choseong filler": "\u115f",
    "blank braille": "\u2800",
    "combining grapheme joiner": "\u034f",
    "mongolian vowel separator": "\u180e",
    "khmer inherent vowel": "\u17b4",
    "variation selector without an emoji": "\ufe0f",
    "variation selector 17": "\U000e0100",
    "line separator": "\u2028",
    "escape": "\x1b",
    "bell": "\x07",
    "backspace": "\x08",
    "vertical tab": "\x0b",
    "C1 control sequence introducer": "\x9b",
    "next line": "\x85",
    "delete": "\x7f",
    "lone carriage return": "\r",
    "NUL": "\0",
    "a byte that is no UTF-8": "\udcff",
}
SEEN = (
    "plain text, tabs\tand\nlines",
    "Füße, naïve, Ελληνικά, русский, 日本語, العربية, हिन्दी",
    "a space that does not break:\u00a0here; a wide one:\u3000here",
    "emoji: ❤️ ℹ️ 1️⃣ 👍🏽 ↔️",
    "windows\r\nlines\r\n",
    "private use \ue0b0",
)


@pytest.mark.parametrize("mark", HIDDEN.values(), ids=HIDDEN)
def test_a_character_that_nobody_sees_is_found_and_written_out(mark: str) -> None:
    text = f"one\ntwo{mark}three"
    found = find_hidden(text)
    assert [(each.line, each.column) for each in found] == [(2, 4)]
    assert mark not in reveal(text)
    assert strip_hidden(text) == "one\ntwothree"


@pytest.mark.parametrize("text", SEEN)
def test_what_people_write_is_not_hidden(text: str) -> None:
    assert find_hidden(text) == ()


def test_a_selector_after_another_one_is_no_emoji() -> None:
    assert [each.name for each in find_hidden("❤\ufe0f\ufe0f")] == ["U+FE0F VARIATION SELECTOR-16"]


def test_every_revealed_character_is_printable() -> None:
    everything = "".join(map(chr, (*range(9), *range(11, 0xD800), *range(0xDC80, 0x110000))))
    shown = reveal(everything).replace("\t", "")
    # A selector that belongs to an emoji before it is the one mark that stays.
    assert all(mark.isprintable() for mark in shown)


def test_a_byte_is_shown_as_the_byte_that_it_is() -> None:
    assert reveal(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf<0xE9>"
