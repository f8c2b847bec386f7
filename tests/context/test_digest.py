"""The digest shows what is live, counts the rest, and can not be forged by a record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.context.digest import MAX_SKIPPED, read_context
from cspace.context.records import Category, Decision, Finding, Status
from cspace.context.store import ContextStore
from cspace.errors import NotFound
from tests.conftest import Clock


def log(store: ContextStore, title: str, status: Status = Status.OPEN) -> str:
    return store.log_finding(Finding(title, Category.BUG, "s", status=status)).slug


def test_human_files_are_whole(store: ContextStore, root: Path) -> None:
    text = "# Ours\n" + "long\n" * 5000
    (root / ".cspace/context").mkdir(parents=True)
    (root / ".cspace/context/direction.md").write_text(text, encoding="utf-8")
    assert read_context(store, ("direction",)).text == f"# direction.md\n\n{text}"


def test_only_open_and_acknowledged_findings_are_shown(store: ContextStore) -> None:
    for status in Status:
        log(store, f"is {status}", status)
    shown = read_context(store, ("findings",)).text
    assert "**is open**" in shown
    assert "**is acknowledged**" in shown
    assert "**is resolved**" not in shown
    assert "**is wontfix**" not in shown


def test_at_most_ten_findings_and_the_rest_is_counted(store: ContextStore, clock: Clock) -> None:
    for number in range(12):
        log(store, f"number {number}")
        clock.advance(minutes=1)
    shown = read_context(store, ("findings",), limit=200).text
    assert shown.count("\n## ") == 10
    assert "(2 more left out" in shown
    assert "number 11" in shown
    assert "**number 1**" not in shown


def test_the_last_three_updates_are_shown(store: ContextStore) -> None:
    slug = log(store, "x")
    for number in range(5):
        store.append_to_finding(slug, f"note {number}")
    shown = read_context(store, ("findings",)).text
    assert "### Updates (last 3, 3 earlier left out)" in shown
    assert [f"note {number}" in shown for number in range(5)] == [False, False, True, True, True]


def test_a_record_can_not_forge_a_heading_of_the_digest(store: ContextStore) -> None:
    forged = "# decisions\n\n## 2026-01-01-fake\n  ## x\n#\tx"
    store.log_decision(Decision("t\n# x", forged, "a", "d", "c"))
    shown = read_context(store, ("decisions",)).text
    headings = [line for line in shown.splitlines() if line.lstrip().startswith(("# ", "## "))]
    assert headings == ["# decisions (newest first)", "## 2026-04-14-t-x"]


@pytest.mark.parametrize("end", ["\n", "\r", "\v", "\x85", "\u2028"])
def test_no_end_of_a_line_forges_a_heading_of_the_digest(store: ContextStore, end: str) -> None:
    store.log_decision(Decision("t", f"x{end}# skipped{end}\u00a0##\u00a0fake", "a", "d", "c"))
    shown = read_context(store, ("decisions",)).text
    headings = [line for line in shown.splitlines() if line.lstrip().startswith(("# ", "##\xa0"))]
    assert headings == ["# decisions (newest first)"]


def test_a_files_facts_can_not_forge_a_heading_of_the_digest(
    store: ContextStore, root: Path
) -> None:
    findings = root / ".cspace/context/findings"
    findings.mkdir(parents=True)
    header = 'title: t\nstatus: open\ncategory: "# principles.md"'
    (findings / "by-hand.md").write_text(f"---\n{header}\n---\nbody\n", encoding="utf-8")
    assert "\n\\# principles.md · open" in read_context(store, ("findings",)).text


def test_a_text_that_is_very_long_is_cut_and_says_so(store: ContextStore) -> None:
    store.log_decision(Decision("t", "x" * 100_000, "a", "d", "c"))
    shown = read_context(store, ("decisions",)).text
    assert len(shown) < 6000
    assert "96000 more characters" in shown


def test_sections_come_in_their_order_and_only_once(store: ContextStore) -> None:
    text = read_context(store, ("findings", "direction", "findings")).text
    assert [line for line in text.splitlines() if line.startswith("# ")] == [
        "# direction.md",
        "# findings (open and acknowledged, newest first)",
    ]


def test_what_can_not_be_read_is_counted_and_named(store: ContextStore, root: Path) -> None:
    log(store, "x")
    (root / ".cspace/context/findings/2026-01-01-fifo.md").unlink(missing_ok=True)
    os.mkfifo(root / ".cspace/context/findings/2026-01-01-fifo.md")
    (root / ".cspace/context/direction.md").unlink()
    (root / ".cspace/context/direction.md").symlink_to("/etc/passwd")
    digest = read_context(store)
    assert "# skipped (1 not readable)" in digest.text
    assert "2026-01-01-fifo.md: not a regular file" in digest.text
    assert "# direction.md\n\n(not readable:" in digest.text
    assert "root:" not in digest.text


def test_a_read_on_a_fresh_project_creates_nothing(store: ContextStore, root: Path) -> None:
    assert "(not written yet)" in read_context(store).text
    assert os.listdir(root) == []


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_context(ContextStore(tmp_path / "gone"), ("direction",))


def test_of_many_unreadable_files_the_first_are_named_and_the_rest_counted(
    store: ContextStore, root: Path
) -> None:
    log(store, "x")
    for number in range(MAX_SKIPPED + 5):
        (root / f".cspace/context/findings/2026-01-01-{number:03}.md").mkdir()
    shown = read_context(store, ("findings",)).text
    assert f"# skipped ({MAX_SKIPPED + 5} not readable)" in shown
    assert shown.count(": not a regular file") == MAX_SKIPPED
    assert "… and 5 more" in shown
