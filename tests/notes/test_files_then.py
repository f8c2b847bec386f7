"""The files of a memory's commit, as they were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import NotFound
from cspace.notes.files_then import (
    MAX_FILE_BYTES,
    MAX_FILES,
    FileThen,
    files_then,
    files_where_known,
)


def commit(repo: Path, **files: bytes) -> str:
    for name, content in files.items():
        (repo / name).write_bytes(content)
    proc.run("git", "-C", repo, "add", "-A")
    proc.run("git", "-C", repo, "commit", "--quiet", "--allow-empty", "-m", "Change")
    return proc.run("git", "-C", repo, "rev-parse", "HEAD").text


def test_files_come_back_as_the_commit_left_them(repo: Path) -> None:
    then = commit(repo, key=b"RS256\n", other=b"x")
    commit(repo, key=b"HS256\n")
    assert files_then(repo, then).files == (
        FileThen("key", "RS256\n", ""),
        FileThen("other", "x", ""),
    )


def test_a_first_commit_shows_its_files(repo: Path) -> None:
    first = proc.run("git", "-C", repo, "rev-parse", "HEAD").text
    assert [one.path for one in files_then(repo, first).files] == ["README.md"]


def test_a_merge_shows_what_it_brought_to_its_first_parent(repo: Path) -> None:
    proc.run("git", "-C", repo, "switch", "--quiet", "-c", "side")
    commit(repo, side=b"1")
    proc.run("git", "-C", repo, "switch", "--quiet", "main")
    commit(repo, main=b"1")
    proc.run("git", "-C", repo, "merge", "--quiet", "--no-edit", "side")
    merge = proc.run("git", "-C", repo, "rev-parse", "HEAD").text
    assert [one.path for one in files_then(repo, merge).files] == ["side"]


def test_what_is_no_text_is_named_and_not_shown(repo: Path) -> None:
    (repo / "link").symlink_to("/etc/passwd")
    (repo / "README.md").unlink()
    one = commit(repo, big=b"x" * (MAX_FILE_BYTES + 1), image=b"\x89\0")
    notes = {each.path: (each.text, each.note) for each in files_then(repo, one).files}
    assert notes == {
        "README.md": (None, "removed"),
        "big": (None, "65537 bytes, too large to show"),
        "image": (None, "binary, 2 bytes"),
        "link": (None, "a link"),
    }


def test_a_commit_of_many_files_shows_the_first_and_counts_the_rest(repo: Path) -> None:
    one = commit(repo, **{f"file{number:03}": b"x" for number in range(MAX_FILES + 5)})
    found = files_then(repo, one)
    assert (len(found.files), found.left_out) == (MAX_FILES, 5)


def test_a_name_that_is_no_text_is_the_file_s_name(repo: Path) -> None:
    (repo / os.fsdecode(b"caf\xe9")).write_bytes(b"x")
    one = commit(repo)
    assert [os.fsencode(each.path) for each in files_then(repo, one).files] == [b"caf\xe9"]


def test_a_commit_that_is_not_there_is_named(repo: Path) -> None:
    with pytest.raises(NotFound, match="0" * 40):
        files_then(repo, "0" * 40)


def test_a_commit_that_is_not_there_and_a_file_hide_no_other_commit(repo: Path) -> None:
    one = commit(repo, key=b"RS256\n")
    blob = proc.run("git", "-C", repo, "rev-parse", "HEAD:key").text
    found, missing = files_where_known(repo, [blob, "0" * 40, one, one])
    assert list(found) == [one]
    assert f"{blob} is a blob, which changed no files" in missing
    assert len(missing) == 2
