"""What is known of each memory, from whatever somebody put there."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from cspace.beneath import MAX_DEPTH
from cspace.claude_memory.listing import age_of, get_memory, get_path, list_memories
from cspace.claude_memory.place import Place
from cspace.errors import CspaceError, NotFound, UsageError
from tests.claude_memory.conftest import INDEX, ROLE, put
from tests.conftest import Clock


def names(place: Place) -> list[str]:
    return [one.path for one in list_memories(place).memories]


def test_files_are_listed_with_what_their_front_matter_says(filled: Place) -> None:
    release, role = list_memories(filled).memories
    assert (release.path, release.type) == ("deep/release process.md", "project")
    assert (role.name, role.description) == ("role", "Who the user is: a pilot")
    assert (role.type, role.stamped, release.stamped) == ("user", True, False)
    assert role.indexed
    assert release.indexed


def test_the_age_is_the_front_matters_and_else_the_files(filled: Place, clock: Clock) -> None:
    release, role = list_memories(filled).memories
    assert age_of(role.modified, clock()) == "46 days old"
    assert age_of(release.modified, clock()) == "3 days old"


def test_a_time_to_come_and_one_that_is_none(place: Place, clock: Clock) -> None:
    put(place, "a.md", "---\nname: a\nmodified: 2027-01-01T00:00:00Z\n---\n")
    put(place, "b.md", "---\nname: b\nmodified: last spring\n---\n")
    later, never = sorted(list_memories(place).memories, key=lambda one: one.name)
    assert age_of(later.modified, clock()) == "dated in the future, 2027-01-01"
    assert not never.stamped
    assert age_of(clock() + timedelta(minutes=1), clock()) == "0 days old"
    assert age_of(clock() - timedelta(days=1), clock()) == "1 day old"


def test_unknown_keys_are_kept(filled: Place) -> None:
    role = list_memories(filled).memories[1]
    assert isinstance(role.header["metadata"], dict)
    assert role.header["metadata"]["originSessionId"] == "ae7e3662"


def test_a_fresh_project_has_no_memories_and_none_is_made(place: Place) -> None:
    place.root.mkdir()
    found = list_memories(place)
    assert (found.memories, found.index, found.skipped) == ((), None, ())
    with pytest.raises(NotFound, match="no memory yet"):
        get_path(place, "MEMORY")
    assert list(place.root.iterdir()) == []


def test_what_is_no_regular_file_hazard_it_is_skipped_and_named(
    filled: Place, tmp_path: Path
) -> None:
    put(filled, "big.md", "").write_bytes(b"x" * 100)
    os.truncate(filled.directory / "big.md", 64 * 1024 * 1024)
    os.mkfifo(filled.directory / "fifo.md")
    (tmp_path / "secret.md").write_text(ROLE, encoding="utf-8")
    (filled.directory / "link.md").symlink_to(tmp_path / "secret.md")
    (filled.directory / "up").symlink_to(tmp_path)
    put(filled, "esc\x1b[2J.md", ROLE)
    put(filled, os.fsdecode(b"latin-\xfc.md"), ROLE)
    found = list_memories(filled)
    assert "secret" not in str(found)
    skipped = {one.path: one.reason for one in found.skipped}
    assert set(skipped) == {"fifo.md", "link.md", "esc\\x1b[2J.md", "latin-\\udcfc.md"}
    assert skipped["fifo.md"] == "not a regular file"
    assert len(found.memories) == 3


def test_a_memory_that_is_a_link_is_refused(filled: Place) -> None:
    filled.directory.rename(filled.root / "elsewhere")
    filled.directory.symlink_to(filled.root / "elsewhere")
    with pytest.raises(CspaceError, match="a link or another file"):
        list_memories(filled)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"no front matter\n",
        b"---\nname: [\n",
        b"---\n" + b"a: &a [" * 9000,
        b"---\n[&a [x,x], *a]\n---\n",
        b"text\n---\nname: forged\n---\n",
        b"---\n- a\n- list\n---\n",
        b"\0" * 5000,
    ],
)
def test_one_bad_file_breaks_nothing(filled: Place, content: bytes) -> None:
    put(filled, "bad.md", content)
    found = {one.path: one for one in list_memories(filled).memories}
    assert len(found) == 3
    assert found["bad.md"].problem
    assert found["bad.md"].name == "bad"


def test_a_header_of_another_editor_is_read(place: Place) -> None:
    put(place, "dos.md", b"\xef\xbb\xbf" + ROLE.replace("\n", "\r\n").encode())
    (found,) = list_memories(place).memories
    assert (found.name, found.type, found.problem) == ("role", "user", "")


def test_directories_that_go_down_without_end_are_left_at_some_depth(place: Place) -> None:
    put(place, "/".join("d" * (MAX_DEPTH + 3)) + "/deep.md", ROLE)
    (skipped,) = list_memories(place).skipped
    assert skipped.reason == f"deeper than {MAX_DEPTH} directories"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("MEMORY", "MEMORY.md"),
        ("role", "role.md"),
        ("role.md", "role.md"),
        (".cspace/memory/role.md", "role.md"),
        ("deep/release process", "deep/release process.md"),
        ("release process.md", "deep/release process.md"),
        ("RELEASE", "deep/release process.md"),
    ],
)
def test_a_file_is_found_by_as_much_as_tells_it_apart(filled: Place, given: str, path: str) -> None:
    assert str(get_path(filled, given)) == path


@pytest.mark.parametrize("given", ["../role", "/etc/passwd", "", "nothing", "role.md/x"])
def test_what_names_no_file_of_the_memory_is_not_found(filled: Place, given: str) -> None:
    with pytest.raises(NotFound) as refused:
        get_path(filled, given)
    assert refused.value.hint


def test_a_part_that_several_have_names_them(filled: Place) -> None:
    put(filled, "role-of-ann.md", ROLE)
    with pytest.raises(UsageError, match=r"may be role-of-ann\.md, role\.md"):
        get_path(filled, "rol")
    assert str(get_path(filled, "role")) == "role.md"


def test_a_file_comes_byte_for_byte(filled: Place) -> None:
    content = b"\xef\xbb\xbf---\r\nname: x\r\n---\r\n\xff\0 end"
    put(filled, "odd.md", content)
    path, found, memory = get_memory(filled, "odd")
    assert (str(path), found) == ("odd.md", content)
    assert memory is not None
    assert memory.name == "x"
    assert get_memory(filled, "MEMORY")[1:] == (INDEX.encode(), None)
