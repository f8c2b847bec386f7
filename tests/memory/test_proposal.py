"""A proposal's file: every text comes back as it went in, and no other YAML is taken."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace.errors import UsageError
from cspace.memory.changes import Change, Operation
from cspace.memory.proposal import (
    MAX_BYTES,
    Proposal,
    Provenance,
    Source,
    dump_proposal,
    parse_proposal,
)
from cspace.memory.scopes import Kind, Scope

TIME = datetime(2026, 4, 14, 10, 30, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
BODIES = st.lists(
    st.one_of(TEXTS, st.sampled_from(["", " ", "---", "...", "body: x", "# T", "- a", "\t", "\r"])),
    max_size=8,
).map("\n".join)


def proposal(body: str = "# One change a commit\n") -> Proposal:
    change = Change(Scope(Kind.PROJECT, "web"), "small-commits", Operation.CREATE, body)
    return Proposal(change, None, Provenance(Source.HUMAN), TIME, id="1f0e")


@given(BODIES)
def test_any_body_comes_back_exactly(body: str) -> None:
    made = proposal(body)
    assert parse_proposal(dump_proposal(made), "1f0e") == made


@given(TEXTS, TEXTS, TEXTS)
def test_any_other_text_comes_back_exactly(description: str, reference: str, reason: str) -> None:
    made = proposal()
    change = replace(made.change, type="feedback", description=description)
    origin = Provenance(Source.JOB, reference)
    made = replace(
        made, change=change, provenance=origin, reason=reason, revision="0f" * 32, instance="w/m"
    )
    assert parse_proposal(dump_proposal(made), "1f0e") == made


def test_a_plain_body_is_written_for_people() -> None:
    assert dump_proposal(proposal("# T\n\n  indented\nend\n")).decode() == (
        "scope: projects/web\nslug: small-commits\noperation: create\nrevision: null\n"
        'provenance:\n  source: human\n  ref: ""\ntime: 2026-04-14T10:30:00Z\n'
        "body: |2\n  # T\n\n    indented\n  end\n"
    )


def test_a_body_of_100_kb_comes_back_exactly() -> None:
    made = proposal("línea [/foo] \x1b[31m\r\n" * 5000)
    assert parse_proposal(dump_proposal(made), "1f0e") == made


@pytest.mark.parametrize("body", ["half \ud800 a character", "x" * MAX_BYTES])
def test_a_body_that_can_not_be_kept_is_refused(body: str) -> None:
    with pytest.raises(UsageError):
        dump_proposal(proposal(body))


GOOD = dump_proposal(proposal()).decode()
LAUGHS = "a: &a [lol]\n" + "".join(
    f"{one}: &{one} [{','.join([f'*{before}'] * 9)}]\n"
    for before, one in zip("abcdefgh", "bcdefghi", strict=True)
)
FOREIGN = {
    "a billion laughs": LAUGHS,
    "an anchor": GOOD.replace("slug: ", "slug: &a "),
    "an alias": GOOD.replace("slug: small-commits", "slug: *a"),
    "a merge key": f"<<: {{scope: user}}\n{GOOD}",
    "a tag": GOOD.replace("slug: ", "slug: !!python/object/apply:os.system "),
    "deep lists": "[" * 100_000,
    "deep mappings": "{a: " * 50_000,
    "deep blocks": "".join(f"{' ' * depth}a:\n" for depth in range(700)),
    "many keys": "".join(f"k{number}: v\n" for number in range(20_000)),
    "a list": "- scope\n",
    "a text": "scope",
    "nothing": "",
    "two documents": f"{GOOD}\n---\n{GOOD}",
    "a directive": f"%YAML 9.9\n---\n{GOOD}",
    "an unknown field": f"id: 1f0e\n{GOOD}",
    "a key that is a list": f"? [a]\n: b\n{GOOD}",
    "scope ../..": GOOD.replace("projects/web", "../.."),
    "scope projects/..": GOOD.replace("projects/web", "projects/.."),
    "an absolute scope": GOOD.replace("projects/web", "/etc"),
    "slug MEMORY": GOOD.replace("small-commits", "MEMORY"),
    "slug ..": GOOD.replace("small-commits", '".."'),
    "slug a/b": GOOD.replace("small-commits", "a/b"),
    "slug CON": GOOD.replace("small-commits", "con"),
    "slug -x": GOOD.replace("small-commits", "-x"),
    "a slug with NUL": GOOD.replace("small-commits", '"a\\0b"'),
    "a slug of 10,000": GOOD.replace("small-commits", "a" * 10_000),
    "a slug that is a list": GOOD.replace("small-commits", "[a]"),
    "an operation": GOOD.replace("create", "destroy"),
    "a source": GOOD.replace("human", "root"),
    "a type": f"type: order\n{GOOD}",
    "a revision": GOOD.replace("null", "12"),
    "no revision": GOOD.replace("revision: null\n", ""),
    "provenance that is a text": GOOD.replace("provenance:\n", "provenance: x\n", 1).replace(
        "  source: human\n  ref: \"\"\n", ""
    ),
    "a long ref": GOOD.replace('ref: ""', f"ref: {'a' * 300}"),
    "too many bytes": GOOD + " " * MAX_BYTES,
}  # fmt: skip


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_what_is_no_proposal_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_proposal(text.encode(), "1f0e")
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"scope: \x00", b"scope: 'a", b"\xc3("])
def test_what_is_no_yaml_is_refused_in_words(content: bytes) -> None:
    with pytest.raises(UsageError):
        parse_proposal(content, "1f0e")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_proposal_or_refused(content: bytes) -> None:
    with pytest.raises(UsageError):
        parse_proposal(content, "1f0e")
