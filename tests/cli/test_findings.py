"""`cspace findings` as a process: what is listed, shown and added."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cspace.context.records import Category, Finding, Status
from cspace.context.store import ContextStore
from tests.cli.terminal import make_editor, on_terminal
from tests.cli.test_app import cspace
from tests.cli.test_context import document, feed
from tests.conftest import Clock

SLUG = "2026-04-14-open"


@pytest.fixture
def filled(repo: Path, clock: Clock) -> Path:
    """Return a project with a finding of each status, which is its title too."""
    store = ContextStore(repo, clock=clock)
    for status, category in zip(Status, [*Category, Category.BUG], strict=True):
        store.log_finding(Finding(status, category, "s", status=status, tags=(status[:1], "t")))
        clock.advance(days=1)
    return repo


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        ((), "acknowledged open"),
        (("--all",), "wontfix resolved acknowledged open"),
        (("--status", "resolved", "--status", "open"), "resolved open"),
        (("--all", "--category", "bug"), "wontfix open"),
        (("--all", "--tag", "r", "--tag", "w"), "wontfix resolved"),
        (("--all", "--since", "2026-04-15", "--until", "2026-04-16"), "resolved acknowledged"),
        (("--all", "--limit", "1"), "wontfix"),
    ],
)
def test_findings_are_narrowed_by_status_category_tag_and_day(
    filled: Path, words: tuple[str, ...], titles: str
) -> None:
    found = document("findings", "list", *words, cwd=filled)["findings"]
    assert [one["title"] for one in found] == titles.split()


def test_the_list_counts_what_it_left_out(filled: Path) -> None:
    answer = cspace("findings", "list", "--limit", "1", cwd=filled)
    assert [line.split()[1] for line in answer.stdout.splitlines()] == ["STATUS", "acknowledged"]
    assert "1 more left out" in answer.stderr


@pytest.mark.parametrize(
    "words",
    [
        *(("--status", "done"), ("--category", "x"), ("--since", "x")),
        ("--all", "--status", "open"),
    ],
)
def test_what_is_not_understood_is_exit_2(filled: Path, words: tuple[str, ...]) -> None:
    answer = cspace("findings", "list", *words, cwd=filled)
    assert (answer.returncode, answer.stdout) == (2, "")


def test_a_finding_is_shown_as_it_stands_in_its_file(filled: Path) -> None:
    shown = feed("findings", "show", "open", cwd=filled, stdin=b"")
    assert shown.stdout == (filled / f".cspace/context/findings/{SLUG}.md").read_bytes()
    entry = document("findings", "show", f"{SLUG}.md", cwd=filled)["entry"]
    assert [update["note"] for update in entry["updates"]] == ["filed"]
    assert cspace("findings", "show", "moon", cwd=filled).returncode == 3


def test_a_note_is_appended_with_a_status(filled: Path) -> None:
    answer = cspace("findings", "append", "open", "Fixed.", "--status", "resolved", cwd=filled)
    assert answer.stdout == f"status  resolved\npath    .cspace/context/findings/{SLUG}.md\n"
    done = document("findings", "append", "open", "Oh.", "--author", "ann", cwd=filled)
    assert done["appended"]["status"] == "resolved"
    updates = document("findings", "show", "open", cwd=filled)["entry"]["updates"]
    assert [(one["note"], one["status"]) for one in updates[1:]] == [
        *(("Fixed.", "resolved"), ("Oh.", "resolved")),
    ]
    assert updates[-1]["author"] == "ann"


def test_a_note_from_stdin_comes_back_as_it_is(filled: Path) -> None:
    note = "## Summary\r\n### 2026-01-01T00:00:00Z — @x — status: open\n\n---\n\u202eü\n"
    answer = feed("findings", "append", "open", "-", cwd=filled, stdin=f"{note}\n".encode())
    assert answer.returncode == 0, answer.stderr
    updates = document("findings", "show", "open", cwd=filled)["entry"]["updates"]
    assert [one["note"] for one in updates] == ["filed", note]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("open",), 2),
        (("open", " "), 2),
        (("open", "note", "--status", "done"), 2),
        (("open", "note", "--author", "a\nb"), 2),
        (("2026", "note"), 2),
        (("moon", "note"), 3),
    ],
)
def test_what_can_not_be_appended_changes_nothing(
    filled: Path, words: tuple[str, ...], code: int
) -> None:
    path = filled / f".cspace/context/findings/{SLUG}.md"
    before = path.read_bytes()
    answer = cspace("findings", "append", *words, cwd=filled)
    assert (answer.returncode, answer.stdout, path.read_bytes()) == (code, "", before)
    assert answer.stderr


def test_on_a_terminal_the_editor_asks_for_the_note(filled: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, """printf '\\nFixed in ü.\\n' >> "$1" """)
    done = on_terminal("findings", "append", "open", "--json", cwd=filled, EDITOR=editor)
    assert json.loads(done.out)["appended"]["status"] == "open"
    updates = document("findings", "show", "open", cwd=filled)["entry"]["updates"]
    assert updates[-1]["note"] == "Fixed in ü."


def test_a_note_that_can_not_be_stored_is_kept(filled: Path, tmp_path: Path) -> None:
    path = filled / f".cspace/context/findings/{SLUG}.md"
    editor = make_editor(tmp_path, f"""printf 'words\\n' >> "$1"\nrm '{path}'""")
    done = on_terminal("findings", "append", SLUG, cwd=filled, EDITOR=editor, TMPDIR=str(tmp_path))
    assert done.code == 3
    (kept,) = tmp_path.glob("cspace-edit-*/*.md")
    assert "words\n" in kept.read_text(encoding="utf-8")
    assert str(kept) in done.err


def test_no_note_appends_nothing(filled: Path) -> None:
    done = on_terminal("findings", "append", SLUG, cwd=filled, EDITOR="true")
    assert (done.code, "nothing was added" in done.err) == (2, True)
    assert len(document("findings", "show", SLUG, cwd=filled)["entry"]["updates"]) == 1


def test_a_list_without_open_findings_names_the_option_for_the_others(repo: Path) -> None:
    assert "--all" in cspace("findings", "list", cwd=repo).stderr
    assert cspace("findings", "list", "--all", cwd=repo).stderr == "nothing to list\n"
