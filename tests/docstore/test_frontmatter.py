"""Front matter: nothing in a value can forge a line, and foreign headers are understood."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from cspace.docstore.frontmatter import dump_front_matter, parse_front_matter, replace_value
from cspace.errors import CspaceError

STRUCTURE = st.text(st.sampled_from("0aé?:-#&*!|>'\"%@`,[]{} \t~=<.\\+_y/"), max_size=6)
TEXTS = (STRUCTURE | st.text(st.characters(exclude_categories=["Cs"]))) | st.sampled_from(
    [
        "yes",
        "null",
        "2026-04-14",
        "0x10",
        "a: b",
        "- x",
        "# c",
        "a # b",
        "x\nstatus: resolved",
        "---",
    ]
)


@given(TEXTS, st.lists(TEXTS.filter(bool)))
@example("", ["0?", "a:b", "a:", "a?b"])
def test_whatever_a_value_holds_it_comes_back_and_forges_nothing(
    text: str, items: list[str]
) -> None:
    document = dump_front_matter((("title", text), ("tags", tuple(items)), ("status", "open")))
    assert yaml.safe_load(document.split("---\n", 1)[1].rsplit("---\n", 1)[0]) == {
        "title": text,
        "tags": items,
        "status": "open",
    }
    ours = parse_front_matter(document.encode())
    assert (ours.text("title"), ours.texts("tags")) == (text, tuple(items))
    assert document.count("\n") == 5


LINES = st.from_regex(
    r"""(|[a-z]{1,3}:\n| {0,3})[a-z]{1,3}(_[a-z])?: """
    r"""([\w:./+()@'",;!?%=–—“ -]{0,12}|"[\w #:é—-]{0,9}"|\[[\w, -]{0,9}\])\n""",
    fullmatch=True,
) | st.text("ab1é: #'\"[],;-_.&*!|>%?=~–—“”…\t", max_size=12).map(lambda value: f"title: {value}\n")


@given(st.lists(LINES, max_size=4).map("".join))
def test_a_header_is_read_as_yaml_reads_it(source: str) -> None:
    try:
        expected = yaml.load(source, Loader=yaml.CBaseLoader) or {}  # noqa: S506  only text
    except yaml.YAMLError:
        return
    found = parse_front_matter(f"---\n{source}---\n".encode())
    if "*" not in source and found.source == source:  # an alias is not followed
        assert found.values == expected


def test_dates_are_written_plain_and_in_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(2026, 4, 14, 1, 30, tzinfo=zone)
    pairs = (("date", datetime.date(2026, 4, 14)), ("created", moment))
    assert dump_front_matter(pairs) == (
        "---\ndate: 2026-04-14\ncreated: 2026-04-13T23:30:00Z\n---\n"
    )


@pytest.mark.parametrize(
    ("header", "title"),
    [
        ("title: Fix: the parser", "Fix: the parser"),
        ("title: Don't panic", "Don't panic"),
        ("title: 'It''s quoted'", "It's quoted"),
        ('title: "a \\"b\\""', 'a "b"'),
        ("title: [WIP] @foo", "[WIP] @foo"),
        ("title: Fix #12", "Fix #12"),
        ("title: @reviewers", "@reviewers"),
        ("title: >\n  folded\n  text", "folded text"),
        ("other: {\ntitle: yes", "yes"),
        ('title: "\\""', '"'),
        ('title: "\\"\\\\"', '"\\'),
    ],
)
def test_a_title_that_a_hand_wrote_is_read_as_it_was_meant(header: str, title: str) -> None:
    found = parse_front_matter(f"---\n{header}\nstatus: open\n---\nbody".encode())
    assert (found.prose("title") or "").strip() == title
    assert found.text("status") == "open"


@pytest.mark.parametrize("tags", ["a, b", "[a, b]", "\n  - a\n  - b", '["a", b]'])
def test_tags_are_read_in_either_form(tags: str) -> None:
    assert parse_front_matter(f"---\ntags: {tags}\n---\n".encode()).texts("tags") == ("a", "b")


def test_bom_and_crlf_are_read() -> None:
    document = b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\nbody"
    found = parse_front_matter(document)
    assert (found.text("title"), document[found.body :]) == ("x", b"body")


@pytest.mark.parametrize(
    "header",
    [
        b"a: !!timestamp x",
        b"a: !!python/object:os.system {}",
        b"a: " + b"[" * 3000,
        b"? {a: b}\n: c",
        b"a: *nowhere",
        b"\xff\xfe",
        b"date: 2026-99-99",
        b"just text",
    ],
)
def test_a_hostile_header_breaks_nothing(header: bytes) -> None:
    document = b"---\n" + header + b"\ntitle: kept\n---\nbody"
    assert document[parse_front_matter(document).body :] == b"body"


@pytest.mark.parametrize("opening", ["- ", "? ", "[", "{a: "])
def test_nesting_that_overflows_the_stack_hazard_is_not_composed(opening: str) -> None:
    header = f"title: found\ndeep:\n {opening * (60_000 // len(opening))}"
    plain = "import sys, yaml; yaml.load(sys.stdin.read(), Loader=yaml.CBaseLoader)"
    words = (sys.executable, "-c", plain)
    naive = subprocess.run(words, input=header[header.index("deep") :].encode(), check=False)
    assert naive.returncode != 0
    document = f"---\n{header}\n---\nbody\n".encode()
    assert parse_front_matter(document).text("title") == "found"


def test_aliases_that_stand_for_a_billion_texts_hazard_are_not_followed() -> None:
    names = "bcdefghij"
    header = "title: found\na: &a [x, x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("a" + names, names, strict=False)
    )
    document = f"---\n{header}---\nbody\n".encode()
    # Written out, the sixth of them alone is some hundred times as long as the header.
    assert len(json.dumps(yaml.safe_load(header)["f"])) > 100 * len(header)
    assert parse_front_matter(document).text("j") == "&j [*i,*i,*i,*i,*i,*i,*i,*i,*i]"
    assert b"title: other" in replace_value(document, "title", "other")


