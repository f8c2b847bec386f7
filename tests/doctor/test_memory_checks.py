"""What is wrong in curated memory is named, each with what to do, and nothing else is."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from cspace.doctor import memory_checks
from cspace.doctor.memory_checks import examine_memories, examine_scope
from cspace.doctor.model import Diagnosis
from cspace.memory.changes import Change, Operation
from cspace.memory.index import BUDGET
from cspace.memory.scopes import Kind, Scope
from cspace.memory.store import MemoryStore
from tests.conftest import Clock
from tests.memory.conftest import USER, WEB, force

GOOD = "---\nname: {0}\ndescription: D\nmetadata:\n  type: user\n---\n# T\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def store(root: Path, clock: Clock) -> MemoryStore:
    store = MemoryStore(root, by="ann", now=clock)
    for slug in ("a", "b"):
        store.change(Change(USER, slug, Operation.CREATE, f"# About {slug}\n"))
    return store


def put(root: Path, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    (root / "user" / name).write_bytes(data)


def found(store: MemoryStore, clock: Clock) -> dict[str, str]:
    return {one.problem: one.repair for one in examine_scope(store, USER, clock)}


def test_what_cspace_writes_is_in_order(store: MemoryStore, clock: Clock) -> None:
    store.change(Change(USER, "a", Operation.APPEND, "more"))
    store.change(Change(USER, "b", Operation.REMOVE))
    assert found(store, clock) == {}
    assert examine_memories(store, (USER, WEB), clock) == ()


def test_a_root_that_does_not_exist_has_nothing_wrong(tmp_path: Path, clock: Clock) -> None:
    store = MemoryStore(tmp_path / "none")
    assert examine_memories(store, (USER, WEB), clock) == ()
    assert not (tmp_path / "none").exists()


def test_a_memory_without_a_line_and_a_line_without_a_memory_want_a_reindex(
    store: MemoryStore, root: Path, clock: Clock
) -> None:
    put(root, "c.md", GOOD.format("c"))
    (root / "user/a.md").unlink()
    assert found(store, clock) == {
        "'user/MEMORY.md' has a line that no memory wants: '- [a](a.md): About a'": (
            "cspace memory reindex --scope user"
        ),
        "'user/MEMORY.md' lacks the line '- [c](c.md): D'": "cspace memory reindex --scope user",
    }
    store.reindex(USER)
    assert found(store, clock) == {}


def test_a_missing_index_and_broken_markers_are_named(
    store: MemoryStore, root: Path, clock: Clock
) -> None:
    (root / "user/MEMORY.md").write_text("<!-- cspace:index:end -->\n", encoding="utf-8")
    ((problem, repair),) = found(store, clock).items()
    assert "not one pair, in line 1" in problem
    assert repair.endswith("then: cspace memory reindex --all")
    (root / "user/MEMORY.md").unlink()
    assert list(found(store, clock)) == ["user has no MEMORY.md for its 2 memories"]


def test_an_index_over_its_budget_is_reported(store: MemoryStore, root: Path, clock: Clock) -> None:
    for number in range(BUDGET):
        put(root, f"n{number}.md", GOOD.format(f"n{number}"))
    store.reindex(USER)
    ((problem, repair),) = found(store, clock).items()
    assert problem == "'user/MEMORY.md' has 154 lines: a session should not have to read over 150"
    assert repair == "merge or remove some: cspace memory list --scope user"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("# No header\n", "has no front matter: it has to begin with --- and end with ---"),
        ("---\n---\n", "has an empty front matter"),
        (GOOD.replace("user", "rule"), "has the type 'rule', which is none of feedback, project,"),
        (GOOD.replace("type: user", "k: v"), "has no type, which is one of feedback, project,"),
        (GOOD.replace("{0}", "other"), "is called 'other' in its front matter"),
        (GOOD.replace("name: {0}\n", ""), "has no name"),
        (GOOD.replace("description: D\n", ""), "has no description in its front matter"),
        (GOOD.replace(": D", ": It: broken"), "has a front matter that is not YAML"),
        (GOOD.replace("user\n", "user\n  updated_at: soon\n"), "has the time 'soon' in updated_at"),
        (GOOD.replace("user\n", "user\n  updated_at: 2030-01-01\n"), "is dated in the future, 203"),
        (GOOD + "a\u200bb\u202e\n", "hides U+200B ZERO WIDTH SPACE in line 8, and 1 more hidden"),
        (GOOD + "x" * 300_000, "has 300058 bytes, more than 262144"),
    ],
)
def test_what_is_wrong_with_a_memory_is_named_with_its_editor(
    store: MemoryStore, root: Path, clock: Clock, content: str, problem: str
) -> None:
    put(root, "c.md", content.replace("{0}", "c"))
    store.reindex(USER)
    ((said, repair),) = found(store, clock).items()
    assert said.startswith(f"'user/c' {problem}")
    assert repair == "cspace memory edit c --scope user"


def test_a_file_that_is_no_utf_8_is_named(store: MemoryStore, root: Path, clock: Clock) -> None:
    put(root, "c.md", GOOD.format("c").encode() + b"\xff")
    store.reindex(USER)
    assert list(found(store, clock)) == ["'user/c' is not UTF-8 at byte 58"]


def test_a_name_of_somebody_else_and_twins_are_named_with_a_better_one(
    store: MemoryStore, root: Path, clock: Clock
) -> None:
    put(root, "My Rule.md", GOOD.format("My Rule"))
    put(root, "A.md", GOOD.format("A"))
    store.reindex(USER)
    said = found(store, clock)
    assert said["'user/My Rule' has a name that cspace would not give"] == (
        "cspace memory mv 'My Rule' my-rule --scope user"
    )
    assert "'A.md' and 'a.md' of user are one file where case does not count" in said


def test_links_and_other_files_are_named_and_not_followed(
    store: MemoryStore, root: Path, tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (root / "user/linked.md").symlink_to(tmp_path / "secret")
    (root / "user/dangling.md").symlink_to(tmp_path / "nowhere")
    os.mkfifo(root / "user/fifo.md")
    (root / "user/notes.txt").touch()
    (root / "user/bad\x1b[2J.md").touch()
    (root / "user/.gitkeep").touch()
    said = "\n".join(found(store, clock))
    for name in ("linked.md", "dangling.md", "fifo.md", "notes.txt", r"bad\x1b[2J.md"):
        assert name in said
    assert "secret" not in said
    assert "\x1b" not in said
    assert ".gitkeep" not in said


def test_what_a_killed_writer_left_is_named_and_a_reindex_takes_it_away(
    store: MemoryStore, root: Path, clock: Clock
) -> None:
    (root / "user/.changing").touch()
    (root / "user/.a.md.0123456789ab.cspace-tmp").touch()
    said = found(store, clock)
    assert set(said.values()) == {"cspace memory reindex --scope user"}
    assert "a change of user was stopped before its index line was written" in said
    assert "'user/.a.md.0123456789ab.cspace-tmp' was left by a writer that is gone" in said
    store.reindex(USER)
    assert found(store, clock) == {}


def test_a_linked_scope_and_a_bad_one_are_named(
    store: MemoryStore, root: Path, tmp_path: Path, clock: Clock
) -> None:
    (root / "projects/Bad Name").mkdir(parents=True)
    (root / "projects/linked").symlink_to(tmp_path)
    (root / "orchestrator").symlink_to(tmp_path)
    said = [one.problem for one in examine_memories(store, (), clock)]
    assert said == [
        "'projects/Bad Name' is no name of a scope, so nobody reads it",
        "'projects/linked' is not a directory of its own, so nobody reads it",
    ]
    named = (Scope(Kind.PROJECT, "linked"),)
    assert len(examine_memories(store, named, clock)) == 2
    (refused,) = examine_scope(store, Scope(Kind.ORCHESTRATOR), clock)
    assert "a link that cspace did not make" in refused.problem


@pytest.mark.parametrize("name", ["bad\x1b[2J", "a\u202etxt", "zero\u200bwidth", "\udcff"])
def test_hidden_names_hazard_the_repair_that_is_named_gives_another_one(
    store: MemoryStore, root: Path, clock: Clock, name: str
) -> None:
    put(root, f"{name}.md", GOOD.format("x"))
    [said] = [one for one in examine_scope(store, USER, clock) if "can not be seen" in one.problem]
    assert (said.problem + said.repair).isascii()
    assert (said.problem + said.repair).isprintable()
    subprocess.run(shlex.split(said.repair), check=True)
    store.reindex(USER)
    assert all(slug.isascii() and slug.isprintable() for slug in store.slugs(USER))
    assert not [one for one in examine_scope(store, USER, clock) if "name that" in one.problem]


def test_of_many_things_that_are_wrong_the_first_are_named_and_the_others_counted(
    store: MemoryStore, root: Path, clock: Clock
) -> None:
    for number in range(memory_checks.MAX_SHOWN + 7):
        put(root, f"other-{number}.txt", "x")
    said = examine_scope(store, USER, clock)
    assert len(said) == memory_checks.MAX_SHOWN + 1
    assert said[-1] == Diagnosis(
        "memory", "7 more things are wrong", "repair these, then: cspace memory doctor"
    )


def test_nothing_is_changed_by_a_look(store: MemoryStore, root: Path, clock: Clock) -> None:
    force(store, "a", b"# Mine\n")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    assert found(store, clock)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
