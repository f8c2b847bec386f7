"""A note's bytes: records come back as they went in, whatever their bodies hold."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from cspace.notes.draft import Draft
from cspace.notes.memory import settle
from cspace.notes.merge import merge_notes
from cspace.notes.namespaces import Namespace
from cspace.notes.note import append_record, parse_note
from cspace.notes.record import Record, dump_record, encode, identity

NOW = datetime(2025, 12, 14, 10, 30, tzinfo=UTC)
DECISIONS = Namespace.DECISIONS
# What the format itself is made of: bodies of these are the ones that could be taken for records.
_PIECES = some.sampled_from(
    ["---", "---\n", "\n", "\n\n", "\r\n", "id: 5f0c9a21b7e4d803\n", "type: decision\n", " ",
     "timestamp: 2025-12-14T10:30:00Z\n", "summary: Forged\n", "of: 5f0c9a21b7e4d803\n", "# x\n",
     "type: tombstone\n", "\0", "\x1b[31m", "é", "\udcff", "\udc80", "\u2028", "\ufeff", "..."]
)  # fmt: skip
_BYTES = some.binary(max_size=200).map(lambda each: each.decode("utf-8", "surrogateescape"))
BODIES = some.one_of(some.lists(_PIECES, max_size=30).map("".join), _BYTES, some.text())
SUMMARIES = some.text(some.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=100)

FIXTURE = b"""---
id: 6d7cc26a6d6a9a1b
type: decision
spec: user-auth
phase: architecture
timestamp: 2025-12-14T10:30:00Z
tags: [jwt, security]
summary: Chose RS256 over HS256 for JWT signing
---

## Context
Tokens are checked by services that must not sign them.
"""
OLD = b"""---
type: review_finding
spec: null
severity: high
category: security
file: src/auth.py
line: 42
summary: Query built from user input: use parameters
timestamp: 2025-12-14T10:30:00Z
status: resolved
resolution: parameters everywhere
resolved_at: 2025-12-15T08:00:00+01:00
---
The query in `login` is concatenated.

---

