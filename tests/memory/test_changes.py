"""What a change makes of bytes: all that is there stays, and a body is what its author wrote."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import event, example, given
from hypothesis import strategies as st

from cspace.docstore.frontmatter import parse_front_matter
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.memory.changes import (
    MAX_BYTES,
    Change,
    Operation,
    apply_change,
    rename_in,
    revision_of,
)
from cspace.memory.entries import Type, body_of, default_description, parse_entry
from cspace.memory.scopes import Kind, Scope
from tests.context.texts import CHARACTERS, FOREIGN, SAID, examples

NOW = datetime(2026, 4, 14, 10, 30, tzinfo=UTC)
USER = Scope(Kind.USER)
HEADERS = st.lists(
    st.sampled_from(
        [
            *(b"name: x\n", b"description: It's: broken\n", b'description: "a \\"b\\""\n'),
            *(b"metadata:\n  type: user\n  updated_at: 2026-01-02\n", b"owner: me\r\n"),
            *(b"metadata:\r\n    type: user\r\n    other: [a, b]\r\n", b"metadata:\n"),
            *(b"metadata: {type: user, updated_at: x, other: 1}\n", b"metadata: {}\n"),
            *(b'"metadata":\n  "updated_at": "x" # c\n  sub:\n    updated_at: y\n', b"# c\n"),
            *(b"metadata: text\n", b"metadata:\n  updated_at:\n    - a\n", b"updated_at: top\n"),
            *(b"metadata: # c\n  # updated_at: no\n  type: user\n", b"tags:\n  - a\n", b"a: {\n"),
        ]
    ),
    max_size=5,
).map(b"".join)
OURS = st.tuples(
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.sampled_from([b"---\n", b"---\r\n"]),
    HEADERS,
    st.sampled_from([b"---\n", b"---\r\n", b"...\n", b"---"]),
    st.binary(max_size=20) | SAID.map(str.encode),
).map(b"".join)


def change(operation: Operation, body: str = "", **facts: str) -> Change:
    return Change(USER, "testing", operation, body, **facts)


def apply(before: bytes | None, wanted: Change) -> bytes:
    after = apply_change(before, wanted, NOW)
    assert after is not None
    return after


@given(body=SAID)
@example("---\nname: forged\n---\n")
@example("a\r\nb")
@example("\ufeff---\nx: y\n---\n# t")
@example("## Context---\n")
@examples(60, 3000)
def test_a_new_body_comes_back_byte_for_byte(body: str) -> None:
    content = apply(None, change(Operation.CREATE, body))
    written = body.encode()
    assert body_of(content) in (written, written + b"\n", written + b"\r\n")
    assert body_of(content).endswith(b"\n")
    header = yaml.safe_load(content.split(b"\n---\n", 1)[0].removeprefix(b"---\n"))
    assert list(header) == ["name", "description", "metadata"]
    assert header["name"] == "testing"
    assert header["metadata"] == {"type": "user", "updated_at": NOW}


@given(before=OURS | FOREIGN, body=SAID)
@example(b"---\nname: x\n", "a\n---\nb")
@example(b'---\na: "open\n---\n', "x")
@examples(200, 20000)
def test_an_append_keeps_all_but_the_time(before: bytes, body: str) -> None:
    try:
        after = apply(before, change(Operation.APPEND, body))
    except CspaceError as refused:
        event(str(refused))
        return
    old, new = parse_front_matter(before), parse_front_matter(after)
    kept = before[old.body :]
    assert after[new.body :].startswith(kept)
    assert after[new.body + len(kept) :].strip(b"\r\n") == body.encode().strip(b"\r\n")
    if not old.values:
        assert after.startswith(before)
        return
    values = dict(new.values)
    metadata = values.pop("metadata")
    assert isinstance(metadata, dict)
    others = old.values.get("metadata") or {}
    assert isinstance(others, dict)
    assert metadata == {**others, "updated_at": "2026-04-14T10:30:00Z"}
    assert values == {key: value for key, value in old.values.items() if key != "metadata"}


@given(before=OURS | FOREIGN, body=SAID)
@examples(60, 3000)
def test_an_append_changes_no_byte_of_the_header_but_one_line(before: bytes, body: str) -> None:
    try:
        after = apply(before, change(Operation.APPEND, body))
    except CspaceError:
        return
    start = parse_front_matter(before)
    old = before[: start.body].splitlines(keepends=True)
    new = after[: parse_front_matter(after).body].splitlines(keepends=True)
    gone = [line for line in old if line not in new]
    fresh = [line for line in new if line not in old]
    assert len(gone) <= 1 or b"updated_at" in b"".join(gone)
    assert all(b"updated_at" in line or line.startswith(b"metadata:") for line in fresh)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (b"  type: user\n", b"  type: user\n  updated_at: NOW\n"),
        (b"  updated_at: x\n  type: user\n", b"  updated_at: NOW\n  type: user\n"),
        (
            b"    type: user\r\n    a: b\r\n",
            b"    type: user\r\n    a: b\r\n    updated_at: NOW\r\n",
        ),
        (b"  type: user # why\n", b"  type: user # why\n  updated_at: NOW\n"),
        (b"  sub:\n    updated_at: y\n", b"  sub:\n    updated_at: y\n  updated_at: NOW\n"),
    ],
)
def test_the_time_is_put_where_it_belongs(metadata: bytes, expected: bytes) -> None:
    before = b"---\nname: x\nmetadata:\n" + metadata + b"other: 1\n---\nbody\n"
    after = apply(before, change(Operation.APPEND, "more"))
    stamped = expected.replace(b"NOW", b"2026-04-14T10:30:00Z")
    assert after == b"---\nname: x\nmetadata:\n" + stamped + b"other: 1\n---\nbody\n\nmore\n"


def test_an_append_to_a_file_without_a_header_adds_the_text_alone() -> None:
    assert apply(b"# Mine", change(Operation.APPEND, "more")) == b"# Mine\n\nmore\n"
    assert apply(b"a\r\n", change(Operation.APPEND, "more\n")) == b"a\r\n\r\nmore\n"
    assert apply(b"a\n\n", change(Operation.APPEND, "more\n")) == b"a\n\nmore\n"


def test_an_append_takes_no_type_and_no_description() -> None:
    before = apply(None, change(Operation.CREATE, "# One\n"))
    for field in ("type", "description"):
        with pytest.raises(UsageError, match=f"{field} 'user' can not be given"):
            apply(before, change(Operation.APPEND, "more", **{field: "user"}))


def test_an_overwrite_keeps_unknown_keys_and_a_description_that_a_person_wrote() -> None:
    before = (
        b"---\nname: x\ndescription: Mine\nmetadata:\n  type: odd\n  k: [1]\nz: 1\n---\n# Old\n"
    )
    after = apply(before, change(Operation.OVERWRITE, "# New\n"))
    assert after == (
        b"---\nname: x\ndescription: Mine\nmetadata:\n  type: odd\n  k: [1]\n"
        b"  updated_at: 2026-04-14T10:30:00Z\nz: 1\n---\n# New\n"
    )


def test_an_overwrite_makes_a_description_anew_that_was_made_of_the_text() -> None:
    before = apply(None, change(Operation.CREATE, "# Old\n"))
    after = apply(before, change(Operation.OVERWRITE, "# New\n", type="reference"))
    entry = parse_entry(USER, "testing", after, 0)
    assert (entry.description, entry.type) == ("New", "reference")
    again = apply(after, change(Operation.OVERWRITE, "# New\n", description="said"))
    assert parse_entry(USER, "testing", again, 0).description == "said"


@given(before=OURS | FOREIGN, body=SAID, kind=st.none() | st.sampled_from(Type))
@examples(60, 3000)
def test_an_overwrite_of_any_file_has_the_body_as_it_was_given(
    before: bytes, body: str, kind: Type | None
) -> None:
    try:
        after = apply(before, change(Operation.OVERWRITE, body, **({"type": kind} if kind else {})))
    except CspaceError as refused:
        event(str(refused))
        return
    assert body_of(after).rstrip(b"\r\n") == body.encode().rstrip(b"\r\n")
    if kind:
        assert parse_entry(USER, "testing", after, 0).type == kind


def test_each_operation_refuses_what_it_can_not_do() -> None:
    there = apply(None, change(Operation.CREATE, "# One\n"))
    with pytest.raises(Conflict, match="user/testing exists already"):
        apply_change(there, change(Operation.CREATE, "x"), NOW)
    for operation in (Operation.APPEND, Operation.REMOVE):
        with pytest.raises(NotFound, match="user/testing does not exist"):
            apply_change(None, change(operation, "x"), NOW)
    assert apply_change(there, change(Operation.REMOVE), NOW) is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "body is empty"),
        (" \n\t", "body is empty"),
        ("a\0b", "NUL"),
        ("a\ud800", "U+D800"),
        ("x" * MAX_BYTES, "more than"),
    ],
)
def test_a_body_that_can_not_be_kept_is_refused(body: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        apply(None, change(Operation.CREATE, body))
    assert said in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize(
    "facts",
    [
        {"type": "rule"},
        {"description": "a\u200bb"},
        {"description": "x" * 201},
        {"description": "a\x1b[2J"},
        {"description": "\U000e0041"},
    ],
)
def test_a_type_and_a_description_are_checked(facts: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=next(iter(facts))):
        apply(None, change(Operation.CREATE, "x", **facts))


@pytest.mark.parametrize(
    "slug",
    ["..", ".", "-x", "MEMORY", "memory", "CON", "con", "a/b", "a\0b", "x" * 10_000, "", "é", "a "],
)
def test_a_name_that_can_not_be_is_refused_by_name(slug: str) -> None:
    with pytest.raises(UsageError, match="slug") as refused:
        apply_change(None, Change(USER, slug, Operation.CREATE, "x"), NOW)
    assert refused.value.hint
    assert len(str(refused.value)) < 200


def test_a_text_of_100_kilobytes_is_kept() -> None:
    body = "[/foo] \x1b[31mred\r\n" * 6000
    assert body_of(apply(None, change(Operation.CREATE, body))) == body.encode()


def test_a_file_in_utf_16_is_refused() -> None:
    with pytest.raises(CspaceError, match="UTF-16"):
        apply("# t\n".encode("utf-16"), change(Operation.APPEND, "x"))


@given(body=st.text(CHARACTERS))
@examples(60, 3000)
def test_a_made_description_is_one_line_that_can_be_given_again(body: str) -> None:
    made = default_description(body)
    assert len(made.splitlines()) <= 1
    assert len(made) <= 100
    assert made == "".join(mark for mark in made if mark.isprintable())


def test_a_new_name_is_written_into_the_header_where_the_old_one_stood() -> None:
    content = apply(None, change(Operation.CREATE, "# One\n"))
    renamed = rename_in(content, "testing", "yes")
    assert renamed == content.replace(b"name: testing", b'name: "yes"')
    assert rename_in(b"---\nname: Else\n---\n", "testing", "b") == b"---\nname: Else\n---\n"
    assert revision_of(None) is None
    assert revision_of(content) != revision_of(renamed)
