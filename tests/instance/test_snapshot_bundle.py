"""A bundle comes from a container: its header is read up to a limit, and through no link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CspaceError
from cspace.instance.snapshot_bundle import open_pack, read_header

START = b"# v2 git bundle\n"


@pytest.fixture
def bundle(repo: Path, tmp_path: Path) -> Path:
    path = tmp_path / "archive.bundle"
    proc.run("git", "-C", repo, "update-ref", "refs/cspace/x/snapshot", "HEAD")
    proc.run("git", "-C", repo, "bundle", "create", "--quiet", path, "refs/cspace/x/snapshot")
    return path


def test_header_and_pack_are_found(bundle: Path) -> None:
    header = read_header(bundle)
    assert header.top == "refs/cspace/x/"
    with open_pack(bundle, header) as pack:
        assert os.read(pack.fileno(), 4) == b"PACK"


@pytest.mark.parametrize("content", [b"", START, START + b"-x\n"])
def test_a_header_that_does_not_end_is_read_up_to_a_limit(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "archive.bundle"
    path.write_bytes(content)
    os.truncate(path, 10 << 30)
    with pytest.raises(CspaceError, match=r"not a git bundle|header is larger than"):
        read_header(path)


def test_a_link_or_a_fifo_in_its_place_is_refused(bundle: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(bundle)
    with pytest.raises(OSError, match="symbolic"):
        read_header(link)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(CspaceError, match="not a regular file"):
        read_header(tmp_path / "fifo")