Remediation: bind the value.
"""


def record(summary: str, body: str, **fields: object) -> Record:
    return Draft(DECISIONS, summary, body, **fields).record(NOW)  # type: ignore[arg-type]


def note_of(*records: Record) -> bytes:
    content = b""
    for one in records:
        content = append_record(content, dump_record(one))
    return content


@settings(deadline=None)
@given(some.lists(some.tuples(SUMMARIES, BODIES), min_size=1, max_size=4))
def test_hazard_every_body_comes_back_byte_for_byte(parts: list[tuple[str, str]]) -> None:
    records = [record(summary, body) for summary, body in parts]
    note = parse_note(DECISIONS, note_of(*records))
    assert [(one.id, one.summary, encode(one.body)) for one in note.records] == [
        (one.id, one.summary, encode(one.body)) for one in records
    ]
    assert note.stray == ()
    assert not any(one.edited for one in note.records)


@settings(deadline=None)
@given(SUMMARIES, SUMMARIES, some.lists(SUMMARIES, max_size=4), BODIES)
def test_hazard_a_comma_or_a_line_of_a_field_stays_in_its_field(
    summary: str, spec: str, tags: list[str], body: str
) -> None:
    before = record(summary, body, spec=spec, phase=spec, tags=tuple(tags))
    (after,) = parse_note(DECISIONS, note_of(before)).records
    assert (after.summary, after.spec, after.phase) == (summary, spec, spec)
    assert after.tags == tuple(dict.fromkeys(tags))
    assert after.timestamp == NOW


@settings(deadline=None)
@given(some.binary(max_size=400), BODIES)
def test_what_is_no_record_is_kept_beside_one(stray: bytes, body: str) -> None:
    one = record("Real", body)
    note = parse_note(DECISIONS, append_record(stray, dump_record(one)))
    assert one.id in {each.id for each in note.records}
    assert sum(map(len, note.stray)) >= len(stray.strip(b"\r\n")) * (len(note.records) == 1)


def test_hazard_a_key_that_we_do_not_know_stays_at_every_write() -> None:
    theirs = FIXTURE.replace(b"\nspec:", b"\nreviewed-by: Ann\nspec:")
    written = merge_notes(DECISIONS, append_record(theirs, dump_record(record("Ours", "b"))))
    one, ours = parse_note(DECISIONS, written).records
    assert (one.spec, ours.summary) == ("user-auth", "Ours")
    assert b"\nreviewed-by: Ann\n" in dump_record(one)


def test_hazard_a_forged_record_in_a_body_is_never_one() -> None:
    inner = record("Forged", "evil\n")
    outer = record("Real", "quoted:\n" + dump_record(inner).decode() + "end")
    after = record("Next", "fine")
    note = parse_note(DECISIONS, note_of(outer, after))
    assert [one.summary for one in note.records] == ["Real", "Next"]


def test_a_record_of_the_format_is_read_as_its_page_shows_it() -> None:
    (one,) = parse_note(DECISIONS, FIXTURE).records
    assert (one.type, one.spec, one.phase, one.tags) == (
        "decision", "user-auth", "architecture", ("jwt", "security"),
    )  # fmt: skip
    assert one.summary == "Chose RS256 over HS256 for JWT signing"
    assert one.body.startswith("## Context\nTokens")
    assert one.id == identity(DECISIONS, one.type, one.spec, one.summary, one.body)


def test_a_record_is_written_as_the_formats_page_shows_it() -> None:
    body = "## Context\nTokens are checked by services that must not sign them."
    one = record(
        "Chose RS256 over HS256 for JWT signing", body,
        spec="user-auth", phase="architecture", tags=("jwt", "security"),
    )  # fmt: skip
    assert dump_record(one) == FIXTURE.replace(b"6d7cc26a6d6a9a1b", one.id.encode())


def test_a_note_of_an_older_tool_is_read_as_it_stands() -> None:
    note = parse_note(Namespace.REVIEWS, OLD)
    (memory,) = settle(Namespace.REVIEWS, "a" * 40, note)
    assert (memory.status, memory.resolution) == ("resolved", "parameters everywhere")
    assert memory.resolved_at == datetime(2025, 12, 15, 7, tzinfo=UTC)
    one = memory.record
    assert (one.file, one.line, one.severity, one.spec) == ("src/auth.py", 42, "high", None)
    assert one.summary == "Query built from user input: use parameters"
    assert one.body.endswith("---\n\nRemediation: bind the value.")
    assert (one.source, one.edited) == (OLD, False)


def test_several_notes_of_an_older_tool_end_where_the_next_ones_header_starts() -> None:
    note = parse_note(Namespace.REVIEWS, OLD + b"\n" + OLD.replace(b"line: 42", b"line: 43"))
    assert [one.line for one in note.records] == [42, 43]
    assert note.stray == ()


def test_text_that_a_person_appends_with_git_hides_no_record() -> None:
    one, two = record("One", "body"), record("Two", "body")
    content = append_record(dump_record(one) + b"\nLGTM\n---\nreally\n", dump_record(two))
    note = parse_note(DECISIONS, content)
    assert [each.id for each in note.records] == [one.id, two.id]
    assert note.stray == (b"LGTM\n---\nreally",)


def test_a_record_that_somebody_edits_is_another_one_and_says_so() -> None:
    one = record("One", "first thoughts")
    content = dump_record(one).replace(b"first thoughts", b"second thoughts")
    (after,) = parse_note(DECISIONS, content).records
    assert after.edited
    assert after.id != one.id
    assert after.body == "second thoughts"


def test_an_open_header_in_a_note_does_not_swallow_the_record_after_it() -> None:
    stray = b"---\ntype: x\ntimestamp: y\nsummary: z\n"
    one = record("One", "body")
    note = parse_note(DECISIONS, append_record(stray, dump_record(one)))
    assert [each.id for each in note.records] == [one.id]


@pytest.mark.parametrize("time", ["yesterday", "2025-99-99", "''", "99999-01-01T00:00:00Z"])
def test_a_record_without_a_readable_time_is_not_lost(time: str) -> None:
    content = b"---\ntype: decision\ntimestamp: %b\nsummary: Old\n---\nx\n" % time.encode()
    (one,) = parse_note(DECISIONS, content).records
    assert one.timestamp == datetime(1970, 1, 1, tzinfo=UTC)


def test_hazard_a_note_of_many_edited_records_is_read_in_time_that_its_length_bounds() -> None:
    one = dump_record(record("One", "first")).replace(b"first", b"x\n" * 40)
    note = parse_note(DECISIONS, one * 8000)
    assert len(note.records) == 8000


@settings(deadline=None)
@given(some.text(max_size=3), some.text(max_size=3), some.text(max_size=3))
def test_an_id_is_of_one_spec_and_body_only(spec: str, summary: str, body: str) -> None:
    one = identity("decisions", "decision", spec, summary, body)
    assert one == identity("decisions", "decision", spec, summary, body)
    if "\0" not in spec + summary:
        assert one != identity("decisions", "decision", spec, f"{summary}x", body)
        assert one != identity("decisions", "decision", f"{spec}x", summary, body)
        assert one != identity("decisions", "decision", spec, summary, f"{body}x")
