"""What a session is told of curated memory: numbers of entries, and no word of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CspaceError
from cspace.hooks.__main__ import answer
from cspace.hooks.memory_block import MOST_BYTES, render_block
from cspace.memory.here import Here
from cspace.memory.personas import Personas
from cspace.memory.projects import Projects
from cspace.memory.scopes import MAX_NAME
from cspace.sessions.budget import estimate_tokens
from tests.hooks.test_hooks import HEAVY, VENDOR_CAP, context, event, projects, run

__all__ = ["projects"]


def fill(root: Path, scope: str, count: int) -> Path:
    directory = root / scope
    directory.mkdir(parents=True)
    for number in range(count):
        (directory / f"entry-{number}.md").write_text("secret body", encoding="utf-8")
    return directory


@pytest.fixture
def root(home: Path) -> Path:
    return home / ".cspace/memory"


def inside(root: Path, **environ: str) -> Here:
    named = {"CSPACE_INSTANCE": "mercury", **environ}
    return Here(root, root.parent, named, Projects(root), Personas(root))


def outside(root: Path, directory: Path) -> Here:
    return Here(directory, root.parent, {}, Projects(root), Personas(root))


def unheard(error: CspaceError) -> None:
    raise error


def test_an_instance_hears_of_the_scopes_that_concern_it_and_of_no_other(root: Path) -> None:
    for scope, count in (("projects/web", 2), ("projects/api", 9), ("user", 3), ("personas/a", 1)):
        fill(root, scope, count)
    named = {"CSPACE_MEMORY_PROJECT": "web", "CSPACE_PERSONA": "a"}
    said = render_block(inside(root, **named), unheard)
    assert "for this session: projects/web 2, personas/a 1, user 3." in said
    assert "secret" not in said
    assert "entry-0" not in said


def test_only_regular_entries_count(root: Path, tmp_path: Path) -> None:
    directory = fill(root, "user", 2)
    for name in ("MEMORY.md", ".lock", ".hidden.md", "note.txt"):
        (directory / name).write_text("", encoding="utf-8")
    (directory / "linked.md").symlink_to(tmp_path)
    (directory / "directory.md").mkdir()
    assert "user 2." in render_block(inside(root), unheard)


def test_where_nothing_is_remembered_nothing_is_said(root: Path, tmp_path: Path) -> None:
    assert render_block(outside(root, tmp_path), unheard) == ""
    fill(root, "user", 0)
    fill(root, ".proposals", 1)
    assert render_block(outside(root, tmp_path), unheard) == ""
    assert answer("memory", b"{}", tmp_path) == ""


def test_a_linked_scope_hazard_nothing_behind_it_is_counted(root: Path, tmp_path: Path) -> None:
    fill(tmp_path, "elsewhere", 5)
    fill(root, "global", 1)
    (root / "user").symlink_to(tmp_path / "elsewhere")
    assert "session: global 1." in render_block(inside(root), unheard)


def test_proposals_that_wait_are_told_on_the_host_only(root: Path, tmp_path: Path) -> None:
    fill(root, "user", 1)
    (root / ".proposals").mkdir()
    for number in range(3):
        (root / f".proposals/{number}.yaml").write_text("", encoding="utf-8")
    assert render_block(outside(root, tmp_path), unheard).endswith("wait for the operator: 3.")
    assert "Proposals" not in render_block(inside(root), unheard)


def test_the_longest_names_and_numbers_take_less_than_120_tokens(root: Path) -> None:
    longest = "n" * MAX_NAME
    for scope in (f"projects/{longest}", f"personas/{longest}", "user", "global"):
        fill(root, scope, 1)
    named = {"CSPACE_MEMORY_PROJECT": longest, "CSPACE_PERSONA": longest}
    said = render_block(inside(root, **named), unheard).replace(" 1", " 100000")
    said += " Proposals that wait for the operator: 100000."
    assert len(said) <= MOST_BYTES
    assert estimate_tokens(said) <= 120


def test_on_the_host_the_hook_names_the_project_by_its_repository(root: Path, repo: Path) -> None:
    fill(root, "projects/renamed", 4)
    Projects(root).use(repo / ".git", "sample-01234567", "renamed")
    (repo / "below").mkdir()
    assert "session: projects/renamed 4." in render_block(outside(root, repo / "below"), unheard)


def test_the_hosts_hook_answers_as_claude_code_reads_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(root, "user", 7)
    monkeypatch.chdir(tmp_path)
    done = run("memory", stdin=b"no event at all")
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert "user 7." in output["additionalContext"]
    assert (done.code, done.stderr) == (0, b"")


def test_in_an_instance_notes_and_memory_are_one_answer_below_the_vendors_cap(
    root: Path, projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(root, "user", 7)
    monkeypatch.chdir(tmp_path)
    path = projects / "-workspace" / f"{json.loads(event(projects))['session_id']}.md"
    path.write_text("# Current State\n" + "word " * 9_000, encoding="utf-8")
    said = context(projects, "resume")
    assert said.startswith("Notes of this session from before")
    assert "user 7." in said.splitlines()[-1]
    assert len(said) < VENDOR_CAP


def test_memory_that_can_not_be_counted_hazard_the_notes_are_told_anyway(
    root: Path, projects: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(root, "user", 1)
    (root / ".persona").write_text("../x", encoding="utf-8")
    monkeypatch.chdir(root)
    assert "cspace sessions update" in context(projects, "startup")
    assert capfd.readouterr().err.startswith("cspace hook: ")


def test_a_directory_of_an_agents_hazard_no_git_runs_there_and_the_rest_is_told(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(root, "user", 1)
    fill(root, "projects/mercury", 1)
    workspace = home / ".cspace/instances/p-01234567/mercury/workspace"
    workspace.mkdir(parents=True)
    os.mkfifo(workspace / ".git")
    monkeypatch.chdir(workspace)
    done = run("memory", stdin=b"{}")
    assert done.code == 0
    assert b"for this session: user 1." in done.stdout
    assert b"runs no git there" in done.stderr


def test_the_block_loads_nothing_heavy_in_an_instance() -> None:
    code = "import cspace.hooks.memory_block, sys; print(*sys.modules)"
    loaded = set(proc.run(sys.executable, "-c", code).text.split())
    assert loaded & HEAVY == set()


def test_on_the_host_the_block_loads_git_and_nothing_else_that_is_heavy(
    root: Path, repo: Path
) -> None:
    fill(root, "user", 1)
    code = (
        "import sys; from pathlib import Path; from cspace.hooks.__main__ import answer;"
        f"print(answer('memory', b'', Path({str(repo)!r}))); print(*sys.modules)"
    )
    loaded = set(proc.run(sys.executable, "-c", code, cwd=repo).text.split())
    assert {"cspace.git", '"Curated'} <= loaded
    unneeded = {"concurrent.futures", "logging", "tempfile", "cspace.sessions", "datetime"}
    assert loaded & (HEAVY - {"subprocess"} | unneeded) == set()


def test_a_project_that_has_its_name_costs_one_git_command(
    root: Path, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked, program = tmp_path / "linked", tmp_path / "bin/git"
    proc.run("git", "-C", repo, "worktree", "add", "--quiet", linked)
    name = outside(root, linked).project(claim=True)
    program.parent.mkdir()
    real = shutil.which("git")
    program.write_text(f'#!/bin/sh\necho x >>{tmp_path}/asked\nexec {real} "$@"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert outside(root, linked).project() == name
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "x\n"
