"""The union of notes: in any order, as often as one likes, nothing is lost or doubled."""

from __future__ import annotations

import itertools
import time
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as some

from cspace.notes.forgetting import drop_forgotten, without_forgotten
from cspace.notes.memory import settle
from cspace.notes.merge import merge_notes
from cspace.notes.note import append_record, parse_note
from cspace.notes.record import Record, dump_record, identity
from tests.notes.test_note import BODIES, DECISIONS, NOW, OLD, note_of, record


def stone_of(one: Record) -> Record:
    summary = f"Removes {one.id}"
    id_ = identity(DECISIONS, "tombstone", None, summary, "")
    return Record(DECISIONS, id_, "tombstone", NOW + timedelta(days=1), summary, "", of=one.id)


PLAIN = some.sampled_from([b"LGTM\n", b"one\n\ntwo\n", b"two\n", b"---\nid: x\n", b"\n", OLD])
_NAMES = some.sampled_from(["One", "Two", "Three"])
_SHORT = some.builds(record, _NAMES, some.just("body"))
RECORDS = some.one_of(some.builds(record, _NAMES, BODIES), _SHORT, _SHORT.map(stone_of))
CONTENTS = some.builds(
    lambda plain, records, late: append_record(
        append_record(plain, note_of(*records)) if records else plain, late
    ),
    some.one_of(some.just(b""), PLAIN), some.lists(RECORDS, max_size=3), some.one_of(PLAIN),
)  # fmt: skip


def ids(content: bytes) -> set[str]:
    return {one.id for one in parse_note(DECISIONS, content).records}


@settings(max_examples=40, deadline=None)
@given(some.lists(CONTENTS, min_size=1, max_size=3))
def test_a_merge_is_the_union_in_any_order_and_changes_nothing_more(contents: list[bytes]) -> None:
    merged = merge_notes(DECISIONS, *contents)
    there = [one for each in contents for one in parse_note(DECISIONS, each).records]
    assert ids(merged) == {one.id for one in without_forgotten(there)}
    for order in itertools.permutations(contents):
        assert merge_notes(DECISIONS, *order) == merged
    assert merge_notes(DECISIONS, merged, merged) == merged
    again = merge_notes(DECISIONS, merged, contents[0])
    assert merge_notes(DECISIONS, again, contents[0], merged) == again


@settings(max_examples=40, deadline=None)
@given(CONTENTS, CONTENTS)
def test_a_merge_keeps_every_word_that_is_no_record(one: bytes, two: bytes) -> None:
    merged = merge_notes(DECISIONS, one, two)
    for content in (one, two):
        for text in parse_note(DECISIONS, content).stray:
            assert all(line in merged for line in text.splitlines())


def test_a_note_that_holds_all_of_the_other_stays_as_it_is() -> None:
    one, two = record("One", "body"), record("Two", "body")
    whole = dump_record(two) + b"\nLGTM\n\n\nreally\n\n" + dump_record(one)
    assert merge_notes(DECISIONS, whole, dump_record(one)) == whole


def test_hazard_two_clones_records_on_one_commit_are_both_there_and_parse() -> None:
    left = note_of(record("Both", "same"), record("Left", "a\n---\n"))
    right = note_of(record("Both", "same"), record("Right", "b"))
    merged = parse_note(DECISIONS, merge_notes(DECISIONS, left, right))
    assert sorted(one.summary for one in merged.records) == ["Both", "Left", "Right"]


def test_a_record_that_an_editor_dates_back_does_not_replace_the_one_that_was_written() -> None:
    one = record("One", "the real reason")
    forged = dump_record(one).replace(b"the real", b"no good").replace(b"2025-", b"1999-")
    merged = parse_note(DECISIONS, merge_notes(DECISIONS, dump_record(one), forged))
    assert [each.body for each in merged.records] == ["the real reason", "no good reason"]


def test_a_tombstone_leaves_no_byte_of_its_record_in_any_merge() -> None:
    one, two = record("One", "the forgotten text"), record("Two", "b")
    killed = dump_record(stone_of(one))
    for contents in (
        (note_of(one, two), killed),
        (killed, note_of(two, one)),
        (note_of(one, two, stone_of(one)),),
    ):
        merged = merge_notes(DECISIONS, *contents)
        assert b"forgotten text" not in merged
        living = settle(DECISIONS, "a" * 40, parse_note(DECISIONS, merged))
        assert [memory.record.summary for memory in living] == ["Two"]
        assert merge_notes(DECISIONS, merged, note_of(one)) == merged


def test_what_resolved_a_forgotten_record_goes_with_it_and_other_words_stay() -> None:
    one = record("One", "the forgotten text")
    said = f"Resolves {one.id}"
    solved = Record(
        DECISIONS, identity(DECISIONS, "resolution", None, said, "in full"), "resolution", NOW,
        said, "in full", of=one.id,
    )  # fmt: skip
    content = (
        b"LGTM\n\n"
        + note_of(one, solved)
        + b"\nreally\n\n"
        + note_of(stone_of(one), record("Two", "b"))
    )
    note = parse_note(DECISIONS, drop_forgotten(DECISIONS, content))
    assert note.stray == (b"LGTM\n\nreally",)
    assert [each.type for each in note.records] == ["tombstone", "decision"]


def test_a_note_of_many_records_is_united_in_time_that_its_length_bounds() -> None:
    content = b"\n".join(dump_record(record(f"Chose {one}", "x" * 200)) for one in range(8000))
    late = dump_record(stone_of(record("Chose 0", "x" * 200)))
    begun = time.process_time()
    merged = merge_notes(DECISIONS, content, late)
    read = time.process_time()
    assert len(parse_note(DECISIONS, merged).records) == 8000
    # Nearly twenty times as long where each record is put below all others before it.
    assert read - begun < 8 * (time.process_time() - read)


def test_a_record_that_somebody_edited_is_another_one_and_outlives_the_first() -> None:
    one = record("One", "first thoughts")
    edited = dump_record(one).replace(b"first", b"second")
    merged = merge_notes(DECISIONS, edited, note_of(one, stone_of(one)))
    living = settle(DECISIONS, "a" * 40, parse_note(DECISIONS, merged))
    assert [memory.record.body for memory in living] == ["second thoughts"]
    assert b"first thoughts" not in merged
