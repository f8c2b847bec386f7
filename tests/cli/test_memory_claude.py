"""Claude Code's own memory as a person reads it: `--scope claude`, `--host`, and `recall`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cspace import proc
from cspace.claude_memory.place import project_place
from cspace.claude_memory.slugs import slug_of_path
from tests.claude_memory.conftest import INDEX, RELEASE, ROLE, put
from tests.cli.memories import cspace

CLAUDE = ("--scope", "claude")
READS = (
    ("list", *CLAUDE),
    ("show", "MEMORY", *CLAUDE),
    ("search", "pilot", *CLAUDE),
    ("recall", "pilot", "--bodies"),
    ("doctor", *CLAUDE),
)


@pytest.fixture
def filled(repo: Path) -> Path:
    """Return a project with an index and two memories."""
    place = project_place(repo)
    for name, text in (("MEMORY.md", INDEX), ("role.md", ROLE)):
        put(place, name, text)
    put(place, "deep/release process.md", RELEASE)
    return repo


def document(*words: str, cwd: Path, code: int = 0) -> Any:
    scope = () if {"recall", "--host"}.intersection(words) else CLAUDE
    answer = cspace("memory", *words, *scope, "--json", cwd=cwd)
    assert answer.returncode == code, answer.stderr
    found = json.loads(answer.stdout)
    assert found["schema_version"] == 1
    return found


def tree(root: Path) -> list[tuple[str, int]]:
    return [(str(path), path.lstat().st_mtime_ns) for path in sorted(root.rglob("*"))]


def test_a_list_shows_type_age_file_and_description(filled: Path) -> None:
    answer = cspace("memory", "list", *CLAUDE, cwd=filled)
    head, release, role = answer.stdout.splitlines()
    assert head.split() == ["TYPE", "AGE", "FILE", "DESCRIPTION"]
    assert release.startswith("project  0 days old")
    assert role.endswith("role.md                  Who the user is: a pilot")
    assert f"{filled}/.cspace/memory: the project's" in answer.stderr


def test_a_list_as_json_holds_what_the_front_matter_holds(filled: Path) -> None:
    found = document("list", cwd=filled)
    assert found["place"]["directory"] == f"{filled}/.cspace/memory"
    assert found["memories"][1]["header"]["metadata"]["originSessionId"] == "ae7e3662"
    assert found["index"]["lines"] == 2


def test_a_linked_worktree_shows_the_main_worktrees_memory(filled: Path, tmp_path: Path) -> None:
    proc.run("git", "-C", filled, "worktree", "add", "--quiet", tmp_path / "linked")
    assert len(document("list", cwd=tmp_path / "linked")["memories"]) == 2


def test_a_file_goes_to_a_pipe_as_it_is(filled: Path) -> None:
    content = ROLE.encode() + b"\x1b[2J\xff\r\n"
    put(project_place(filled), "role.md", content)
    words = ("-m", "cspace.cli.app", "memory", "show", "role", *CLAUDE)
    assert proc.run(sys.executable, *words, cwd=filled).stdout == content
    shown = document("show", "role", cwd=filled)
    assert (shown["path"], shown["memory"]["type"]) == ("role.md", "user")
    assert shown["text"].endswith("\x1b[2J\\xff\r\n")


def test_a_search_names_file_and_line_and_finding_nothing_is_exit_3(filled: Path) -> None:
    answer = cspace("memory", "search", "night", *CLAUDE, cwd=filled)
    assert answer.stdout == "role.md:11  role\n    The user flies at night.\n"
    nothing = cspace("memory", "search", "pelican", *CLAUDE, cwd=filled)
    assert nothing.returncode == 3
    assert "hint: cspace memory list --scope claude" in nothing.stderr
    assert document("search", "pelican", cwd=filled, code=3)["hits"] == []


def test_a_recall_shows_summaries_first_and_bodies_on_request(filled: Path) -> None:
    words = ("memory", "recall", "pilot", "releases")
    summary = cspace(*words, cwd=filled).stdout
    assert "role  (user; this memory is " in summary
    assert f"    {filled}/.cspace/memory/role.md\n" in summary
    assert "flies" not in summary
    whole = cspace(*words, "--bodies", cwd=filled).stdout
    assert whole.startswith(summary)
    assert whole.count("flies at night") == 1
    found = document("recall", "pilot", "--bodies", cwd=filled)
    assert found["bodies"] == [ROLE]
    assert found["memories"][0]["age"].endswith(" days old")
    assert "bodies" not in document("recall", "pilot", cwd=filled)
    assert cspace("memory", "recall", "pelican", cwd=filled).returncode == 3


def test_doctor_ends_with_8_where_something_is_found(filled: Path) -> None:
    assert document("doctor", cwd=filled)["diagnoses"] == []
    (filled / ".cspace/memory/role.md").unlink()
    (found,) = document("doctor", cwd=filled, code=8)["diagnoses"]
    assert found["problem"] == "'MEMORY.md' links to 'role.md', which does not exist"
    assert cspace("memory", "doctor", *CLAUDE, cwd=filled).stderr.endswith("doctor found 1 thing\n")


def test_the_hosts_own_memory_is_read_and_its_place_explained(filled: Path, home: Path) -> None:
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    text = {"autoMemoryDirectory": "~/mine", "autoMemoryEnabled": False}
    settings.write_text(json.dumps(text), encoding="utf-8")
    (home / "mine").mkdir()
    (home / "mine/own.md").write_text(ROLE, encoding="utf-8")
    answer = cspace("memory", "list", "--host", cwd=filled)
    assert "own.md" in answer.stdout
    assert f"autoMemoryDirectory in {settings} names it" in answer.stderr
    assert "does not use it at present: autoMemoryEnabled is false" in answer.stderr
    place = document("doctor", "--host", cwd=filled, code=8)["place"]
    assert place["off"] == f"autoMemoryEnabled is false in {settings}"
    assert "the vendor has switched memory off from afar" in place["notes"][-1]


def test_where_nothing_is_remembered_yet_it_says_what_would_write_there(repo: Path) -> None:
    assert "writes them: cspace up mercury\n" in cspace("memory", "list", *CLAUDE, cwd=repo).stderr
    assert "writes them: claude\n" in cspace("memory", "list", "--host", cwd=repo).stderr


def test_what_can_not_be_seen_from_outside_is_said_by_doctor(repo: Path, home: Path) -> None:
    answer = cspace("memory", "doctor", "--host", cwd=repo)
    where = f"{home}/.claude/projects/"
    assert answer.stderr.startswith(f"{where}{slug_of_path(repo)}/memory: Claude Code's own place")
    assert "note: whether the vendor has switched memory off from afar can not" in answer.stderr


@pytest.mark.parametrize("more", [(), ("--host",), ("--json",)])
def test_a_read_of_a_fresh_repository_creates_nothing(
    repo: Path, home: Path, more: tuple[str, ...]
) -> None:
    before = (tree(repo), tree(home))
    codes = [cspace("memory", *words, *more, cwd=repo).returncode for words in READS]
    assert codes == [0, 3, 3, 3, 0]
    assert (tree(repo), tree(home)) == before


def test_a_read_changes_nothing_where_there_is_something(filled: Path, home: Path) -> None:
    before = (tree(filled), tree(home))
    for words in READS:
        assert cspace("memory", *words, cwd=filled).returncode == 0
    assert (tree(filled), tree(home)) == before


def test_names_and_texts_hazard_they_move_no_cursor(filled: Path) -> None:
    place = project_place(filled)
    put(place, "bidi\u202etxt.md", ROLE.replace("a pilot", "a \\e[31m\u202epilot"))
    put(place, os.fsdecode(b"\xff\x1b[2J.md"), ROLE)
    for words in READS:
        answer = cspace("memory", *words, cwd=filled)
        said = answer.stdout + answer.stderr
        if "--bodies" not in words:
            assert all(char.isprintable() or char == "\n" for char in said), words


def test_inside_an_instance_the_hosts_memory_is_refused(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    answer = cspace("memory", "list", "--host", cwd=filled)
    assert answer.returncode == 2
    assert "hint: on the host: cspace memory list --host" in answer.stderr


@pytest.fixture
def hosts(filled: Path, home: Path) -> Path:
    """Return the memory that Claude Code keeps of the project outside of instances."""
    memory = home / ".claude/projects" / slug_of_path(filled) / "memory"
    memory.mkdir(parents=True)
    return memory


def test_hints_about_the_hosts_memory_lead_to_the_hosts_memory(filled: Path, hosts: Path) -> None:
    (hosts / "role.md").write_text("---\ntype: project\nmodified: 2020-01-01\n---\n")
    (hosts / "linked.md").symlink_to("role.md")
    for words in (("search", "pelican"), ("recall", "pelican"), ("show", "pelican")):
        answer = cspace("memory", *words, "--host", cwd=filled)
        assert answer.stderr.endswith("hint: cspace memory list --host\n"), words
    listed = cspace("memory", "list", "--host", cwd=filled)
    assert "skipped; see: cspace memory doctor --host\n" in listed.stderr
    found = cspace("memory", "doctor", "--host", cwd=filled)
    assert "still true: cspace memory show role.md --host\n" in found.stdout


def test_an_empty_memory_of_the_hosts_is_not_filled_by_an_instance(
    filled: Path, hosts: Path
) -> None:
    shown = cspace("memory", "show", "role", "--host", cwd=filled)
    assert f"{hosts} holds no memory yet\nhint: Claude Code writes it: claude\n" in shown.stderr
    listed = cspace("memory", "list", "--host", cwd=filled)
    assert listed.stderr.endswith("no memories yet; Claude Code writes them: claude\n")


def test_names_are_completed(filled: Path) -> None:
    words = "cspace memory show --scope claude "
    asked = {"_CSPACE_COMPLETE": "complete_bash", "COMP_CWORD": "5"}
    for begun, found in (("r", ["role.md"]), ("", ["MEMORY.md", "role.md", "deep/release"])):
        shell = os.environ | asked | {"COMP_WORDS": words + begun}
        answer = proc.run(Path(sys.executable).with_name("cspace"), cwd=filled, env=shell)
        assert answer.text.split()[: len(found)] == found


def test_another_scope_beside_claudes_is_refused(filled: Path) -> None:
    for words in (("--scope", "user", "--host"), (*CLAUDE, "--all"), (*CLAUDE, "--project", "web")):
        answer = cspace("memory", "list", *words, cwd=filled)
        assert answer.returncode == 2, words
        assert "means Claude's own memory alone" in answer.stderr