@pytest.mark.parametrize("document", [b"", b"text", b"---\nno end", b"--- x\n---\n"])
def test_a_document_without_front_matter_is_all_body(document: bytes) -> None:
    found = parse_front_matter(document)
    assert (found.body, dict(found.values)) == (0, {})


def test_replacing_a_value_keeps_every_other_byte() -> None:
    before = (
        b"---\r\n# c\r\ntitle: a: b\r\nstatus:   open # why\r\nX-key: [1,\r\n 2]\r\n---\r\n"
        b"status: open"
    )
    after = replace_value(before, "status", "resolved")
    assert after == before.replace(b"status:   open # why", b"status: resolved")


def test_a_value_on_the_following_lines_is_replaced_with_them() -> None:
    before = b"---\nstatus:\n  open\ntitle: x\n---\n"
    assert replace_value(before, "status", "wontfix") == b"---\nstatus: wontfix\ntitle: x\n---\n"


@pytest.mark.parametrize("key", ['"status"', "'status'", "status "])
def test_a_key_that_is_written_otherwise_is_replaced_and_not_doubled(key: str) -> None:
    before = f"---\n{key}: open\ntitle: x\n---\n".encode()
    assert replace_value(before, "status", "wontfix") == b"---\nstatus: wontfix\ntitle: x\n---\n"


def test_a_missing_key_gets_the_headers_line_end() -> None:
    assert replace_value(b"---\r\ntitle: x\r\n---\r\n", "status", "open") == (
        b"---\r\ntitle: x\r\nstatus: open\r\n---\r\n"
    )


def test_a_missing_key_is_added_at_the_end() -> None:
    assert replace_value(b"---\ntitle: x\n---\n", "status", "open") == (
        b"---\ntitle: x\nstatus: open\n---\n"
    )


def test_a_key_inside_another_value_is_not_taken_for_the_key() -> None:
    before = b"---\nnote: |\n  status: fake\nstatus: open\n---\n"
    assert replace_value(before, "status", "resolved").count(b"fake") == 1


def test_a_document_without_a_header_is_refused_and_not_guessed_at() -> None:
    with pytest.raises(CspaceError, match="can not be replaced safely"):
        replace_value(b"no header", "status", "open")
