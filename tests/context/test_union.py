"""Updates of two versions of a finding are united: nothing is lost, nothing comes twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cspace.context import entryfile
from cspace.context.finding_parts import parse_parts
from cspace.context.merge import union_updates
from cspace.context.records import Kind

HEAD = (
    "---\ntitle: x\nstatus: open\n---\n\n## Summary\ns\n\n## Details\n\n## Updates\n"
    "### 2026-04-14T10:00:00Z — @ann — status: open\nfiled\n"
)
NOTES = st.lists(
    st.tuples(
        st.integers(0, 59),
        st.sampled_from(("ann", "bob")),
        st.sampled_from(("open", "resolved")),
        st.text("ab\n#é", min_size=1, max_size=6),
    ),
    max_size=5,
)


def document(notes: list[tuple[int, str, str, str]]) -> bytes:
    text = HEAD
    for second, author, status, note in sorted(notes, key=lambda one: one[0]):
        heading = f"### 2026-04-14T10:00:{second:02}Z — @{author} — status: {status}"
        text += f"\n{heading}\n{note}\n"
    return text.encode()


def united_with(base: bytes, *versions: bytes) -> bytes:
    return union_updates(base, *versions, by_heading=True)


def notes_of(content: bytes) -> list[tuple[str, str, str]]:
    entry = entryfile.parse_entry(Kind.FINDING, "x", "x.md", content)
    return sorted((str(one.time), one.author, one.note) for one in entry.updates)


@given(NOTES, NOTES)
def test_every_update_of_both_is_there_once(
    one: list[tuple[int, str, str, str]], other: list[tuple[int, str, str, str]]
) -> None:
    base = document(one)
    united = united_with(base, base, document([*one, *other]))
    assert notes_of(united) == notes_of(document([*one, *other]))
    assert united_with(united, base, document([*one, *other])) == united


@given(NOTES)
def test_a_file_that_lacks_nothing_stays_as_it_is(one: list[tuple[int, str, str, str]]) -> None:
    base = document(one)
    assert united_with(base, base, document(one[:1]), document([])) == base


def test_a_version_that_lost_its_end_becomes_the_whole_again_byte_for_byte() -> None:
    whole = document([(1, "ann", "open", "one\n\n"), (2, "bob", "open", "two")])
    part = document([(1, "ann", "open", "one\n\n")])
    assert united_with(part, whole) == whole


def test_an_update_comes_where_its_time_puts_it_and_changes_no_later_status() -> None:
    base = document([(9, "ann", "open", "late")]).replace(b"status: open", b"status: wontfix", 1)
    united = united_with(base, document([(5, "bob", "resolved", "early")]))
    assert united.index(b"early") < united.index(b"late")
    assert b"\nstatus: wontfix\n" in united


def test_the_newest_update_brings_its_status() -> None:
    united = united_with(document([]), document([(5, "bob", "resolved", "done")]))
    assert b"\nstatus: resolved\n" in united


def test_a_note_that_was_edited_since_does_not_come_twice() -> None:
    base = document([(5, "bob", "open", "typo mended")])
    assert united_with(base, document([(5, "bob", "open", "typo mnded")])) == base


def test_bytes_that_are_not_utf_8_survive() -> None:
    base = HEAD.encode().replace(b"\ns\n", b"\ns \xff\r\n")
    united = united_with(base, document([(5, "bob", "open", "one")]))
    assert united.startswith(base)
    assert parse_parts(united).blocks[-1].author == "bob"
