"""Bytes are named as git names them, and a file that moves under us is found out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import Conflict
from cspace.instance.snapshot_files import holds_blob, leave_out, name_blobs
from cspace.instance.snapshot_manifest import Entry, Kind
from cspace.instance.snapshot_walk import walk


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    (tmp_path / "file").write_bytes(b"one\r\ntwo\n")
    return next(entry for entry in walk(tmp_path).entries if entry.kind is Kind.FILE)


def test_a_blob_has_the_id_that_git_gives_it(tmp_path: Path, entry: Entry) -> None:
    (named,) = name_blobs(tmp_path, [entry], "sha1")
    asked = proc.run("git", "hash-object", "--no-filters", tmp_path / "file")
    assert named.blob == asked.text


@pytest.mark.parametrize("content", [b"", b"longer than it was", b"one\r\nTWO\n"])
def test_a_file_that_is_written_meanwhile_is_a_conflict(
    tmp_path: Path, entry: Entry, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(Conflict, match="file changed while it was packed"):
        name_blobs(tmp_path, [entry], "sha1")


def test_only_the_same_bytes_in_a_file_of_its_own_are_kept(tmp_path: Path, entry: Entry) -> None:
    (named,) = name_blobs(tmp_path, [entry], "sha1")
    path = bytes(tmp_path / "file")
    assert holds_blob(path, named)
    assert not holds_blob(path, replace(named, blob="0" * 40))
    (tmp_path / "link").symlink_to("file")
    assert not holds_blob(bytes(tmp_path / "link"), named)
    assert not holds_blob(bytes(tmp_path / "missing"), named)
    (tmp_path / "second-name").hardlink_to(tmp_path / "file")
    assert not holds_blob(path, named)


def test_directories_and_links_are_never_left_out() -> None:
    entries = [
        Entry(b"ignored", Kind.DIRECTORY, 0o755, 0),
        Entry(b"ignored/link", Kind.LINK, 0o777, 0, target=b"x"),
        Entry(b"ignored/large", Kind.FILE, 0o644, 0, size=11),
    ]
    kept, dropped = leave_out(entries, {e.path for e in entries}, each=10, total=100)
    assert kept == entries[:2]
    assert [one.path for one in dropped] == [b"ignored/large"]
