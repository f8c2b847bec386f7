"""`cspace plugin`, as processes, where there is no Claude Code; with it: tests/e2e."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from cspace import proc
from tests.cli.test_app import cspace


@pytest.mark.parametrize("word", ["install", "status", "uninstall"])
def test_without_the_program_nothing_is_changed_and_the_next_command_is_said(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    git = shutil.which("git")
    assert git
    monkeypatch.setenv("PATH", str(Path(git).parent))
    assert not shutil.which("claude")
    said = cspace("plugin", word, cwd=tmp_path)
    assert said.returncode == 2
    assert "no program `claude`" in said.stderr
    assert "then: cspace plugin install" in said.stderr
    assert list(home.iterdir()) == []


def test_an_instance_has_the_plugin_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    said = cspace("plugin", "install", "--yes", cwd=tmp_path)
    assert (said.returncode, "from its start" in said.stderr) == (2, True)


def test_the_log_of_prompts_is_off_goes_on_and_off_and_git_sees_nothing_of_it(repo: Path) -> None:
    words = ("status", "on", "on", "status", "off", "off")
    said = [cspace("plugin", "log", word, "--json", cwd=repo).stdout for word in words]
    states = [json.loads(one)["on"] for one in said]
    assert states == [False, True, True, True, False, False]
    log = repo / ".git/cspace/prompts.jsonl"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert proc.run("git", "status", "--porcelain", "--ignored", cwd=repo).text == ""


def test_what_was_kept_is_shown_with_control_characters_as_escapes(repo: Path) -> None:
    assert "cspace plugin log on" in cspace("plugin", "log", "show", cwd=repo).stderr
    cspace("plugin", "log", "on", cwd=repo)
    line = {"time": "2026-11-22T00:00:00Z", "session": "s", "prompt": "a\x1b[2Jb"}
    log = repo / ".git/cspace/prompts.jsonl"
    log.write_text(json.dumps(line) + "\n", encoding="utf-8")
    said = cspace("plugin", "log", "show", cwd=repo)
    assert said.stdout == "2026-11-22T00:00:00Z  a\\x1b[2Jb\n"
    shown = json.loads(cspace("plugin", "log", "show", "--json", cwd=repo).stdout)
    assert shown["prompts"][0]["text"] == "a\x1b[2Jb"


def test_a_captured_finding_says_where_one_like_it_was_seen(repo: Path) -> None:
    said = []
    for place, verb in (("orders", "goes into"), ("customers", "reaches")):
        words = ("--category", "security", "--severity", "high", "--file", f"src/{place}.py")
        summary = f"User input {verb} the SQL of the {place}"
        given = ("notes", "capture", "reviews", *words, "--summary", summary, "--body", "b")
        said.append(cspace(*given, cwd=repo))
    assert "seen" not in said[0].stdout
    assert "\nseen once since " in said[1].stdout
    assert said[1].stdout.endswith("(src/orders.py)\n")
