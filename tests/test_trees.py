"""A tree is removed whatever an agent made of it, and nothing beyond it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cspace.trees import remove_tree, unlock_directories
from tests.swapping import swapping


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


def test_unlocking_directories_for_removal_follows_no_link_that_is_swapped_in(
    tmp_path: Path,
) -> None:
    modes = set[int]()
    for naive in (True, False):
        doomed, outside = tmp_path / f"doomed-{naive}", tmp_path / f"outside-{naive}"
        (doomed / "a").mkdir(parents=True)
        (outside / "closed").mkdir(parents=True)
        (doomed / "a" / "closed").mkdir()
        outside.chmod(0o500)
        with swapping(doomed / "a", outside, count=50_000) as swapper:
            while swapper.poll() is None:
                (doomed / "a").chmod(0o700) if naive else unlock_directories(doomed)
        modes.add(stat.S_IMODE(outside.stat().st_mode))
        if naive:
            assert modes == {0o700}
    assert modes == {0o700, 0o500}
