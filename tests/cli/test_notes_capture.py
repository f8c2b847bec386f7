"""`cspace notes capture|show|resolve|forget`: what is kept comes back, and goes when asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commit_notes import capture, commit, document, notes, run_git
from tests.cli.terminal import make_editor, on_terminal


def test_a_body_comes_from_stdin_and_goes_to_stdout_byte_for_byte(repo: Path) -> None:
    body = bytes(range(256)) + b"\n---\nid: 0\n---\n\r\n"
    run = (sys.executable, "-m", "cspace.cli.app", "notes")
    words = (*run, "capture", "decisions", "--summary", "Any bytes")
    subprocess.run(words, cwd=repo, input=body, capture_output=True, check=True)
    (memory,) = document("list", cwd=repo)["memories"]
    shown = subprocess.run(
        (*run, "show", memory["reference"], "--raw"), cwd=repo, capture_output=True, check=True
    )
    assert shown.stdout == body


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--body", "the text"), b""),
        (("--body", "-"), b"the text"),
        (("-",), b"the text"),
        ((), b"the text"),
        (("--body-file", "text.md"), b""),
    ],
)
def test_a_body_comes_from_wherever_it_is_said(
    repo: Path, words: tuple[str, ...], said: bytes
) -> None:
    (repo / "text.md").write_text("the text", encoding="utf-8")
    notes("capture", "learnings", "--summary", "One", *words, cwd=repo, said=said)
    assert document("show", _only(repo), cwd=repo)["memories"][0]["body"] == "the text"


def _only(repo: Path) -> str:
    (memory,) = document("list", cwd=repo)["memories"]
    return str(memory["reference"])


def test_without_a_body_nothing_is_kept_and_the_options_are_named(repo: Path) -> None:
    done = notes("capture", "decisions", "--summary", "One", cwd=repo, ok=2)
    assert "the body is empty" in done.stderr
    assert "hint: --body TEXT" in done.stderr
    assert document("list", cwd=repo)["memories"] == []
    assert run_git(repo, "for-each-ref", "refs/notes") == ""


def test_a_person_on_a_terminal_writes_the_body_in_an_editor(repo: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, 'echo "Typed by hand." > "$1"')
    words = ("notes", "capture", "decisions", "--summary", "By hand")
    assert on_terminal(*words, cwd=repo, EDITOR=editor).code == 0
    assert document("show", _only(repo), cwd=repo)["memories"][0]["body"] == "Typed by hand.\n"


def test_what_was_typed_is_kept_where_it_can_not_be_captured(repo: Path, tmp_path: Path) -> None:
    editor = make_editor(tmp_path, 'echo "Typed by hand." > "$1"')
    words = ("notes", "capture", "decisions", "--summary", "x" * 101)
    screen = on_terminal(*words, cwd=repo, EDITOR=editor)
    kept = screen.err.partition("your text is kept in ")[2].splitlines()[0]
    assert screen.code == 2
    assert Path(kept).read_text(encoding="utf-8") == "Typed by hand.\n"


def test_an_editor_that_leaves_nothing_keeps_nothing(repo: Path, tmp_path: Path) -> None:
    words = ("notes", "capture", "decisions", "--summary", "None")
    screen = on_terminal(*words, cwd=repo, EDITOR=make_editor(tmp_path, "true"))
    assert (screen.code, document("list", cwd=repo)["memories"]) == (2, [])
    assert "nothing was kept" in screen.err


def test_the_same_capture_twice_is_one_and_says_so(repo: Path) -> None:
    words = ("capture", "decisions", "--summary", "One", "--body", "b")
    assert "it was there already" not in notes(*words, cwd=repo).stderr
    assert "it was there already" in notes(*words, cwd=repo).stderr
    assert document(*words, cwd=repo)["is_new"] is False
    assert len(document("list", cwd=repo)["memories"]) == 1


def test_every_field_that_is_given_comes_back(repo: Path) -> None:
    (repo / "src").mkdir()
    capture(
        repo / "src", "reviews", "Token in the log",
        *("--spec", "auth", "--phase", "review", "--tag", "jwt", "--tag", "log"),
        *("--severity", "high", "--category", "security", "--file", "a.py", "--line", "7"),
        body="Log its id.",
    )  # fmt: skip
    (found,) = document("show", _only(repo), cwd=repo)["memories"]
    fields = ("spec", "phase", "tags", "severity", "category", "file", "line", "status", "body")
    values = ["auth", "review", ["jwt", "log"], "high", "security", "src/a.py", 7, "open"]
    assert [found[name] for name in fields] == [*values, "Log its id."]
    shown = notes("show", _only(repo), cwd=repo).stdout
    for said in ("auth", "jwt, log", "src/a.py:7", "security", "high", "open", "Log its id."):
        assert said in shown


def test_a_commit_is_named_by_anything_that_git_knows_it_by(repo: Path) -> None:
    first = run_git(repo, "rev-parse", "HEAD")
    commit(repo, "more.txt")
    capture(repo, "decisions", "Of the first", "--commit", "HEAD~1")
    assert document("list", cwd=repo)["memories"][0]["commit"] == first


REFUSED = {
    "capture nope --summary s --body b": ("nope", 2),
    "capture decisions --summary= --body b": ("summary", 2),
    "capture decisions --summary s --body b --commit no": ("'no'", 3),
    "capture reviews --summary s --body b --severity odd": ("odd", 2),
    "show decisions:1234567": ("1234567", 3),
    "show nope": ("nope", 2),
    "forget decisions:1234567 --yes": ("1234567", 3),
    "resolve blockers:1234567 --text t": ("1234567", 3),
    "recall redis --status odd": ("odd", 2),
    "recall redis --since soon": ("soon", 2),
    "list --since soon": ("soon", 2),
    "list --status odd": ("odd", 2),
}


def test_what_can_not_be_done_names_the_value_and_the_next_step(repo: Path) -> None:
    for words, (said, code) in REFUSED.items():
        done = notes(*words.split(), cwd=repo, ok=code)
        assert said in done.stderr, words
        assert "hint: " in done.stderr, words
    assert run_git(repo, "for-each-ref", "refs/notes") == ""


def test_a_summary_of_two_lines_is_refused(repo: Path) -> None:
    words = ("capture", "decisions", "--summary", "a\nb", "--body", "b")
    assert "summary" in notes(*words, cwd=repo, ok=2).stderr


SECRET = "ghp_" + "abcdefghij0123456789ABCDEFGHIJ012345"


def test_a_secret_is_refused_before_anything_is_written_and_never_shown(repo: Path) -> None:
    words = ("capture", "decisions", "--summary", "Login", "--body", f"token: {SECRET}")
    done = notes(*words, cwd=repo, ok=2)
    assert SECRET not in done.stderr
    assert "--allow-secret" in done.stderr
    assert run_git(repo, "for-each-ref", "refs/notes") == ""
    notes(*words, "--allow-secret", cwd=repo)
    assert len(document("list", cwd=repo)["memories"]) == 1


def test_a_blocker_is_open_until_it_is_resolved(repo: Path) -> None:
    reference = capture(repo, "blockers", "No IPv6 in CI")
    (before,) = document("list", "--status", "open", cwd=repo)["memories"]
    done = notes("resolve", reference, "--text", "It has IPv4 now.", cwd=repo)
    (after,) = document("list", "--status", "resolved", cwd=repo)["memories"]
    assert (before["resolution"], after["resolution"]) == (None, "It has IPv4 now.")
    assert "resolved: It has IPv4 now." in done.stdout
    assert document("list", "--status", "open", cwd=repo)["memories"] == []


def test_nothing_is_forgotten_without_a_yes(repo: Path) -> None:
    reference = capture(repo, "decisions", "Kept", body="the body")
    done = notes("forget", reference, cwd=repo, ok=2)
    assert "nobody is there to ask" in done.stderr
    assert "the body" in done.stdout
    screen = on_terminal("notes", "forget", reference, cwd=repo, said=b"n\n")
    assert (screen.code, len(document("list", cwd=repo)["memories"])) == (1, 1)
    assert "the body" in screen.out


def test_a_forgotten_memory_is_gone_and_stays_gone(repo: Path) -> None:
    reference = capture(repo, "decisions", "Kept", body="the body")
    gone = document("forget", reference, "--yes", cwd=repo)["forgotten"]
    assert (gone["summary"], gone["body"]) == ("Kept", "the body")
    assert document("list", cwd=repo)["memories"] == []
    notes("show", reference, cwd=repo, ok=3)


def test_one_of_several_on_a_commit_is_named_by_its_id(repo: Path) -> None:
    first, second = (capture(repo, "decisions", text) for text in ("One", "Two"))
    listed = {one["summary"]: one["reference"] for one in document("list", cwd=repo)["memories"]}
    assert set(listed) == {"One", "Two"}
    assert all("/" in reference for reference in listed.values())
    both = document("show", first.partition("/")[0], cwd=repo)["memories"]
    assert len(both) == 2
    refused = notes("forget", second.partition("/")[0], "--yes", cwd=repo, ok=4)
    assert listed["One"] in refused.stderr
    notes("forget", listed["One"], "--yes", cwd=repo)
    assert [one["summary"] for one in document("list", cwd=repo)["memories"]] == ["Two"]


def test_forgetting_names_the_same_memory_on_other_commits(repo: Path) -> None:
    first = capture(repo, "decisions", "Chose RS256", body="Why.")
    commit(repo, "a.txt")
    second = capture(repo, "decisions", "Chose RS256", body="Why.")
    done = notes("forget", second, "--yes", cwd=repo)
    assert f"still stands on other commits: {first}" in done.stderr
    assert document("forget", first, "--yes", cwd=repo)["copies"] == []


def test_files_of_the_commit_are_shown_as_they_were(repo: Path) -> None:
    commit(repo, "a.txt", "before\n")
    reference = capture(repo, "decisions", "About a")
    commit(repo, "a.txt", "after\n")
    shown = notes("show", reference, "--files", cwd=repo).stdout
    assert "a.txt" in shown
    assert "before" in shown
    assert "after" not in shown
    (then,) = document("show", reference, "--files", cwd=repo)["files"]
    assert [(one["path"], one["text"]) for one in then["files"]] == [("a.txt", "before\n")]


def test_control_characters_hazard_they_reach_no_terminal(repo: Path) -> None:
    reference = capture(repo, "decisions", "Colours", body="\x1b[31mred\x1b[0m")
    screen = on_terminal("notes", "show", reference, cwd=repo)
    assert "\x1b" not in screen.out
    assert "\\x1b[31mred" in screen.out


def test_where_no_memory_is_reading_creates_nothing(repo: Path) -> None:
    before = sorted(str(path) for path in (repo / ".git").rglob("*"))
    assert "no memories of commits here" in notes("list", cwd=repo).stderr
    notes("recall", "anything", cwd=repo, ok=3)
    notes("status", cwd=repo)
    notes("verify", cwd=repo)
    assert sorted(str(path) for path in (repo / ".git").rglob("*")) == before


def test_the_environment_of_a_hook_points_nowhere_else(repo: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "--quiet", "other")
    env = {"GIT_DIR": str(tmp_path / "other/.git"), "GIT_WORK_TREE": str(tmp_path / "other")}
    words = ("capture", "decisions", "--summary", "Here", "--body", "b")
    notes(*words, cwd=repo, env=env)
    assert len(document("list", cwd=repo)["memories"]) == 1
    assert os.listdir(tmp_path / "other") == [".git"]
