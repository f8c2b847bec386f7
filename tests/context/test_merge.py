"""Versions of one finding become one, with every update and every byte of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.context import entryfile
from cspace.context.entryfile import append_update
from cspace.context.finding_parts import parse_parts
from cspace.context.merge import reconcile, union_updates
from cspace.context.merge_driver import merge_documents
from cspace.context.records import Entry, Kind, Update
from tests.docstore.test_sections import TEXTS

START = datetime(2026, 4, 14, 10, 30, tzinfo=UTC)
BASE = (
    "---\ntitle: Sign-up fails\ndate: 2026-04-14\nkind: finding\nstatus: open\ncategory: bug\n"
    "tags: [a, b]\nrelated: []\nowner: {kept: yes}  # unknown\n---\n\n"
    "## Summary\nIt does.\n\n## Details\nFirst line\n\nLast line\n\n## Updates\n"
    "### 2026-04-14T10:30:00Z — @ann — status: open\nfiled\n"
).encode()


def after(document: bytes, note: str, *, hours: int = 1, status: str | None = None) -> bytes:
    update = Update(START + timedelta(hours=hours), "bob", status or "open", note)
    return append_update(document, update, status=status)


def read(document: bytes) -> Entry:
    return entryfile.parse_entry(Kind.FINDING, "x", "x", document)


def notes(document: bytes) -> list[str]:
    return [update.note for update in read(document).updates]


def merged(ours: bytes, theirs: bytes, base: bytes = BASE) -> bytes:
    document, clean = merge_documents(base, ours, theirs)
    assert clean, document.decode()
    return document


def test_updates_of_both_sides_stand_in_the_order_of_time() -> None:
    ours, theirs = after(BASE, "late", hours=3), after(BASE, "early", hours=2)
    both = merged(ours, theirs)
    assert both == after(after(BASE, "early", hours=2), "late", hours=3)
    assert merged(theirs, ours) == both


def test_merging_again_changes_nothing() -> None:
    ours, theirs = after(BASE, "one"), after(BASE, "two")
    both = merged(ours, theirs)
    assert merged(both, theirs, base=theirs) == merged(both, theirs) == both


def test_a_note_leaves_the_status_that_the_other_side_set() -> None:
    both = merged(after(BASE, "done", status="resolved"), after(BASE, "still seen", hours=5))
    assert read(both).info.status == "resolved"


def test_of_two_new_statuses_the_newest_update_s_counts() -> None:
    ours = after(BASE, "done", status="resolved", hours=2)
    theirs = after(BASE, "no", status="wontfix", hours=3)
    for both in (merged(ours, theirs), merged(theirs, ours)):
        assert read(both).info.status == "wontfix"
        assert notes(both) == ["filed", "done", "no"]


def test_statuses_that_no_update_explains_are_a_conflict() -> None:
    ours, theirs = (BASE.replace(b"open\ncat", one + b"\ncat") for one in (b"resolved", b"wontfix"))
    document, clean = merge_documents(BASE, ours, theirs)
    assert not clean
    assert b"<<<<<<< ours\nstatus: resolved\n=======\nstatus: wontfix\n>>>>>>> theirs\n" in document


def test_tags_that_both_changed_are_joined_as_sets() -> None:
    ours = BASE.replace(b"[a, b]", b"[a, b, ours]")
    theirs = BASE.replace(b"[a, b]", b'[b, "the, irs"]')
    assert read(merged(ours, theirs)).info.tags == ("b", "ours", "the, irs")


def test_a_comment_below_tags_that_both_changed_is_not_lost() -> None:
    ours = BASE.replace(b"[a, b]", b"[a, b, ours]\n# why")
    document, clean = merge_documents(BASE, ours, BASE.replace(b"[a, b]", b"[b]"))
    assert not clean
    assert b"# why\n" in document


def test_keys_and_texts_of_different_sides_are_all_taken() -> None:
    ours = BASE.replace(b"title: Sign-up fails", b"title: Log-in fails").replace(b"First", b"FIRST")
    theirs = BASE.replace(b"date: 2026-04-14", b"date: 2026-04-15\nnew: key").replace(
        b"Last", b"LAST"
    )
    both = merged(ours, theirs)
    for part in (b"title: Log-in", b"2026-04-15", b"new: key", b"FIRST", b"LAST", b"  # unknown\n"):
        assert part in both


def test_a_text_that_both_changed_is_a_conflict_with_every_update_kept_once() -> None:
    ours = after(BASE.replace(b"It does.", b"It did."), "one")
    theirs = after(BASE.replace(b"It does.", b"It will."), "two", hours=2)
    document, clean = merge_documents(BASE, ours, theirs)
    assert not clean
    assert b"<<<<<<< ours\nIt did.\n=======\nIt will.\n>>>>>>> theirs\n" in document
    assert [update.note for update in read(document).updates] == ["filed", "one", "two"]


def test_two_findings_of_one_name_are_a_conflict_that_loses_nothing() -> None:
    other = after(BASE.replace(b"Sign-up", b"Log-in").replace(b"It does.", b"Never."), "two")
    document, clean = merge_documents(b"", BASE, other)
    assert not clean
    for part in (b"Sign-up", b"Log-in", b"It does.", b"Never.", b"two"):
        assert part in document


def test_an_update_that_one_side_removed_or_mended_does_not_come_back() -> None:
    long = after(after(BASE, "tpyo"), "wrong", hours=2)
    ours = long.replace(b"tpyo", b"typo")
    theirs = after(after(BASE, "tpyo"), "new", hours=4)
    assert notes(merged(ours, theirs, base=long)) == ["filed", "typo", "new"]


@pytest.mark.parametrize(
    "foreign",
    [
        pytest.param(lambda text: b"\xef\xbb\xbf" + text, id="BOM"),
        pytest.param(lambda text: text.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(lambda text: text.removesuffix(b"\n"), id="no final newline"),
        pytest.param(lambda text: text.replace(b"It does.", b"\xff\xfe"), id="not UTF-8"),
        pytest.param(lambda text: text[: text.index(b"\n## Updates")], id="no updates"),
        pytest.param(lambda text: text[text.index(b"## Summary") :], id="no front matter"),
    ],
)
def test_a_foreign_file_is_merged_without_damage(foreign: Callable[[bytes], bytes]) -> None:
    base = foreign(BASE)
    ours, theirs = after(base, "one"), after(base, "two", hours=2)
    both = merged(ours, theirs, base=base)
    assert notes(both)[-2:] == ["one", "two"]
    assert both.startswith(base.removesuffix(b"\n")[: base.find(b"\n## Updates")])
    assert len(read(both).updates) == len(read(ours).updates) + 1


STATUSES = st.sampled_from(["open", "resolved"])
UPDATES = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["ann", "bob"]), STATUSES, TEXTS), max_size=4
)


def version(updates: list[tuple[int, str, str, str]], base: bytes = BASE) -> bytes:
    for seconds, author, status, note in sorted(updates, key=lambda one: one[0]):
        update = Update(START + timedelta(seconds=seconds), author, status, note)
        base = append_update(base, update, status=None)
    return base


def blocks(document: bytes) -> Counter[Update]:
    return Counter(read(document).updates)


VERSIONS = UPDATES.map(version)


@given(VERSIONS, VERSIONS)
def test_a_union_has_each_update_as_often_as_the_version_that_has_it_most(
    ours: bytes, theirs: bytes
) -> None:
    assert blocks(union_updates(ours, theirs)) == blocks(ours) | blocks(theirs)
    assert blocks(union_updates(theirs, ours)) == blocks(ours) | blocks(theirs)


@given(VERSIONS, VERSIONS)
def test_a_union_is_idempotent(ours: bytes, theirs: bytes) -> None:
    both = union_updates(ours, theirs)
    assert union_updates(both, theirs) == union_updates(both, ours) == both
    assert union_updates(ours, ours) == ours


@given(VERSIONS, VERSIONS, VERSIONS)
def test_a_union_is_associative_up_to_order(one: bytes, two: bytes, three: bytes) -> None:
    left = union_updates(union_updates(one, two), three)
    right = union_updates(one, union_updates(two, three))
    assert blocks(left) == blocks(right) == blocks(union_updates(one, three, two))
    assert read(left).info.status == read(right).info.status


@given(VERSIONS, VERSIONS)
def test_a_union_leaves_all_that_is_no_update_as_it_was(ours: bytes, theirs: bytes) -> None:
    parts, joined = parse_parts(ours), parse_parts(union_updates(ours, theirs))
    assert joined.body == parts.body
    times = [block.time for block in joined.blocks]
    assert times == sorted(times)


@given(UPDATES, UPDATES, UPDATES)
def test_a_merge_has_every_update_once(
    before: list[tuple[int, str, str, str]],
    ours: list[tuple[int, str, str, str]],
    theirs: list[tuple[int, str, str, str]],
) -> None:
    base = version(before)
    ready = reconcile(base, version(ours, base), version(theirs, base))
    new = blocks(version(ours, base)) | blocks(version(theirs, base))
    assert ready.base == ready.ours == ready.theirs
    assert blocks(ready.ours) == new


@given(TEXTS, TEXTS)
def test_two_notes_with_one_heading_are_both_kept(one: str, two: str) -> None:
    first, second = version([(1, "ann", "open", one)]), version([(1, "ann", "open", two)])
    assert Counter(notes(union_updates(first, second))) == Counter(["filed"]) + (
        Counter([one]) | Counter([two])
    )


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300))
def test_whatever_stands_in_three_files_the_parts_are_the_file(
    base: bytes, ours: bytes, theirs: bytes
) -> None:
    for one in (base, ours, theirs, BASE + ours):
        parts = parse_parts(one)
        assert parts.document(parts.blocks, parts.ending) == one
    assert reconcile(BASE + base, BASE + ours, BASE + theirs) is not None


def test_a_union_takes_the_status_of_a_newest_update_that_was_lacking() -> None:
    resolved = after(BASE, "done", status="resolved")
    assert union_updates(BASE, resolved) == resolved
    assert read(union_updates(after(BASE, "later", hours=9), resolved)).info.status == "open"
