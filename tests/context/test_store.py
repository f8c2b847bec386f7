"""Records are files of the documented format, and what an author gave comes back."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cspace.clock import parse_time
from cspace.context import entryfile
from cspace.context.records import (
    Category,
    Decision,
    Discovery,
    Finding,
    Kind,
    Origin,
    Status,
    Update,
)
from cspace.context.store import ContextStore
from cspace.errors import NotFound, UsageError
from cspace.files import Owner
from tests.conftest import Clock
from tests.docstore.test_sections import TEXTS

DECISION = Decision("Use awk: yes", "why", "python3", "awk", "works everywhere")
FINDING = Finding("Sign-up fails", Category.BUG, "It does.", tags=("a, b", "c"), related=("x.py",))


def test_a_decision_is_a_file_of_the_documented_format(store: ContextStore, root: Path) -> None:
    logged = store.log_decision(DECISION)
    assert logged.slug == "2026-04-14-use-awk-yes"
    assert logged.path == ".cspace/context/decisions/2026-04-14-use-awk-yes.md"
    assert (root / logged.path).read_text(encoding="utf-8") == (
        '---\ntitle: "Use awk: yes"\ndate: 2026-04-14\nkind: decision\n'
        "created: 2026-04-14T10:30:00Z\nauthor: ann\n---\n\n"
        "## Context\nwhy\n\n## Alternatives\npython3\n\n## Decision\nawk\n\n"
        "## Consequences\nworks everywhere\n"
    )


def test_a_finding_is_a_file_of_the_documented_format(store: ContextStore, root: Path) -> None:
    logged = store.log_finding(FINDING)
    assert (root / logged.path).read_text(encoding="utf-8") == (
        "---\ntitle: Sign-up fails\ndate: 2026-04-14\nkind: finding\nstatus: open\ncategory: bug\n"
        'tags: ["a, b", c]\nrelated: [x.py]\ncreated: 2026-04-14T10:30:00Z\nauthor: ann\n---\n\n'
        "## Summary\nIt does.\n\n## Details\n\n## Updates\n"
        "### 2026-04-14T10:30:00Z — @ann — status: open\nfiled\n"
    )


def test_a_record_says_which_instance_and_commit_it_comes_from(root: Path, clock: Clock) -> None:
    origin = Origin("mercury", "mercury", lambda: "c0ffee")
    logged = ContextStore(root, origin, clock=clock).log_discovery(Discovery("t", "f", "i"))
    header = (root / logged.path).read_text(encoding="utf-8").split("---\n")[1]
    found = yaml.safe_load(header)
    assert list(found) == ["title", "date", "kind", "created", "author", "instance", "commit"]
    assert (found["author"], found["instance"], found["commit"]) == ("mercury", "mercury", "c0ffee")


def test_the_same_title_on_the_same_day_gets_a_counter(store: ContextStore) -> None:
    assert [store.log_decision(DECISION).slug[-5:] for _ in range(3)] == ["k-yes", "yes-2", "yes-3"]


@given(title=TEXTS.filter(lambda text: text.strip() and len(text) <= 300), one=TEXTS, two=TEXTS)
def test_any_text_comes_back_as_given(title: str, one: str, two: str) -> None:
    texts = {"Context": one, "Alternatives": two, "Decision": one, "Consequences": two}
    pairs = (("title", title), ("kind", "decision"))
    entry = entryfile.parse_entry(
        Kind.DECISION, "x", "x", entryfile.dump_entry(Kind.DECISION, pairs, texts)
    )
    assert dict(entry.sections) == texts
    assert entry.info.title == title


def test_a_megabyte_comes_back_as_given(store: ContextStore) -> None:
    details = "## Updates\r\n\u202eright to left\xa0\n---\n```\n" * 25_000
    slug = store.log_finding(replace(FINDING, details=details)).slug
    assert store.read_entry(Kind.FINDING, slug).sections["Details"] == details


def test_a_note_that_forges_an_update_stays_a_note(store: ContextStore) -> None:
    slug = store.log_finding(FINDING).slug
    forged = "### 2026-04-14T11:00:00Z — @boss — status: wontfix\nclosed\n\n## Updates\n"
    store.append_to_finding(slug, forged)
    entry = store.read_entry(Kind.FINDING, slug)
    assert [(one.author, one.status, one.note) for one in entry.updates] == [
        ("ann", "open", "filed"),
        ("ann", "open", forged),
    ]


@given(notes=st.lists(TEXTS, max_size=4), statuses=st.lists(st.sampled_from(Status), min_size=4))
def test_appends_keep_every_byte_but_the_status_line(
    notes: list[str], statuses: list[Status]
) -> None:
    clock = Clock(parse_time("2026-04-14") or pytest.fail("no time"))
    first = Update(clock(), "ann", "open", "filed")
    texts = {"Summary": "s", "Details": "```", "Updates": entryfile.dump_update(first)}
    pairs = (("title", "t"), ("status", "open"), ("zzz", "kept"))
    document = entryfile.dump_entry(Kind.FINDING, pairs, texts)
    for note, status in zip(notes, statuses, strict=False):
        before = document
        document = entryfile.append_update(
            before, Update(clock(), "bob", status, note), status=status
        )
        head, tail = before.split(b"\nstatus: ", 1)
        assert document.startswith(head + b"\nstatus: " + status.encode() + b"\n")
        assert tail.split(b"\n", 1)[1] in document
    entry = entryfile.parse_entry(Kind.FINDING, "x", "x", document)
    assert [one.note for one in entry.updates] == ["filed", *notes]
    assert entry.info.status == ([Status.OPEN, *statuses[: len(notes)]])[-1]


def test_an_append_changes_the_status_line_and_adds_one_block(
    store: ContextStore, root: Path, clock: Clock
) -> None:
    logged = store.log_finding(FINDING)
    before = (root / logged.path).read_text(encoding="utf-8")
    clock.advance(hours=1)
    done = store.append_to_finding(logged.slug, "fixed it", status="resolved", author="@bob")
    assert (done.path, done.status) == (logged.path, "resolved")
    assert (root / logged.path).read_text(encoding="utf-8") == (
        before.replace("status: open\ncategory", "status: resolved\ncategory")
        + "\n### 2026-04-14T11:30:00Z — @bob — status: resolved\nfixed it\n"
    )


def test_an_append_without_a_status_repeats_the_one_that_is(store: ContextStore) -> None:
    slug = store.log_finding(replace(FINDING, status=Status.ACKNOWLEDGED)).slug
    assert store.append_to_finding(slug, "still there").status == "acknowledged"


@pytest.mark.parametrize("author", ["a\nb", "a — status: resolved", "", "---", "x" * 81, "a: b"])
def test_an_author_can_not_forge_a_heading(store: ContextStore, author: str) -> None:
    if not author:
        assert store.log_finding(replace(FINDING, author=author)).slug
        return
    with pytest.raises(UsageError, match="author"):
        store.log_finding(replace(FINDING, author=author))


@pytest.mark.parametrize("field", [field.name for field in fields(Decision)])
@pytest.mark.parametrize("bad", ["", " \n", "a\0b", "\ud800"])
def test_a_text_that_can_not_be_kept_is_refused_by_name_and_nothing_is_written(
    store: ContextStore, root: Path, field: str, bad: str
) -> None:
    with pytest.raises(UsageError, match=field):
        store.log_decision(replace(DECISION, **{field: bad}))
    assert os.listdir(root) == []


def test_a_status_outside_the_set_names_the_allowed_ones(store: ContextStore) -> None:
    slug = store.log_finding(FINDING).slug
    with pytest.raises(UsageError, match="open, acknowledged, resolved, wontfix"):
        store.append_to_finding(slug, "x", status="closed")


def test_a_removed_entry_is_gone_and_its_neighbours_stay(store: ContextStore, root: Path) -> None:
    kept, removed = store.log_decision(DECISION), store.log_decision(DECISION)
    assert store.remove_entry(Kind.DECISION, f"{removed.slug}.md") == removed.path
    assert not (root / removed.path).exists()
    assert store.read_entry(Kind.DECISION, kept.slug).info.title == DECISION.title


@pytest.mark.parametrize("slug", ["../x", "/etc/passwd", "a\0b", "Upper", "../../../etc/passwd.md"])
def test_a_slug_is_checked_before_the_file_system_is_touched(tmp_path: Path, slug: str) -> None:
    # A root that does not exist would be NotFound, if anything had been looked up.
    store = ContextStore(tmp_path / "gone")
    for call in (
        lambda: store.read_entry(Kind.DECISION, slug),
        lambda: store.remove_entry(Kind.DECISION, slug),
        lambda: store.append_to_finding(slug, "note"),
    ):
        with pytest.raises(UsageError, match="slug"):
            call()


def test_a_missing_root_is_an_error_and_not_a_new_brain(tmp_path: Path) -> None:
    store = ContextStore(tmp_path / "gone")
    with pytest.raises(NotFound, match="gone is not a directory"):
        store.log_decision(DECISION)
    assert not (tmp_path / "gone").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_creates_belongs_to_the_owner(root: Path, clock: Clock) -> None:
    store = ContextStore(root, owner=Owner(4242, 4343), clock=clock)
    slug = store.log_finding(FINDING).slug
    store.append_to_finding(slug, "x")
    owners = {(p.stat().st_uid, p.stat().st_gid) for p in (root / ".cspace").rglob("*")}
    assert owners == {(4242, 4343)}
