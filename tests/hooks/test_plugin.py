"""The plugin's files: whole, ours alone, and with command lines that are understood."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import typer

from cspace.cli.app import app
from cspace.errors import CspaceError
from cspace.hooks.__main__ import EVENTS
from cspace.hooks.plugin import is_written, plugin_files, remove_plugin, write_plugin
from cspace.notes.namespaces import Namespace

FILES = plugin_files("/opt/my python/bin/python3")
COMMANDS = {path.stem: text for path, text in FILES.items() if path.parent.name == "commands"}
# ADR-009: what each workflow captures.
CAPTURES = {
    "p": {"inception", "elicitation", "research", "decisions"},
    "i": {"progress", "blockers", "learnings"},
    "c": {"retrospective", "learnings", "patterns"},
    "review": {"reviews", "patterns"},
    "remember": {"learnings"},
}
# ADR-007: the commits that memories stand on.
ANCHORS = (
    "spec(user-auth): initialize specification",
    "spec(user-auth): complete requirements",
    "spec(user-auth): complete architecture",
    "feat(user-auth): implement",
    "spec(user-auth): complete, archived",
)
_FENCE = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r" <<'EOF'\n.*?^ *EOF$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`(cspace [^`]+)`")


def lines() -> Iterator[tuple[str, ...]]:
    """Yield every call of cspace that a file of the plugin shows."""
    for text in FILES.values():
        for block in _FENCE.findall(text):
            for line in _HEREDOC.sub("", block).splitlines():
                if line.strip().startswith("cspace "):
                    yield tuple(shlex.split(line))
        yield from (tuple(shlex.split(span)) for span in _SPAN.findall(_FENCE.sub("", text)))


def test_every_shown_command_is_understood() -> None:
    found = list(lines())
    assert len(found) > 30
    for words in found:
        command: Any = typer.main.get_command(app)
        left = list(words[1:])
        while left and left[0] in getattr(command, "commands", {}):
            command = command.commands[left.pop(0)]
        assert not hasattr(command, "commands") or not left, words
        if left:
            command.make_context("cspace", left)


def test_each_command_captures_where_it_should() -> None:
    captured: dict[str, set[str]] = {}
    for name, text in COMMANDS.items():
        found = set(re.findall(r"^ *cspace notes capture (\w+)", text, re.MULTILINE))
        captured |= {name: found} if found else {}
    assert captured == CAPTURES
    assert set().union(*CAPTURES.values()) == set(Namespace)


def test_a_captured_summary_fits_into_a_record() -> None:
    summaries = [
        found for text in COMMANDS.values() for found in re.findall(r'--summary "(.*?)"', text)
    ]
    assert len(summaries) > 10
    assert max(map(len, summaries)) <= 100


@pytest.mark.parametrize("anchor", ANCHORS)
def test_the_commits_that_memories_stand_on_are_named(anchor: str) -> None:
    assert any(anchor in text for text in COMMANDS.values())


def test_deviations_and_review_findings_say_what_they_are() -> None:
    assert "--tag deviation" in COMMANDS["i"]
    words = ("--severity", "--category", "--file", "--line", "cspace notes resolve")
    assert all(word in COMMANDS["review"] for word in words)
    assert all("notes_capture" in COMMANDS[name] for name in CAPTURES)


def test_there_are_the_seven_commands_each_with_a_description() -> None:
    assert set(COMMANDS) == {"p", "i", "c", "recall", "remember", "review", "log"}
    assert all(text.startswith("---\ndescription: ") for text in COMMANDS.values())


def test_the_hooks_run_by_the_python_that_installed_them() -> None:
    hooks = json.loads(FILES[PurePosixPath("hooks/hooks.json")])["hooks"]
    run = [shlex.split(hook["command"]) for [group] in hooks.values() for hook in group["hooks"]]
    assert {words[0] for words in run} == {"/opt/my python/bin/python3"}
    assert {words[-1] for words in run} == {"notes-start", "notes-prompt"} <= set(EVENTS)


def test_a_directory_holds_the_plugin_and_an_update_leaves_nothing_old(tmp_path: Path) -> None:
    place = tmp_path / "plugin"
    old = FILES | {PurePosixPath("commands/gone.md"): "old", PurePosixPath("README.md"): "old"}
    write_plugin(place, old, None)
    assert not is_written(place, FILES)
    write_plugin(place, FILES, None)
    assert is_written(place, FILES)
    assert not (place / "commands/gone.md").exists()
    assert remove_plugin(place)
    assert not remove_plugin(place)


def test_something_else_at_its_place_hazard_it_stays(tmp_path: Path) -> None:
    place = tmp_path / "plugin"
    place.mkdir()
    (place / "mine.txt").write_text("mine", encoding="utf-8")
    for change in (lambda: write_plugin(place, FILES, None), lambda: remove_plugin(place)):
        with pytest.raises(CspaceError, match="something else than the plugin"):
            change()
    assert [one.name for one in place.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("linked", ["", "commands"])
def test_a_link_in_its_place_hazard_nothing_behind_it_is_written(
    tmp_path: Path, linked: str
) -> None:
    place, outside = tmp_path / "plugin", tmp_path / "outside"
    outside.mkdir()
    if linked:
        write_plugin(place, {PurePosixPath(".claude-plugin/plugin.json"): '{"name": "cs"}'}, None)
    (place / linked).symlink_to(outside)
    with pytest.raises(CspaceError):
        write_plugin(place, FILES, None)
    assert list(outside.iterdir()) == []
