"""A folder of documents survives links, specials and neighbours, and never goes over a file."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from cspace.beneath import MAX_BYTES
from cspace.docstore.folder import Folder
from cspace.docstore.opened import UnreadableDocument
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.files import lock


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "root" / "docs").mkdir(parents=True)
    return Folder(tmp_path / "root", PurePosixPath("docs"), holder="venus", lock_seconds=0.05)


def test_a_taken_name_gets_a_counter_and_nothing_is_overwritten(folder: Folder) -> None:
    names = [folder.create("x", str(number).encode()) for number in range(12)]
    assert names == ["x", *(f"x-{number}" for number in range(2, 13))]
    assert [folder.read(name) for name in names] == [str(number).encode() for number in range(12)]


def test_a_link_counts_as_taken(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "root" / "docs" / "x.md").symlink_to(tmp_path / "nowhere")
    assert folder.create("x", b"mine") == "x-2"
    assert not (tmp_path / "nowhere").exists()


def test_reading_creates_nothing(tmp_path: Path) -> None:
    folder = Folder(tmp_path, PurePosixPath("a/b"))
    assert folder.list_stems() == ()
    for call in (folder.read, folder.remove):
        with pytest.raises(NotFound, match=r"a/b/x\.md does not exist"):
            call("x")
    assert os.listdir(tmp_path) == []


def test_a_missing_root_is_an_error_and_not_an_empty_store(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "gone", PurePosixPath("docs"))
    with pytest.raises(NotFound, match=r"root .*gone is not a directory"):
        folder.list_stems()
    with pytest.raises(NotFound, match=r"root .*gone is not a directory"):
        folder.create("x", b"")
    assert not (tmp_path / "gone").exists()


def test_links_fifos_sockets_directories_and_big_files_are_refused(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "root" / "docs"
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    (docs / "link.md").symlink_to(secret)
    os.mkfifo(docs / "fifo.md")
    (docs / "dir.md").mkdir()
    monkeypatch.chdir(docs)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
    (docs / "big.md").touch()
    os.truncate(docs / "big.md", MAX_BYTES + 1)
    stems = folder.list_stems()
    assert stems == ("big", "dir", "fifo", "link", "socket")
    for stem in stems:
        with pytest.raises(UnreadableDocument):
            folder.read(stem)
        with pytest.raises(UnreadableDocument):
            folder.edit(stem, lambda document: document + b"x")
        with pytest.raises(UnreadableDocument):
            folder.remove(stem)
    assert secret.read_text(encoding="utf-8") == "secret"


def test_a_linked_directory_is_not_followed_on_read_or_write(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("theirs", encoding="utf-8")
    (tmp_path / "docs").symlink_to(outside)
    folder = Folder(tmp_path, PurePosixPath("docs"))
    for call in (lambda: folder.read("x"), folder.list_stems, lambda: folder.create("y", b"")):
        with pytest.raises(CspaceError, match="a link or another file"):
            call()
    assert os.listdir(outside) == ["x.md"]


def test_an_edit_keeps_the_files_mode(folder: Folder, tmp_path: Path) -> None:
    folder.create("x", b"a")
    path = tmp_path / "root" / "docs" / "x.md"
    path.chmod(0o600)
    folder.edit("x", lambda document: document + b"b")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"ab", 0o600)


def test_a_held_lock_times_out_and_names_document_and_holder(
    folder: Folder, tmp_path: Path
) -> None:
    folder.create("x", b"a")
    held = tmp_path / "root" / "docs" / "x.md.lock"
    with (
        lock(held, timeout=1, holder="mercury"),
        pytest.raises(Conflict, match=r"docs/x\.md has been locked by mercury"),
    ):
        folder.edit("x", lambda document: document + b"b")
    assert folder.read("x") == b"a"


def test_a_removed_document_does_not_come_back_by_an_edit(folder: Folder) -> None:
    folder.create("x", b"a")
    folder.remove("x")
    with pytest.raises(NotFound):
        folder.edit("x", lambda document: document + b"b")
    assert folder.list_stems() == ()


def test_a_wrong_name_suggests_the_near_ones_and_leaves_no_lock(
    folder: Folder, tmp_path: Path
) -> None:
    folder.create("2026-04-14-use-awk", b"a")
    with pytest.raises(NotFound) as missing:
        folder.edit("use-awk", lambda document: document)
    assert missing.value.hint == "the nearest are 2026-04-14-use-awk"
    assert os.listdir(tmp_path / "root" / "docs") == ["2026-04-14-use-awk.md"]


def test_a_document_that_no_reader_would_take_is_not_written(folder: Folder) -> None:
    with pytest.raises(UsageError, match="more than"):
        folder.create("x", b"a" * (MAX_BYTES + 1))
    assert folder.list_stems() == ()


def test_hidden_and_temporary_files_are_invisible(folder: Folder, tmp_path: Path) -> None:
    for name in (".x.md", ".x.md.0123.cspace-tmp", "x.md.lock", "notes.txt"):
        (tmp_path / "root" / "docs" / name).touch()
    assert folder.list_stems() == ()


def test_a_long_lived_writer_sweeps_again_what_others_left(folder: Folder, tmp_path: Path) -> None:
    folder = replace(folder, sweep_seconds=0.0)
    for number in range(2):
        debris = tmp_path / "root" / "docs" / f".x.md.{number}.cspace-tmp"
        debris.touch()
        folder.create("x", b"a")
        assert not debris.exists()


@pytest.mark.parametrize("name", [b"a\nb.md", b"a\xff.md", b"a\x1b[2J.md", "a\u2028b.md".encode()])
def test_a_name_that_can_not_be_shown_is_escaped_in_the_error(
    folder: Folder, tmp_path: Path, name: bytes
) -> None:
    (Path(os.fsdecode(bytes(tmp_path / "root" / "docs") + b"/" + name))).touch()
    (stem,) = folder.list_stems()
    with pytest.raises(UnreadableDocument) as refused:
        folder.read(stem)
    assert str(refused.value).isprintable()
    str(refused.value).encode()


def test_a_link_in_place_of_a_lock_is_named_and_nothing_is_changed(
    folder: Folder, tmp_path: Path
) -> None:
    folder.create("x", b"a")
    (tmp_path / "root" / "docs" / "x.md.lock").symlink_to(tmp_path / "outside")
    with pytest.raises(CspaceError, match=r"^docs/x\.md\.lock: a link or another file"):
        folder.edit("x", lambda document: document + b"b")
    assert (folder.read("x"), (tmp_path / "outside").exists()) == (b"a", False)


def test_an_edit_of_a_file_with_a_second_name_outside_leaves_that_one_as_it_is(
    folder: Folder, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"theirs")
    (tmp_path / "root" / "docs" / "x.md").hardlink_to(outside)
    folder.edit("x", lambda document: document + b" and ours")
    assert (folder.read("x"), outside.read_bytes()) == (b"theirs and ours", b"theirs")


@pytest.mark.parametrize("by_rename", [False, True])
def test_what_an_editor_saves_during_an_edit_is_seen(
    folder: Folder, tmp_path: Path, *, by_rename: bool
) -> None:
    folder.create("x", b"a\n")
    path = tmp_path / "root" / "docs" / "x.md"
    saves = iter((b"b\n", b"b\nc\n"))

    def change(document: bytes) -> bytes:
        # While cspace works on what it read, a person saves.
        if (saved := next(saves, None)) is not None:
            target = path.with_name("editor~") if by_rename else path
            target.write_bytes(saved)
            target.rename(path)
        return document + b"update\n"

    folder.edit("x", change)
    assert folder.read("x") == b"b\nc\nupdate\n"


def test_a_document_that_an_editor_has_emptied_gets_time_to_be_filled(
    folder: Folder, tmp_path: Path
) -> None:
    folder.create("x", b"a")
    path = tmp_path / "root" / "docs" / "x.md"
    with path.open("wb", buffering=0) as editor:
        waiting = threading.Timer(0.1, editor.write, (b"saved",))
        waiting.start()
        folder.edit("x", lambda document: document + b" and ours")
        waiting.join()
    assert folder.read("x") == b"saved and ours"


def test_a_document_that_changes_all_the_time_is_a_conflict_and_stays_theirs(
    folder: Folder, tmp_path: Path
) -> None:
    folder.create("x", b"0")
    path = tmp_path / "root" / "docs" / "x.md"

    def change(document: bytes) -> bytes:
        path.write_bytes(document + b"0")
        return document + b"update"

    with pytest.raises(Conflict, match=r"docs/x\.md was changed by another program at each of"):
        folder.edit("x", change)
    assert set(path.read_bytes()) == {ord("0")}
    assert sorted(os.listdir(path.parent)) == ["x.md", "x.md.lock"]


def test_a_document_that_is_removed_by_hand_during_an_edit_stays_removed(
    folder: Folder, tmp_path: Path
) -> None:
    folder.create("x", b"a")

    def change(document: bytes) -> bytes:
        (tmp_path / "root" / "docs" / "x.md").unlink()
        return document

    with pytest.raises(NotFound):
        folder.edit("x", change)
    assert folder.list_stems() == ()
