"""Where a host's own memory lies, why, and whether it is on; tests/docker asks Claude Code too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cspace import proc
from cspace.claude_memory.host_place import UNSEEN, find_git_root, find_host_place
from cspace.claude_memory.host_settings import parse_directory
from cspace.claude_memory.place import Place
from cspace.claude_memory.slugs import slug_of_path
from cspace.errors import UsageError

OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
NOBODY = Path("/nonexistent/policy")


def write(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_text(text, encoding="utf-8")


def find(repo: Path, home: Path, **environ: str) -> Place:
    return find_host_place(repo, home, environ, NOBODY)


def test_by_default_it_lies_below_the_slug_of_the_git_root(repo: Path, home: Path) -> None:
    (repo / "sub").mkdir()
    place = find(repo / "sub", home)
    assert place.directory == home / ".claude/projects" / slug_of_path(repo) / "memory"
    assert place.reason == f"Claude Code's own place for {repo}"
    assert place.notes == (UNSEEN,)
    assert list(home.iterdir()) == []


def test_each_tier_goes_before_the_next_and_says_so(repo: Path, home: Path) -> None:
    write(home / ".claude/settings.json", {"autoMemoryDirectory": "~/mine"})
    place = find(repo, home)
    assert place.directory == home / "mine"
    assert place.reason == f"autoMemoryDirectory in {home}/.claude/settings.json names it"
    over = find(repo, home, **{OVERRIDE: "/tmp/over"})
    assert (over.directory, over.reason) == (Path("/tmp/over"), f"{OVERRIDE} names it")


def test_another_directory_of_settings_counts_instead(repo: Path, home: Path) -> None:
    write(home / ".claude/settings.json", {"autoMemoryDirectory": "/tmp/not-this"})
    place = find(repo, home, CLAUDE_CONFIG_DIR=str(home / "other"))
    assert place.directory.is_relative_to(home / "other/projects")
    with pytest.raises(UsageError, match="CLAUDE_CONFIG_DIR is ''"):
        find(repo, home, CLAUDE_CONFIG_DIR="")


def test_a_policy_goes_before_the_user_and_its_parts_in_order(
    repo: Path, home: Path, tmp_path: Path
) -> None:
    write(home / ".claude/settings.json", {"autoMemoryDirectory": "/tmp/user"})
    write(tmp_path / "managed-settings.json", {"autoMemoryDirectory": "/tmp/first"})
    assert find_host_place(repo, home, {}, tmp_path).directory == Path("/tmp/first")
    write(tmp_path / "managed-settings.d/10.json", {"autoMemoryDirectory": "/tmp/second"})
    assert find_host_place(repo, home, {}, tmp_path).directory == Path("/tmp/second")


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_projects_settings_hazard_they_never_redirect(repo: Path, home: Path, name: str) -> None:
    document = {
        "autoMemoryDirectory": "/tmp/evil",
        "env": {OVERRIDE: "/tmp/evil", "CLAUDE_CONFIG_DIR": "/tmp/evil"},
    }
    write(repo / ".claude" / name, document)
    place = find(repo, home)
    assert place.directory.is_relative_to(home)
    assert "cspace does not follow what comes with a repository" in place.notes[0]
    # The same file is valid where a user has it.
    write(home / ".claude/settings.json", document)
    assert find(repo, home).directory == Path("/tmp/evil")


def test_a_projects_settings_hazard_no_link_and_no_fifo_is_followed(
    repo: Path, home: Path, tmp_path: Path
) -> None:
    write(tmp_path / "elsewhere/settings.json", {"autoMemoryEnabled": False})
    (repo / ".claude").symlink_to(tmp_path / "elsewhere")
    assert find(repo, home).off == ""
    (repo / ".claude").unlink()
    (repo / ".claude").mkdir()
    os.mkfifo(repo / ".claude/settings.json")
    assert find(repo, home).off == ""


@pytest.mark.parametrize(
    ("user", "local", "environ", "off"),
    [
        ({"autoMemoryEnabled": False}, None, {}, "autoMemoryEnabled is false"),
        ({"autoMemoryEnabled": False}, {"autoMemoryEnabled": True}, {}, ""),
        ({}, {"autoMemoryEnabled": False}, {}, "autoMemoryEnabled is false"),
        ({"autoMemoryEnabled": False}, None, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, ""),
        ({}, None, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, "AUTO_MEMORY is '1'"),
        ({}, None, {"CLAUDE_CODE_SIMPLE": "1"}, "CLAUDE_CODE_SIMPLE is '1'"),
        ({"env": {"CLAUDE_CODE_SIMPLE": True}}, None, {}, "CLAUDE_CODE_SIMPLE is 'true'"),
        ({}, {"env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}}, {}, "settings.local.json sets"),
        ({}, {"env": {"CLAUDE_CODE_SIMPLE": "1"}}, {}, ""),
    ],
)
def test_what_switches_it_off_is_named(
    repo: Path, home: Path, user: object, local: object, environ: dict[str, str], off: str
) -> None:
    write(home / ".claude/settings.json", user)
    if local is not None:
        write(repo / ".claude/settings.local.json", local)
    found = find(repo, home, **environ).off
    assert off in found
    assert bool(found) == bool(off)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is no JSON object"),
        ('{"autoMemoryDirectory": 3, "autoMemoryEnabled": false}', "ignores the whole file"),
        ('{"autoMemoryEnabled": "false"}', "autoMemoryEnabled is no boolean"),
        ('{"autoMemoryDirectory": "mine"}', "neither absolute nor below ~/"),
    ],
)
def test_what_claude_code_ignores_is_ignored_and_said(
    repo: Path, home: Path, text: str, problem: str
) -> None:
    write(home / ".claude/settings.json", text)
    place = find(repo, home)
    assert place.reason.startswith("Claude Code's own place")
    assert place.off == ""
    assert problem in place.notes[0]


def test_texts_that_are_no_path_hazard_they_are_read_as_javascript_writes_them(
    repo: Path, home: Path
) -> None:
    write(home / ".claude/settings.json", '{"autoMemoryDirectory": "/tmp/\\ud800x"}')
    assert find(repo, home).directory == Path("/tmp/\ufffdx")
    write(home / ".claude/settings.json", '{"env": {"CLAUDE_CONFIG_DIR": "/tmp/\\udcff"}}')
    assert find(repo, home).directory.is_relative_to("/tmp/\ufffd/projects")
    write(home / ".claude/settings.json", '{"env": {"CLAUDE_CONFIG_DIR": "/tmp/\\u0000"}}')
    with pytest.raises(UsageError, match=r"CLAUDE_CONFIG_DIR is '/tmp/\\x00'"):
        find(repo, home)


def test_settings_that_are_a_fifo_hazard_they_are_named(repo: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    os.mkfifo(home / ".claude/settings.json")
    assert find(repo, home).notes[0] == f"{home}/.claude/settings.json is not a regular file"


@pytest.mark.parametrize(
    ("value", "directory"),
    [
        ("/a/b/", "/a/b"),
        ("/a/../ab", "/ab"),
        ("//a//b", "/a/b"),
        ("~/m", "/home/ann/m"),
        ("~//m", "/home/ann/m"),
        ("~/e\u0301", "/home/ann/\xe9"),
        *((bad, None) for bad in ("", "m", "./m", "~", "~/", "~/..", "~/../x", "~r/m", "/", "/a")),
        ("/a\0b", None),
    ],
)  # fmt: skip
def test_directories_are_read_as_claude_code_reads_them(value: str, directory: str | None) -> None:
    assert parse_directory(value, Path("/home/ann")) == (Path(directory) if directory else None)


def test_linked_worktrees_share_the_main_repositorys_memory(repo: Path, tmp_path: Path) -> None:
    proc.run("git", "-C", repo, "worktree", "add", "--quiet", tmp_path / "linked")
    (tmp_path / "linked/sub").mkdir()
    assert find_git_root(tmp_path / "linked/sub") == repo
    assert find_git_root(tmp_path) == tmp_path
    # Anybody can write a file that names a repository.
    (tmp_path / "planted").mkdir()
    planted = (tmp_path / "linked/.git").read_text(encoding="utf-8")
    (tmp_path / "planted/.git").write_text(planted, encoding="utf-8")
    assert find_git_root(tmp_path / "planted") == tmp_path / "planted"
