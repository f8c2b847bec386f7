"""What is wrong in Claude's memory is named, each with what to do, and nothing else is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cspace.claude_memory.place import Place, project_place
from cspace.doctor import claude_memory_checks
from cspace.doctor.checks import check_memory
from cspace.doctor.claude_memory_checks import check_redirection, examine_memory
from cspace.doctor.model import Patient
from tests.claude_memory.conftest import INDEX, RELEASE, ROLE, put
from tests.conftest import Clock


@pytest.fixture
def place(repo: Path, clock: Clock) -> Place:
    place = project_place(repo)
    put(place, "MEMORY.md", INDEX)
    put(place, "role.md", ROLE)
    add(place, "deep/release process.md", RELEASE, clock)
    return place


def add(place: Place, name: str, content: str | bytes, clock: Clock) -> None:
    path = put(place, name, content)
    os.utime(path, (clock().timestamp(),) * 2)


def problems(place: Place, clock: Clock) -> list[str]:
    found = examine_memory(place, clock)
    assert all(one.check == "memory" and one.repair for one in found)
    return [one.problem for one in found]


def test_what_claude_code_writes_is_in_order(place: Place, clock: Clock) -> None:
    assert problems(place, clock) == []
    put(place, ".gitkeep", "")
    put(place, ".obsidian/any.json", "")
    assert problems(place, clock) == []


def test_a_project_without_a_memory_has_nothing_wrong(repo: Path, clock: Clock) -> None:
    assert problems(project_place(repo), clock) == []
    put(project_place(repo), "MEMORY.md", "")
    assert problems(project_place(repo), clock) == []


@pytest.mark.parametrize(
    ("index", "size"),
    [("- a\n" * 201, "201 lines and 803"), ("x" * 25_001, "1 lines and 25001")],
)
def test_an_index_that_is_loaded_in_part_is_named(
    place: Place, clock: Clock, index: str, size: str
) -> None:
    put(place, "MEMORY.md", f"---\nname: x\n---\n{INDEX}")
    assert problems(place, clock) == []
    put(place, "MEMORY.md", index)
    assert f"'MEMORY.md' has {size} characters" in problems(place, clock)[0]


def test_entries_without_a_file_and_files_without_an_entry(place: Place, clock: Clock) -> None:
    put(place, "MEMORY.md", "- [R](role.md)\n- [G](gone%20by.md)\n- [O](../../README.md)\n")
    assert problems(place, clock) == [
        "'MEMORY.md' links to 'gone%20by.md', which does not exist",
        "'MEMORY.md' links to '../../README.md', outside of the memory",
        "'deep/release process.md' has no line in MEMORY.md, so Claude Code may never see it",
    ]
    (place.directory / "MEMORY.md").unlink()
    assert "'MEMORY.md' is missing, so Claude Code sees none of 2 files" in problems(place, clock)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("Text.\n", "has no front matter"),
        ("---\nname: role\ndescription: d\n---\n", "has no type, which is one of user, feedback"),
        (
            "---\nname: role\ndescription: d\ntype: User\n---\n",
            "has the type 'User', which is none",
        ),
        ("---\ntype: user\n---\n", "has no name and no description"),
        ("---\nname: a\ndescription: b: c\ntype: user\n---\n", "front matter that is not YAML"),
        (ROLE.replace("2026-02-26T10:30:00.500Z", "soon"), "has the time 'soon' in modified"),
        (ROLE.replace("2026-02", "2027-02"), "is dated in the future, 2027-02-26"),
        (ROLE + "Zero\u200bwidth\n", "hides U+200B in line 12"),
        (ROLE + "\U000e0041\n", "hides U+E0041 in line 12"),
        (ROLE + "\x1b[2J\n", "hides U+001B in line 12"),
        (ROLE.encode() + b"\xff\n", "is not UTF-8 at byte"),
    ],
)
def test_an_odd_file_is_named_and_why(
    place: Place, clock: Clock, content: str | bytes, problem: str
) -> None:
    add(place, "role.md", content, clock)
    (found,) = problems(place, clock)
    assert found.startswith("'role.md' ")
    assert problem in found


def test_relative_dates_matter_in_project_memories_alone(place: Place, clock: Clock) -> None:
    text = "Frozen since yesterday.\n`yesterday`, and today's build\n"
    add(place, "deep/release process.md", RELEASE + text, clock)
    add(place, "role.md", ROLE + text, clock)
    (found,) = problems(place, clock)
    assert found == "'deep/release process.md' says 'yesterday' in line 7: write the date itself"


def test_what_may_not_be_true_any_more_says_how_old_it_is(place: Place, clock: Clock) -> None:
    clock.advance(days=claude_memory_checks.STALE_DAYS)
    assert problems(place, clock) == []
    clock.advance(days=1)
    assert problems(place, clock) == ["'deep/release process.md': this memory is 91 days old"]


def test_what_is_no_regular_file_is_named_and_not_entered(
    place: Place, clock: Clock, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("yesterday", encoding="utf-8")
    (place.directory / "link.md").symlink_to(tmp_path / "secret.md")
    (place.directory / "up").symlink_to(tmp_path)
    os.mkfifo(place.directory / "fifo.md")
    put(place, "a\x1b.md", ROLE)
    put(place, "Role.md", ROLE)
    put(place, "notes.txt", "")
    named = "\n".join(problems(place, clock))
    assert "secret" not in named
    for part in ("'link.md' is not", "'up' is no memory", "'fifo.md' is not", "can not be shown"):
        assert part in named
    assert "'Role.md' and 'role.md' are one file where case does not count" in named
    assert "'notes.txt' is no memory" in named


def test_the_work_is_bounded_and_what_is_left_is_counted(place: Place, clock: Clock) -> None:
    for number in range(claude_memory_checks.MAX_SHOWN + 7):
        put(place, f"{number}.txt", "")
    found = problems(place, clock)
    assert len(found) == claude_memory_checks.MAX_SHOWN + 1
    assert found[-1] == "7 more things are wrong"


def test_a_project_that_redirects_claude_codes_memory_is_named(patient: Patient) -> None:
    assert check_memory(patient) == ()
    settings = patient.project.root / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"autoMemoryDirectory": "/tmp/evil"}), encoding="utf-8")
    (found,) = check_redirection(patient.project.root)
    assert ".claude/settings.json sets autoMemoryDirectory" in found.problem
    assert check_memory(patient) == (found,)
