"""A tree is removed whatever an agent made of it, and nothing beyond it."""

from __future__ import annotations

import os
from pathlib import Path

from cspace.trees import remove_tree


def test_removing_follows_no_link_and_minds_no_mode(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    doomed = tmp_path / "doomed"
    (doomed / "closed" / "deep").mkdir(parents=True)
    (doomed / "link").symlink_to(outside)
    (doomed / "closed" / "deep").chmod(0)
    (doomed / "closed").chmod(0o500)
    remove_tree(doomed)
    assert not doomed.exists()
    assert (outside / "kept").exists()


def test_a_tree_deeper_than_any_path_can_be_removed(tmp_path: Path) -> None:
    doomed = tmp_path / "doomed"
    doomed.mkdir()
    deepest = os.open(doomed, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=deepest)
        deeper = os.open("d", os.O_RDONLY, dir_fd=deepest)
        os.close(deepest)
        deepest = deeper
    os.fchmod(deepest, 0)
    os.close(deepest)
    doomed.chmod(0)
    remove_tree(doomed)
    assert not doomed.exists()
