"""Whatever is written comes back, changes nothing else, and is taken for nothing but itself."""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import event, example, given
from hypothesis import strategies as st

from cspace.context import authored, entryfile
from cspace.context.records import (
    LAYOUTS,
    Category,
    Decision,
    Discovery,
    Entry,
    Finding,
    Kind,
    Status,
    Update,
)
from cspace.context.store import ContextStore
from cspace.errors import CspaceError, UsageError
from tests.context.texts import AUTHORS, FOREIGN, SAID, SHORT, TEXTS, examples

NOW = datetime.datetime(2026, 4, 14, 10, 30, tzinfo=datetime.UTC)
ITEMS = st.lists(SHORT, max_size=3).map(tuple)
NOTES = st.lists(st.tuples(SAID, st.none() | st.sampled_from(Status), AUTHORS), max_size=4)
FINDINGS = st.builds(
    Finding,
    title=SHORT,
    category=st.sampled_from(Category),
    summary=SAID,
    details=TEXTS,
    status=st.sampled_from(Status),
    tags=ITEMS,
    related=ITEMS,
    author=AUTHORS,
)
HEADER = ["title", "date", "kind", "status", "category", "tags", "related", "created", "author"]


@contextmanager
def new_store() -> Iterator[ContextStore]:
    with tempfile.TemporaryDirectory() as root:
        yield ContextStore(Path(root), clock=lambda: NOW)


def check_header(entry: Entry, expected: Mapping[str, object]) -> None:
    """Read the header with a reader that shares no code with ours, and split by the first `---`."""
    start, header, _ = entry.text.split("---\n", 2)
    assert start == ""
    found = yaml.load(header, Loader=yaml.SafeLoader)
    assert list(found) == list(expected)
    assert {key: found[key] for key, value in expected.items() if value is not None} == {
        key: value for key, value in expected.items() if value is not None
    }


def check_lines(entry: Entry) -> None:
    """Read the body as one who looks for headings in lines, whatever ends them."""
    lines = re.split(r"\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]", entry.body)
    names = LAYOUTS[entry.info.kind].names
    pattern = rf" {{0,3}}##[ \t]+({'|'.join(names)})[ \t#]*"
    headings = [found[1] for line in lines if (found := re.fullmatch(pattern, line, re.I))]
    assert headings == list(names)
    if entry.info.kind is Kind.FINDING:
        updates = [line for line in lines if re.match(r" {0,3}### .* — status:", line)]
        assert len(updates) == len(entry.updates)


@given(given_texts=st.lists(SAID, min_size=4, max_size=4), title=SHORT)
@examples(25, 3000)
def test_every_text_of_a_decision_and_a_discovery_comes_back(
    given_texts: list[str], title: str
) -> None:
    with new_store() as store:
        decision, discovery = Decision(title, *given_texts), Discovery(title, *given_texts[:2])
        for kind, slug, new in (
            (Kind.DECISION, store.log_decision(decision).slug, decision),
            (Kind.DISCOVERY, store.log_discovery(discovery).slug, discovery),
        ):
            entry = store.read_entry(kind, slug)
            assert (entry.info.title, *entry.sections.values()) == astuple(new)
            expected = dict.fromkeys(["title", "date", "kind", "created", "author"])
            check_header(entry, {**expected, "title": title, "kind": kind.value})
            check_lines(entry)


@given(new=FINDINGS, notes=NOTES)
@examples(25, 3000)
def test_every_text_of_a_finding_comes_back_after_any_number_of_appends(
    new: Finding, notes: list[tuple[str, Status | None, str]]
) -> None:
    with new_store() as store:
        slug = store.log_finding(new).slug
        for note, status, author in notes:
            store.append_to_finding(slug, note, status=status, author=author)
        entry = store.read_entry(Kind.FINDING, slug)
    info = entry.info
    assert (info.title, info.tags, info.related) == (new.title, new.tags, new.related)
    assert (info.author, info.category) == (new.author, new.category)
    assert (entry.sections["Summary"], entry.sections["Details"]) == (new.summary, new.details)
    assert [one.note for one in entry.updates] == ["filed", *(note for note, _, _ in notes)]
    assert [one.author for one in entry.updates] == [new.author, *(who for _, _, who in notes)]
    expected: dict[str, Any] = dict.fromkeys(HEADER)
    expected |= {"title": new.title, "tags": list(new.tags), "related": list(new.related)}
    statuses = [new.status, *(status for _, status, _ in notes if status)]
    check_header(entry, {**expected, "status": statuses[-1].value})
    check_lines(entry)


