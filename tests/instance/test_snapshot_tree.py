"""The files of a workspace come back byte for byte."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from cspace.instance.snapshot_manifest import LeftOut
from cspace.instance.snapshot_pack import BUNDLE, IGNORED_EACH
from tests.instance.snapshot_trees import (
    commit,
    fresh,
    git,
    manifest_of,
    outlook,
    pack,
    survey,
    there_and_back,
    unpack,
)


def test_ignored_files_are_lost_in_teardown_hazard_they_and_all_others_come_back(
    host: Path, workspace: Path
) -> None:
    (workspace / "staged.txt").write_text("staged\n", encoding="utf-8")
    git(workspace, "add", "staged.txt")
    (workspace / "staged.txt").write_text("and changed again\n", encoding="utf-8")
    (workspace / "src/main.py").write_text("changed\n", encoding="utf-8")
    (workspace / "untracked.txt").write_text("untracked\n", encoding="utf-8")
    (workspace / "ignored.log").write_text("ignored\n", encoding="utf-8")
    git(workspace, "rm", "--quiet", "--cached", ".gitignore")
    said = outlook(workspace)
    before, after = there_and_back(host, workspace)
    assert after == before
    assert outlook(workspace) == said


def test_modes_links_empty_directories_and_times_come_back(host: Path, workspace: Path) -> None:
    for name, mode in (("tool", 0o755), ("secret", 0o600), ("set", 0o4755), ("sealed", 0o444)):
        (workspace / name).write_text(name, encoding="utf-8")
        (workspace / name).chmod(mode)
    (workspace / "empty/inner").mkdir(parents=True)
    (workspace / "sticky").mkdir()
    (workspace / "sticky").chmod(0o3777)
    (workspace / "locked").mkdir()
    (workspace / "locked/file").write_text("x", encoding="utf-8")
    (workspace / "locked").chmod(0o555)
    (workspace / "dangling").symlink_to("/nowhere/at all")
    (workspace / "loop").symlink_to("loop")
    (workspace / "to-directory").symlink_to("src")
    os.utime(workspace / "tool", ns=(1, 1_234_567_890_123_456_789))
    os.utime(workspace / "empty", ns=(1, 987_654_321))
    os.utime(workspace / "dangling", ns=(1, 42), follow_symlinks=False)
    before, after = there_and_back(host, workspace)
    assert before[b"set"][1] == 0o4755
    assert after == before


def test_names_with_newlines_and_bytes_that_are_not_utf_8_come_back(
    host: Path, workspace: Path
) -> None:
    names = (
        b"new\nline",
        b"not \xff utf-8",
        b"\xed\xb3\xbf",
        b'quote"\\',
        b"-dash",
        b" ",
        "é".encode(),
    )
    for name in names:
        directory = os.fsencode(workspace) + b"/in " + name
        os.mkdir(directory)  # noqa: PTH102  names are bytes
        Path(os.fsdecode(directory + b"/" + name)).write_bytes(name)
        os.symlink(name, directory + b"/link")  # noqa: PTH211  names are bytes
    before, after = there_and_back(host, workspace)
    assert {b"in " + name + b"/" + name for name in names} <= after.keys()
    assert after == before


def test_a_file_keeps_its_raw_bytes_where_attributes_would_convert_them(
    host: Path, workspace: Path
) -> None:
    (workspace / ".gitattributes").write_text("*.txt text eol=crlf\n", encoding="utf-8")
    (workspace / "unix.txt").write_bytes(b"one\ntwo\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "--quiet", "-m", "Convert")
    (workspace / "unix.txt").unlink()
    git(workspace, "checkout", "--quiet", "--", "unix.txt")
    assert (workspace / "unix.txt").read_bytes() == b"one\r\ntwo\r\n"  # the attribute works
    (workspace / "mixed.txt").write_bytes(b"one\r\ntwo\nthree\r")
    before, after = there_and_back(host, workspace)
    assert after[b"unix.txt"][3] == b"one\r\ntwo\r\n"
    assert after == before


def test_ignored_files_are_lost_in_teardown_hazard_what_is_too_large_is_listed(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    for name, size in (("huge.log", IGNORED_EACH + 1), ("a.log", 600), ("b.log", 500)):
        (workspace / name).write_bytes(b"x" * size)
    (workspace / "large.dat").write_bytes(b"y" * (IGNORED_EACH + 1))
    pack(workspace, tmp_path / "exchange", "--ignored-total=700")
    manifest = manifest_of(tmp_path / "exchange" / BUNDLE, host)
    assert {entry.path for entry in manifest.entries} >= {b"b.log", b"large.dat"}
    assert manifest.left_out == (
        LeftOut(b"a.log", 600, "ignored files are above 700 bytes together"),
        LeftOut(b"huge.log", IGNORED_EACH + 1, f"ignored by git and above {IGNORED_EACH} bytes"),
    )


def test_an_ignored_file_that_was_added_all_the_same_is_work(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "forced.log").write_bytes(b"z" * (IGNORED_EACH + 1))
    git(workspace, "add", "--force", "forced.log")
    pack(workspace, tmp_path / "exchange")
    assert manifest_of(tmp_path / "exchange" / BUNDLE, host).left_out == ()


def test_sockets_and_fifos_are_listed_with_their_kind(
    host: Path, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(workspace / "pipe")
    monkeypatch.chdir(workspace)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    pack(workspace, tmp_path / "exchange")
    assert manifest_of(tmp_path / "exchange" / BUNDLE, host).left_out == (
        LeftOut(b"pipe", 0, "a FIFO"),
        LeftOut(b"socket", 0, "a socket"),
    )


def test_a_linked_worktree_outside_of_the_workspace_is_listed(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    for place in (workspace / "inside", tmp_path / "outside"):
        git(workspace, "worktree", "add", "--quiet", "--detach", place)
    pack(workspace, tmp_path / "exchange")
    assert manifest_of(tmp_path / "exchange" / BUNDLE, host).left_out == (
        LeftOut(os.fsencode(tmp_path / "outside"), 0, "a linked worktree outside of the workspace"),
    )


def test_shared_context_and_memory_are_never_part_of_an_archive(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    for shared in ("context", "memory"):
        (workspace / ".cspace" / shared).mkdir(parents=True)
        (workspace / ".cspace" / shared / "note.md").write_text("then", encoding="utf-8")
    (workspace / ".cspace/other").write_text("the agent's own", encoding="utf-8")
    pack(workspace, tmp_path / "exchange", "--known", *git(host, "rev-list", "--all").split())
    paths = {e.path for e in manifest_of(tmp_path / "exchange" / BUNDLE, host).entries}
    assert b".cspace/other" in paths
    assert not any(path.startswith((b".cspace/context", b".cspace/memory")) for path in paths)
    (workspace / ".cspace/context/note.md").write_text("now", encoding="utf-8")
    (workspace / ".cspace/other").unlink()
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    assert (workspace / ".cspace/context/note.md").read_text(encoding="utf-8") == "now"
    assert (workspace / ".cspace/other").read_text(encoding="utf-8") == "the agent's own"


def test_what_the_archive_does_not_hold_is_removed_whatever_its_modes(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "thing").write_text("a file", encoding="utf-8")
    (workspace / "other").mkdir()
    before = survey(workspace)
    known = git(host, "rev-list", "--all").split()
    pack(workspace, tmp_path / "exchange", "--known", *known)
    fresh(host, workspace)
    (workspace / "thing/deep").mkdir(parents=True)
    (workspace / "thing/deep/file").write_text("in the way", encoding="utf-8")
    (workspace / "thing/deep").chmod(0)
    (workspace / "other").symlink_to(tmp_path)
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    assert survey(workspace) == before


def test_an_empty_workspace_becomes_what_a_whole_bundle_holds(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    commit(workspace, "work.txt")
    before, said = survey(workspace), outlook(workspace)
    pack(workspace, tmp_path / "exchange")
    workspace.rename(tmp_path / "before")
    workspace.mkdir()
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    assert survey(workspace) == before
    assert outlook(workspace) == said


def test_unpacking_again_changes_nothing(host: Path, workspace: Path, tmp_path: Path) -> None:
    commit(workspace, "work.txt")
    before, after = there_and_back(host, workspace)
    (workspace / "debris.cspace-tmp").write_text("of a killed run", encoding="utf-8")
    (workspace / ".git/objects/pack/tmp_pack_dead").write_text("half", encoding="utf-8")
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    assert survey(workspace) == after == before
    assert not list((workspace / ".git/objects/pack").glob("tmp_*"))
