"""`cspace context` as a process: what is shown, found, logged and examined."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cspace.cli import entries
from cspace.context.records import Category, Decision, Discovery, Finding, Status
from cspace.context.store import ContextStore
from tests.cli.terminal import make_editor, on_terminal
from tests.cli.test_app import cspace
from tests.conftest import Clock
from tests.instance.snapshot_trees import git

DECISION = ("context", "log", "decision", "Use SQLite")
TEXTS = ("--context", "c", "--alternatives", "a", "--decision", "d", "--consequences", "e")


@pytest.fixture
def filled(repo: Path, clock: Clock) -> Path:
    """Return a project with one record of each kind, a day apart."""
    store = ContextStore(repo, clock=clock)
    store.log_decision(Decision("Use SQLite", "c", "a", "Über alles", "e"))
    clock.advance(days=1)
    store.log_discovery(Discovery("Zones", "Zürich", "Few"))
    clock.advance(days=1)
    store.log_finding(Finding("Sums \x1b[2J off", Category.BUG, "0.1 + 0.2", tags=("math",)))
    return repo


def document(*words: str, cwd: Path) -> Any:
    answer = cspace(*words, "--json", cwd=cwd)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found.pop("schema_version") == 1
    return found


def feed(*words: str, cwd: Path, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    argv = (sys.executable, "-m", "cspace.cli.app", *words)
    return subprocess.run(argv, cwd=cwd, input=stdin, capture_output=True, check=False)


COMMANDS = (
    *("context show", "context list", "context search", "context edit", "context rm"),
    *("context doctor", "context log decision", "context log discovery", "context log finding"),
    *("findings list", "findings show", "findings append"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(tmp_path: Path, command: str) -> None:
    answer = cspace(*command.split(), "--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert f"Usage: cspace {command}" in answer.stdout
    assert "Example" in answer.stdout


@pytest.mark.parametrize("group", [("context",), ("context", "log"), ("findings",)])
def test_no_summary_of_a_command_is_cut_off(tmp_path: Path, group: tuple[str, ...]) -> None:
    _, _, commands = cspace(*group, "--help", cwd=tmp_path).stdout.partition("Commands:")
    assert commands
    assert "..." not in commands


def test_without_words_the_page_that_agents_get_is_shown(filled: Path) -> None:
    (filled / ".cspace/context/direction.md").write_text("# Direction\n\nUp.\n", encoding="utf-8")
    answer = cspace("context", "show", cwd=filled)
    assert answer.stdout == document("context", "show", cwd=filled)["text"]
    assert "\nUp.\n" in answer.stdout
    assert "## 2026-04-14-use-sqlite" in answer.stdout
    one = cspace("context", "show", "decisions", "roadmap", "--since", "2026-04-15", cwd=filled)
    assert "use-sqlite" not in one.stdout
    assert [line for line in one.stdout.splitlines() if line.startswith("# ")][-1].startswith(
        "# decisions"
    )


def test_an_entry_is_shown_byte_for_byte(filled: Path) -> None:
    path = filled / ".cspace/context/decisions/2026-04-14-use-sqlite.md"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\xff\x1b[2J")
    shown = feed("context", "show", "use-sqlite", cwd=filled, stdin=b"")
    assert shown.stdout == path.read_bytes()
    entry = document("context", "show", "use-sqlite", cwd=filled)["entry"]
    assert (entry["kind"], entry["slug"]) == ("decision", path.stem)
    assert entry["sections"]["Decision"] == "Über alles"


def test_on_a_terminal_hazard_control_characters_are_shown_as_escapes(filled: Path) -> None:
    path = filled / ".cspace/context/decisions/2026-04-14-use-sqlite.md"
    path.write_bytes(path.read_bytes() + "\x1b[2J\u202e\r\n".encode() + b"\xff")
    for words in (("show", "use-sqlite"), ("show",), ("list",), ("search", "sums")):
        seen = on_terminal("context", *words, cwd=filled)
        assert seen.code == 0
        assert seen.out.replace("\n", "").isprintable(), words
    assert "\\x1b[2J\\u202e\n\\xff" in on_terminal("context", "show", "use-sqlite", cwd=filled).out


def test_words_that_do_not_go_together_are_refused(filled: Path) -> None:
    for words in (["use-sqlite", "zones"], ["use-sqlite", "--limit", "3"], ["roadmap", "zones"]):
        answer = cspace("context", "show", *words, cwd=filled)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert "hint: the sections are direction, " in answer.stderr


def test_a_name_that_is_none_or_several_says_which_there_are(filled: Path) -> None:
    missing = cspace("context", "show", "sqlite", cwd=filled)
    assert (missing.returncode, missing.stdout) == (3, "")
    assert "hint: the nearest are decision/2026-04-14-use-sqlite" in missing.stderr
    several = cspace("context", "show", "2026-04", cwd=filled)
    assert several.returncode == 2
    assert "may be decision/2026-04-14-use-sqlite, discovery/2026-04-15-zones" in several.stderr


def test_the_list_is_newest_first_and_counts_what_it_lacks(filled: Path) -> None:
    (filled / ".cspace/context/findings/a.md").mkdir()
    answer = cspace("context", "list", "--limit", "2", cwd=filled)
    assert [line.split()[1] for line in answer.stdout.splitlines()] == [
        *("KIND", "finding", "discovery"),
    ]
    assert "1 more left out: raise --limit" in answer.stderr
    assert "skipped .cspace/context/findings/a.md: " in answer.stderr
    assert "1 file skipped; see: cspace context doctor" in answer.stderr
    found = document("context", "list", "--limit", "2", cwd=filled)
    assert (found["left_out"], len(found["skipped"])) == (1, 1)


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        (("--kind", "decision", "--kind", "discovery"), ["Zones", "Use SQLite"]),
        (("--until", "2026-04-15"), ["Zones", "Use SQLite"]),
        (("--since", "2026-04-15", "--until", "2026-04-15"), ["Zones"]),
        (("--since", "2027-01-01"), []),
    ],
)
def test_the_list_is_narrowed_by_kind_and_day(
    filled: Path, words: tuple[str, ...], titles: list[str]
) -> None:
    found = document("context", "list", *words, cwd=filled)["entries"]
    assert [one["title"] for one in found] == titles


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--since", "soon"),
        ("list", "--limit", "0"),
        ("list", "--kind", "moon"),
        ("search", "..."),
        ("search", "a", "--section", "moon"),
        ("log", "finding", "F", "--summary", "s"),
        ("log", "finding", "F", "--summary", "s", "--category", "moon"),
        ("log", "decision", " ", *TEXTS),
    ],
)
def test_what_is_not_understood_is_exit_2_and_changes_nothing(
    filled: Path, words: tuple[str, ...]
) -> None:
    before = sorted((filled / ".cspace").rglob("*"))
    answer = cspace("context", *words, cwd=filled)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr
    assert sorted((filled / ".cspace").rglob("*")) == before


def test_an_empty_context_is_no_error_and_none_is_made(repo: Path) -> None:
    for words in (("context", "list"), ("findings", "list"), ("context", "show")):
        assert cspace(*words, cwd=repo).returncode == 0
    assert cspace("context", "doctor", cwd=repo).stdout == "nothing found\n"
    assert not (repo / ".cspace").exists()


def test_commands_that_only_look_move_nothing_aside(filled: Path) -> None:
    link = filled / ".cspace/context/findings/a.md"
    link.symlink_to("/etc/passwd")
    for words in (("context", "list"), ("context", "show"), ("findings", "list")):
        assert cspace(*words, cwd=filled).returncode == 0
    assert cspace("context", "doctor", cwd=filled).returncode == 8
    assert link.is_symlink()


def test_a_search_ranks_and_shows_where_and_nothing_is_exit_3(filled: Path) -> None:
    answer = cspace("context", "search", "zurich", "SQLITE", cwd=filled)
    assert answer.stdout.splitlines() == [
        "decisions/2026-04-14-use-sqlite  Use SQLite",
        "    c",
        "discoveries/2026-04-15-zones  Zones",
        "    Zürich",
    ]
    narrowed = document("context", "search", "e", "--section", "decisions", cwd=filled)
    assert [hit["section"] for hit in narrowed["hits"]] == ["decisions"]
    nothing = cspace("context", "search", "moon", "--json", cwd=filled)
    assert (nothing.returncode, json.loads(nothing.stdout)["hits"]) == (3, [])
    assert "error: nothing holds a word of 'moon'" in nothing.stderr


def test_a_record_is_logged_from_anywhere_in_the_project(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "--quiet", str(linked))
    (linked / "src").mkdir()
    answer = cspace(*DECISION, *TEXTS, cwd=linked / "src")
    slug, path = (line.split()[1] for line in answer.stdout.splitlines())
    assert path == f".cspace/context/decisions/{slug}.md"
    assert (repo / path).is_file()
    assert not (linked / ".cspace").exists()
    for place in (repo / ".cspace/context/decisions", linked / "src"):
        assert document("context", "list", cwd=place)["entries"][0]["slug"] == slug


def test_any_one_text_comes_from_stdin_as_it_is(repo: Path) -> None:
    text = "## Decision\r\n\n---\nüñ\u202e \n"
    words = (*DECISION, *TEXTS[:-1], "-", "--json")
    answer = feed(*words, cwd=repo, stdin=f"{text}\n".encode())
    logged = json.loads(answer.stdout)["logged"]
    entry = document("context", "show", logged["slug"], cwd=repo)["entry"]
    assert entry["sections"]["Consequences"] == text


@pytest.mark.parametrize(
    ("stdin", "last", "said"),
    [
        (b"\xff", "-", "consequences is not UTF-8 at byte 0"),
        (b"", "-", "consequences is empty: nothing came from stdin"),
        (b"a\0b", "-", "consequences holds a NUL"),
    ],
)
def test_what_stdin_can_not_give_is_refused(repo: Path, stdin: bytes, last: str, said: str) -> None:
    answer = feed(*DECISION, *TEXTS[:-1], last, cwd=repo, stdin=stdin)
    assert answer.returncode == 2
    assert said in answer.stderr.decode()
    assert cspace("context", "list", cwd=repo).stdout == ""


def test_without_a_terminal_texts_that_are_missing_are_named(repo: Path) -> None:
    answer = cspace(*DECISION, *TEXTS[:4], cwd=repo)
    assert answer.returncode == 2
    assert "error: --decision, --consequences missing, and there is no terminal" in answer.stderr
    assert not (repo / ".cspace").exists()


def test_on_a_terminal_the_editor_asks_for_what_is_missing(repo: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, """sed -i 's/^## Impact$/&\\nViele, für "alle"/' "$1" """)
    words = ("context", "log", "discovery", "Zones", "--finding", "Zürich")
    assert on_terminal(*words, cwd=repo, VISUAL=editor, EDITOR="false").code == 0
    (entry,) = document("context", "list", cwd=repo)["entries"]
    sections = document("context", "show", entry["slug"], cwd=repo)["entry"]["sections"]
    assert sections == {"Finding": "Zürich", "Impact": 'Viele, für "alle"'}


def test_a_draft_that_is_left_as_it_was_logs_nothing(repo: Path, tmp_path: Path) -> None:
    left = on_terminal(*DECISION, cwd=repo, EDITOR="true", TMPDIR=str(tmp_path))
    assert (left.code, "nothing was logged" in left.err) == (2, True)
    assert cspace("context", "list", cwd=repo).stdout == ""
    assert list(tmp_path.glob("cspace-edit-*")) == []


def test_a_draft_that_is_refused_is_kept(repo: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, """sed -i 's/^## Context$/&\\nmany words/' "$1" """)
    refused = on_terminal(*DECISION, cwd=repo, EDITOR=editor, TMPDIR=str(tmp_path))
    assert (refused.code, "alternatives is empty" in refused.err) == (2, True)
    (kept,) = tmp_path.glob("cspace-edit-*/*")
    assert f"note: your text is kept in {kept}" in refused.err
    assert "many words" in kept.read_text(encoding="utf-8")


def test_a_finding_is_logged_with_all_that_it_has(repo: Path) -> None:
    words = ("--category", "bug", "--tag", "a", "--tag", "b", "--related", "x.py")
    logged = document(
        *("context", "log", "finding", "Off", "--summary", "s", "--author", "ann"),
        *("--status", "acknowledged", *words),
        cwd=repo,
    )["logged"]
    entry = document("findings", "show", logged["slug"], cwd=repo)["entry"]
    assert (entry["tags"], entry["related"], entry["author"]) == (["a", "b"], ["x.py"], "ann")
    assert entry["status"] == Status.ACKNOWLEDGED


def test_doctor_names_what_is_wrong_and_ends_with_8(filled: Path) -> None:
    (filled / ".cspace/context/findings/li\x1b[2Jnk.md").symlink_to("/etc/passwd")
    answer = cspace("context", "doctor", cwd=filled)
    assert answer.returncode == 8
    assert "error: doctor found 1 thing" in answer.stderr
    assert answer.stdout.replace("\n", "").isprintable()
    (found,) = json.loads(cspace("context", "doctor", "--json", cwd=filled).stdout)["diagnoses"]
    assert set(found) == {"check", "problem", "repair"}


def test_a_shell_completes_sections_and_names(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled)
    assert entries.complete_shown("dec") == ["decisions"]
    assert entries.complete_shown("decision/2026") == ["decision/2026-04-14-use-sqlite"]
    assert entries.complete_entry("2026-04-1")[-1] == "2026-04-14-use-sqlite"
    assert entries.complete_editable("ro") == ["roadmap"]
    (finding,) = entries.complete_finding("")
    assert finding.startswith("2026-04-16-sums")
    monkeypatch.chdir(filled.parent)
    assert entries.complete_entry("") == []


def test_no_colours_are_used_on_a_terminal(filled: Path) -> None:
    for words in (("context", "list"), ("context", "--help"), ("context", "show", "moon")):
        seen = on_terminal(*words, cwd=filled, TERM="xterm-256color", FORCE_COLOR="1")
        assert seen.out + seen.err
        assert "\x1b" not in seen.out + seen.err


def test_kinds_and_sections_are_understood_in_the_singular_and_the_plural(filled: Path) -> None:
    listed = [
        document("context", "list", "--kind", word, cwd=filled) for word in ("finding", "findings")
    ]
    assert [len(one["entries"]) for one in listed] == [1, 1]
    said = [
        cspace("context", "show", word, cwd=filled).stdout for word in ("decision", "decisions")
    ]
    assert said[0] == said[1] != ""
    words = ("context", "search", "alles", "--section")
    found = [document(*words, word, cwd=filled) for word in ("decision", "decisions")]
    assert found[0] == found[1]
    refused = cspace(*words, "notes", cwd=filled)
    assert "error: there is no section 'notes'\nhint: one of direction" in refused.stderr


def test_an_empty_list_says_what_to_do_and_a_filtered_one_does_not(repo: Path) -> None:
    said = cspace("context", "list", cwd=repo).stderr
    assert "cspace context log -h" in said
    assert "cspace context restore --dry-run" in said
    said = cspace("context", "list", "--kind", "decision", cwd=repo).stderr
    assert said == "nothing to list\n"


def test_a_shell_completes_a_name_the_way_it_was_begun(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled)
    assert entries.complete_shown("decisions/") == ["decisions/2026-04-14-use-sqlite"]
    assert entries.complete_kind("d") == ["decision", "discovery"]
