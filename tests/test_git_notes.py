"""Notes trees as git keeps them, of every fan-out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cspace.git import git, resolve
from cspace.git_notes import RefMoved, changed_notes, list_notes, read_notes, write_notes
from cspace.git_notes_tree import MOST_IN_DIRECTORY

REF = "refs/notes/cs/decisions"
NOW = datetime(2026, 4, 14, 10, 30, tzinfo=UTC)


def names(count: int) -> list[str]:
    """Return ids of objects; git takes a note for any."""
    return [f"{number * 2654435761 % 2**32:08x}" + "5" * 32 for number in range(count)]


def write(repo: Path, changes: dict[str, bytes | None]) -> str:
    tip = write_notes(repo, REF, resolve(repo, REF), changes, NOW)
    assert tip is not None
    return tip


def read(repo: Path, tip: str) -> dict[str, bytes]:
    """Return the bytes of each note by its object."""
    listed = list_notes(repo, tip)
    contents = dict(read_notes(repo, listed.values()))
    return {name: contents[blob] for name, blob in listed.items()}


def by_git(repo: Path) -> dict[str, str]:
    """Return what git itself lists: the blob of each object."""
    lines = git(repo, "notes", f"--ref={REF}", "list").text.splitlines()
    return {name: blob for blob, name in (line.split() for line in lines)}


@pytest.mark.parametrize("size", [1, 120, 150, 256, 257, 1000])
def test_hazard_notes_on_more_commits_than_git_keeps_flat_are_all_found(
    repo: Path, size: int
) -> None:
    wanted = {name: name[:8].encode() for name in names(size)}
    tip = write(repo, dict(wanted))
    assert read(repo, tip) == wanted
    assert by_git(repo) == list_notes(repo, tip)
    git(repo, "fsck", "--strict")


def test_hazard_10000_notes_written_one_by_one_or_at_once_are_all_found(
    repo: Path, counts: Callable[[int, int], int]
) -> None:
    size = counts(1000, 10_000)
    most = dict.fromkeys(names(size), b"x")
    write(repo, dict(most))
    for name in names(size + 20)[size:]:
        write(repo, {name: b"y"})
    assert len(list_notes(repo, REF)) == size + 20
    assert by_git(repo) == list_notes(repo, REF)


@pytest.mark.parametrize("size", [150, 400])
def test_a_tree_that_git_fanned_out_keeps_its_form_and_its_notes(repo: Path, size: int) -> None:
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"x").text
    copied = "".join(f"{name} {name}\n" for name in names(size))
    head = resolve(repo, "HEAD")
    git(repo, "notes", f"--ref={REF}", "add", "-C", blob)
    copied = "".join(f"{head} {name}\n" for name in names(size))
    git(repo, "notes", f"--ref={REF}", "copy", "--stdin", stdin=copied.encode())
    before = list_notes(repo, REF)
    assert len(before) == size + 1
    assert "/" in git(repo, "ls-tree", "-r", "--name-only", REF).text
    write(repo, {names(size)[3]: b"changed", names(size + 1)[-1]: b"new"})
    after = list_notes(repo, REF)
    assert len(after) == size + 2
    assert by_git(repo) == after
    assert {name for name in after if after[name] != before.get(name)} == {
        names(size)[3], names(size + 1)[-1],
    }  # fmt: skip


def test_git_goes_on_where_we_left_a_tree(repo: Path) -> None:
    write(repo, dict.fromkeys(names(MOST_IN_DIRECTORY + 50), b"x"))
    git(repo, "notes", f"--ref={REF}", "append", "-m", "by hand", "HEAD")
    listed = list_notes(repo, REF)
    assert len(listed) == MOST_IN_DIRECTORY + 51
    assert by_git(repo) == listed


def test_a_note_is_removed_and_its_empty_directory_with_it(repo: Path) -> None:
    write(repo, dict.fromkeys(names(MOST_IN_DIRECTORY + 1), b"x"))
    alone = {one[:2]: one for one in names(MOST_IN_DIRECTORY + 1)}
    removed = next(one for two, one in alone.items() if sum(n[:2] == two for n in names(257)) == 1)
    write(repo, {removed: None})
    assert len(list_notes(repo, REF)) == MOST_IN_DIRECTORY
    assert removed[:2] not in git(repo, "ls-tree", "--name-only", REF).text.split()
    write(repo, dict.fromkeys(names(MOST_IN_DIRECTORY + 1)))
    assert list_notes(repo, REF) == {}


def test_the_same_notes_make_the_same_tree_in_whatever_order(repo: Path) -> None:
    wanted = dict.fromkeys(names(MOST_IN_DIRECTORY + 40), b"x")
    at_once = write(repo, dict(wanted))
    git(repo, "update-ref", "-d", REF)
    for part in range(3):
        write(repo, {one: b"x" for number, one in enumerate(wanted) if number % 3 == 2 - part})
    assert git(repo, "diff", "--raw", at_once, REF).text == ""


def test_new_notes_beside_directories_and_flat_ones_replace_neither(repo: Path) -> None:
    write(repo, dict.fromkeys(names(400), b"x"))
    git(repo, "notes", f"--ref={REF}", "remove", *names(300), "--ignore-missing")
    before = list_notes(repo, REF)
    fresh = dict.fromkeys(names(900)[400:], b"y")
    write(repo, dict(fresh))
    assert set(list_notes(repo, REF)) == set(before) | set(fresh)
    assert by_git(repo) == list_notes(repo, REF)


def test_what_is_no_note_in_a_tree_stays_and_is_none(repo: Path) -> None:
    git(repo, "update-ref", REF, "HEAD")
    write(repo, {names(1)[0]: b"x"})
    assert list(list_notes(repo, REF)) == names(1)
    assert git(repo, "show", f"{REF}:README.md").text == "# Sample"


def test_a_difference_names_what_came_changed_and_went(repo: Path) -> None:
    one, two, three, four = names(4)
    old = write(repo, {one: b"1", two: b"2", three: b"3"})
    new = write(repo, {one: None, two: b"2b", four: b"4"})
    listed = list_notes(repo, new)
    assert changed_notes(repo, old, new) == {one: None, two: listed[two], four: listed[four]}
    assert changed_notes(repo, new, new) == {}


def test_a_note_that_only_moved_to_another_fan_out_is_no_difference(repo: Path) -> None:
    old = write(repo, dict.fromkeys(names(MOST_IN_DIRECTORY), b"x"))
    git(repo, "notes", f"--ref={REF}", "append", "-m", "by hand", "HEAD")
    assert "/" in git(repo, "ls-tree", "-r", "--name-only", REF).text
    assert list(changed_notes(repo, old, REF)) == [resolve(repo, "HEAD")]


def test_a_ref_that_is_not_where_it_was_seen_is_not_moved(repo: Path) -> None:
    first = write(repo, {names(1)[0]: b"x"})
    second = write(repo, {names(1)[0]: b"y"})
    for expected in (None, first, "1" * 40):
        with pytest.raises(RefMoved):
            write_notes(repo, REF, expected, {names(1)[0]: b"z"}, NOW)
    assert resolve(repo, REF) == second
    assert write_notes(repo, REF, second, {}, NOW) == second


def test_blobs_come_in_the_order_asked_and_a_missing_one_is_left_out(repo: Path) -> None:
    tip = write(repo, {name: name.encode() for name in names(3)})
    blobs = list(list_notes(repo, tip).values())
    asked = [blobs[2], "0" * 40, blobs[0], tip, blobs[1]]
    assert [blob for blob, _ in read_notes(repo, asked)] == [blobs[2], blobs[0], blobs[1]]
