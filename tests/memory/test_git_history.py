"""Memories in git: every write is a commit, what a person edits besides is one too."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.events import State
from cspace.memory.changes import Operation
from cspace.memory.past import list_past
from cspace.memory.repository import IGNORE, find_repository, make_repository
from cspace.memory.scopes import Kind, Scope
from cspace.memory.undo import apply_undo, plan_undo
from cspace.owner import CONTAINER_DEFAULT
from tests.memory.machines import Machine, make_remote

USER = Scope(Kind.USER)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "memory").mkdir()
    return Machine(tmp_path / "memory", "anna").init()


def test_each_write_is_one_commit_that_says_what_who_and_which_proposal(machine: Machine) -> None:
    machine.write("user/testing", "Use a real database.", proposal="3f2a")
    machine.append("user/testing", "Always.")
    machine.store.move((USER, "testing"), (USER, "databases"), machine.revision("user/testing"))
    machine.remove("user/databases")
    assert machine.log() == [
        "Remove user/databases",
        "Move user/testing to user/databases",
        "Append to user/testing",
        "Rewrite user/testing",
    ]
    message = machine.git("log", "-1", "--format=%B%an", "HEAD~3")
    assert "Operation: overwrite\nBy: anna\nProposal: 3f2a\n" in message
    assert message.endswith("Test Person")
    assert machine.git("status", "--porcelain") == ""


def test_a_store_without_a_repository_writes_as_before(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "memory", "anna")
    machine.write("user/testing", "text")
    assert machine.text("user/testing").endswith("text\n")
    assert not (machine.root / ".git").exists()


def test_what_was_there_before_is_the_first_commit_and_nothing_of_ours_is_in_it(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path / "memory", "anna")
    machine.write("projects/web/testing", "text")
    (machine.root / "user").mkdir()
    (machine.root / "user/Odd Name.md").write_text("odd", encoding="utf-8")
    (machine.root / "orchestrator").symlink_to(tmp_path)
    (machine.root / ".proposals").mkdir()
    (machine.root / ".proposals/1.yaml").write_text("a: 1", encoding="utf-8")
    machine.init()
    listed = machine.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert listed == ["MEMORY.md", "projects/web/MEMORY.md", "projects/web/testing.md"]
    assert machine.git("status", "--porcelain") == "?? user/"
    assert (machine.root / IGNORE).is_file()


def test_what_a_person_edited_is_committed_before_and_by_itself(machine: Machine) -> None:
    machine.write("user/testing", "one")
    edited = machine.text("user/testing") + "by hand\n"
    machine.path("user/testing").write_text(edited, encoding="utf-8")
    machine.append("user/testing", "two")
    assert machine.log()[:2] == [
        "Append to user/testing",
        "Take over what was edited outside of cspace",
    ]
    assert machine.git("show", "HEAD~1:user/testing.md") == edited.rstrip("\n")


def test_a_commit_that_fails_hazard_the_write_stays_and_the_next_one_takes_it_along(
    machine: Machine,
) -> None:
    machine.write("user/one", "one")
    machine.git("checkout", "--quiet", "--detach")
    machine.write("user/two", "two")
    assert machine.path("user/two").is_file()
    [event] = machine.events
    assert (event.state, "the next one takes it along" in event.detail) == (State.NOTICE, True)
    machine.git("checkout", "--quiet", "main")
    machine.write("user/three", "three")
    assert machine.git("ls-tree", "--name-only", "HEAD", "user/").count("user/") == 4
    assert machine.git("status", "--porcelain") == ""


def test_hooks_filters_and_signing_of_the_user_hazard_none_runs(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = tmp_path / "canary"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-commit", "reference-transaction", "commit-msg"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {canary}\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    (tmp_path / "attributes").write_text("*.md filter=evil\n", encoding="utf-8")
    config = tmp_path / "config"
    config.write_text(
        f"[core]\nhooksPath={hooks}\nattributesFile={tmp_path}/attributes\n"
        f"fsmonitor=touch {canary}\n"
        f'[filter "evil"]\nclean=touch {canary}; cat\n[commit]\ngpgSign=true\n'
        f"[gpg]\nprogram={hooks}/pre-commit\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    machine.write("user/testing", "text")
    assert not canary.exists()
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert machine.git("log", "-1", "--format=%an <%ae> %G?") == "cspace <cspace@localhost> N"
    proc.run("git", "-C", machine.root, "hash-object", "-w", "user/testing.md", env={
        "PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1",
    })  # fmt: skip
    assert canary.exists(), "the filter of this test does run where git is asked to"


def test_the_root_in_another_repository_is_one_of_its_own(tmp_path: Path) -> None:
    proc.run("git", "init", "--quiet", tmp_path)
    machine = Machine(tmp_path / "dot/memory", "anna").init()
    machine.write("user/testing", "text")
    assert machine.log() == ["Rewrite user/testing"]
    assert proc.run("git", "-C", tmp_path, "rev-list", "--all").text == ""


def test_a_persons_own_repository_is_taken_over_only_when_it_holds_memories(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "memory", "anna")
    machine.write("user/testing", "text")
    machine.git("init", "--quiet")
    machine.git("add", "user", "MEMORY.md")
    machine.git("commit", "--quiet", "-m", "mine")
    assert find_repository(machine.root) is None
    machine.init().write("user/testing", "more")
    assert machine.log() == ["Rewrite user/testing", "mine"]
    other = Machine(tmp_path / "other", "anna")
    other.write("user/testing", "text")
    other.git("init", "--quiet")
    (other.root / "README.txt").write_text("no memory", encoding="utf-8")
    other.git("add", "README.txt")
    other.git("commit", "--quiet", "-m", "mine")
    with pytest.raises(CspaceError, match=r"README\.txt"):
        other.init()
    assert find_repository(other.root) is None


@pytest.mark.parametrize("made", ["file", "link"])
def test_something_else_in_the_repositorys_place_hazard_it_is_refused(
    tmp_path: Path, made: str
) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    if made == "file":
        (root / ".git").write_text("gitdir: /tmp/elsewhere", encoding="utf-8")
    else:
        (root / ".git").symlink_to(tmp_path)
    with pytest.raises(CspaceError, match="is in the way"):
        make_repository(root, None)


def test_the_history_names_changes_newest_first_and_finds_those_of_one_entry(
    machine: Machine,
) -> None:
    machine.write("user/testing", "one", Operation.CREATE, proposal="77")
    machine.write("projects/web/style", "two")
    machine.append("user/testing", "three")
    repository = find_repository(machine.root)
    told = [
        (one.operation, one.entry, one.by) for one in list_past(machine.plain, repository, (), 9)
    ]
    assert told == [
        ("append", "user/testing", "anna"),
        ("overwrite", "projects/web/style", "anna"),
        ("create", "user/testing", "anna"),
    ]
    found = list_past(machine.plain, repository, ("user/testing",), 9)
    assert [one.proposal for one in found] == ["", "77"]
    assert len(list_past(machine.plain, repository, ("projects/web",), 9)) == 1
    assert len(list_past(machine.plain, repository, (), 1)) == 1


def test_without_git_the_history_is_that_of_the_log(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "memory", "anna")
    assert list_past(machine.plain, None, (), 9) == ()
    machine.write("user/testing", "one", Operation.CREATE)
    machine.remove("user/testing")
    with (machine.root / ".log.jsonl").open("a", encoding="utf-8") as log:
        log.write("no json\n")
    past = list_past(machine.plain, None, ("user/testing",), 9)
    assert [(one.operation, bool(one.id)) for one in past] == [("remove", False), ("create", True)]


def test_an_undone_write_is_a_new_commit_and_everything_is_as_before(machine: Machine) -> None:
    machine.write("user/testing", "one")
    before = machine.files()
    machine.append("user/testing", "two")
    undo = plan_undo(machine.keeper, None)
    assert undo.subject == "Append to user/testing"
    apply_undo(machine.keeper, undo)
    assert machine.files() == before
    assert machine.log()[0] == "Undo: Append to user/testing"
    apply_undo(machine.keeper, plan_undo(machine.keeper, "HEAD"))
    assert "two" in machine.text("user/testing")


def test_a_removal_and_a_move_come_back(machine: Machine) -> None:
    machine.write("user/first", "zero")
    machine.write("user/testing", "one")
    before = machine.files()
    machine.store.move((USER, "testing"), (USER, "other"), machine.revision("user/testing"))
    apply_undo(machine.keeper, plan_undo(machine.keeper, None))
    assert machine.files() == before
    machine.remove("user/testing")
    apply_undo(machine.keeper, plan_undo(machine.keeper, None))
    assert machine.files() == before


def test_what_was_changed_since_is_not_undone(machine: Machine) -> None:
    machine.write("user/first", "zero")
    machine.write("user/testing", "one")
    commit = machine.git("rev-parse", "HEAD")
    machine.append("user/testing", "two")
    before = machine.files()
    with pytest.raises(Conflict, match="user/testing"):
        plan_undo(machine.keeper, commit)
    undo = plan_undo(machine.keeper, None)
    machine.path("user/testing").write_text("by hand, after the diff", encoding="utf-8")
    with pytest.raises(Conflict, match="meanwhile"):
        apply_undo(machine.keeper, undo)
    assert machine.files() == before | {"user/testing.md": b"by hand, after the diff"}


@pytest.mark.parametrize("revision", ["nope", "--all", "HEAD~99", "HEAD:user"])
def test_a_commit_that_is_none_is_not_undone(machine: Machine, revision: str) -> None:
    machine.write("user/testing", "one")
    with pytest.raises(NotFound):
        plan_undo(machine.keeper, revision)
    with pytest.raises(UsageError, match="first commit"):
        plan_undo(machine.keeper, "HEAD")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_makes_is_the_owners_and_root_is_told_what_git_takes(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "memory", "root", CONTAINER_DEFAULT).init()
    machine.write("user/testing", "one")
    machine.write("user/testing", "two")
    undo = plan_undo(machine.keeper, None)
    apply_undo(machine.keeper, undo)
    with pytest.raises(UsageError) as raised:
        machine.sync()
    words = shlex.split(str(raised.value.hint))
    assert proc.run(*words[:-1], make_remote(tmp_path / "remote.git")).code == 0
    machine.sync()
    made = (machine.root, *machine.root.rglob("*"))
    others = [path for path in made if path.lstat().st_uid != CONTAINER_DEFAULT.uid]
    assert [str(path.relative_to(machine.root)) for path in others] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_that_is_roots_own_stays_roots(tmp_path: Path) -> None:
    proc.run("git", "init", "--quiet", tmp_path / "memory")
    machine = Machine(tmp_path / "memory", "root", CONTAINER_DEFAULT).init()
    machine.write("user/testing", "one")
    assert {path.stat().st_uid for path in (machine.root / ".git/objects").rglob("*")} == {0}


def test_many_loose_objects_are_packed(machine: Machine) -> None:
    for number in range(3):
        machine.write("user/testing", f"text {number}")
    loose = machine.root / ".git/objects/17"
    loose.mkdir(exist_ok=True)
    for number in range(30):
        (loose / f"{number:038x}").touch()
    machine.write("user/testing", "more")
    assert list((machine.root / ".git/objects/pack").glob("*.pack"))
    assert machine.git("status", "--porcelain") == ""


def test_a_persons_text_in_an_index_is_undone_and_the_lines_are_made_anew(machine: Machine) -> None:
    machine.write("user/testing", "one")
    index = machine.path("user/MEMORY")
    index.write_text("My own words.\n\n" + index.read_text(encoding="utf-8"), encoding="utf-8")
    machine.write("user/other", "two")
    apply_undo(machine.keeper, plan_undo(machine.keeper, "HEAD~1"))
    assert "My own words." not in machine.text("user/MEMORY")
    assert "(other.md)" in machine.text("user/MEMORY")