def changed_lines(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    """Return what is left of both without the lines that they begin and end with together."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return b"".join(old), b"".join(new)


def append(document: bytes, note: str, status: Status | None) -> bytes:
    """Return the document after an append, without the block that this adds."""
    update = Update(NOW, "bob", status or "open", note)
    after = entryfile.append_update(document, update, status=status)
    block = f"\n{entryfile.dump_update(update)}\n".encode()
    assert after.endswith(block)
    rest = after.removesuffix(block).removesuffix(b"\n## Updates")
    return rest if document.endswith(b"\n") else rest.removesuffix(b"\n")


def begins_a_header(document: bytes) -> bool:
    return re.match(rb"(\xef\xbb\xbf)?---[ \t]*\r?(\n|\Z)", document) is not None


def parse(document: bytes) -> Entry:
    return entryfile.parse_entry(Kind.FINDING, "x", "x", document)


@given(document=FOREIGN, note=SAID, status=st.none() | st.sampled_from(Status))
@examples(150, 20000)
def test_an_append_to_any_file_changes_the_status_and_adds_a_block(
    document: bytes, note: str, status: Status | None
) -> None:
    before = parse(document)
    try:
        rest = append(document, note, status)
    except CspaceError:
        # Where the header can not be changed safely, or nobody closed it.
        assert status is not None or begins_a_header(document)
        return
    if status is None:
        assert rest == document
    elif before.info.status != status:
        old, new = changed_lines(document, rest)
        assert re.fullmatch(rb"status: [a-z]+\s*", new)
        assert re.match(rb"[\"']?status[\"']?[ \t]*:", old) or not old


@given(document=FOREIGN, notes=st.lists(SAID, min_size=1, max_size=3))
@example(b"---\n", ["status: resolved\n---\n"])
@examples(150, 20000)
def test_what_is_appended_to_any_file_is_read_back(document: bytes, notes: list[str]) -> None:
    before = parse(document)
    try:
        for note in notes:
            update = Update(NOW, "bob", "open", note)
            document = entryfile.append_update(document, update, status=None)
    except CspaceError as refused:
        # Only a header that nobody closed refuses a note, and only one that would close it.
        event(str(refused))
        assert begins_a_header(document)
        assert before.body == before.text.removeprefix("\ufeff")
        return
    after = parse(document)
    assert [one.note for one in after.updates][-len(notes) :] == notes
    assert after.info.title == before.info.title
    assert after.info.tags == before.info.tags


@given(st.text())
@examples(100, 5000)
def test_any_user_signs_with_an_author_that_is_allowed(name: str) -> None:
    assert authored.check_author(authored.signature_of(name))


FINDING = Finding("t", Category.BUG, "s")
TEXT_FIELDS = [field.name for field in fields(Finding) if field.name not in {"category", "status"}]


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800"])
@pytest.mark.parametrize("field", TEXT_FIELDS)
def test_nul_and_half_characters_are_refused_in_every_field_of_a_finding(
    store: ContextStore, root: Path, field: str, bad: str
) -> None:
    value: Any = (bad,) if field in {"tags", "related"} else bad
    with pytest.raises(UsageError, match=field):
        store.log_finding(replace(FINDING, **{field: value}))
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800"])
def test_nul_and_half_characters_are_refused_in_a_discovery_and_a_note(
    store: ContextStore, bad: str
) -> None:
    slug = store.log_finding(FINDING).slug
    before = store.read_entry(Kind.FINDING, slug).text
    for call in (
        lambda: store.log_discovery(Discovery("t", bad, "i")),
        lambda: store.log_discovery(Discovery("t", "f", bad)),
        lambda: store.append_to_finding(slug, bad),
    ):
        with pytest.raises(UsageError, match=r"NUL|surrogate"):
            call()
    assert store.read_entry(Kind.FINDING, slug).text == before
