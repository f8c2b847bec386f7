"""Frozen legacy volumes: every byte of every safe file comes home, and nothing else."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from pathlib import Path

import pytest

from cspace.migration.model import Fate
from tests.migration.sources import LEGACY, PLACE, hashes, legacy, migrate, read_tar

# What the fixtures are. They are never edited: a new case is a new file.
FROZEN = {
    "engine": "a4c2ba76848cd382b29a5832c3e8e5f59c65f1435618af6372a78ca448fa4dc3",
    "links": "06e283273600fb84161a736d062b5fdbe5a7d956cd3bf0e7d332140d08cc6488",
    "many": "96a6c4dcf904f7961d9f895771f6a976443a365ec1e6d976425dd00f4257e704",
    "names-gnu": "4dbcdfa8a4ea7e8f52b59f3cfce5cabea1c62f378992297f2afc048c56f3a07c",
    "names-pax": "b2a9520a7ca2f0aea1b61a871e024823b111cd6496f489e273350cac54d2c840",
    "nested": "a1eee7978711e84dea68852066ce57d0b7b3fa7f8f25789a0814813bffb28889",
    "sparse-gnu": "4c8b6effa2f25506be4c16d64d6e93c89bf2a645ec11b054eb7d7918d45892e3",
    "sparse-posix0.0": "5bd48b56a30b5f960b4c6515a818848f26304b12ccf04848b6d91b89857e8181",
    "sparse-posix0.1": "be113457d3d356b8b3a06a81d91ff459753bf86fe247dc031c92156d795fad59",
    "sparse-posix1.0": "5dea7cabf3856093448649fb2d3747a9a8e139386da8288c6582da8de35bcbd8",
}
_TWINS = {
    *("Twin.md", "twin.md", "TWIN.MD", "Dir/one.md", "dir/two.md", "straße.md", "STRASSE.md"),
    *("twin-\u00e9.md", "twin-e\u0301.md", "b" * 256 + ".md", ("long-" * 30 + "/") * 40 + "x.md"),
}
UNSAFE = {
    "engine": {"dev", "in", "out", "pipe"},
    "links": {
        *("in", "out", "up", "dangling", "self", "dirlink", "fifo", "null", "disk"),
        *("hard-to-nothing.md", "hard-to-link.md", "hard-out.md", "twice.md", "fileordir"),
        *("../escaped.md", "a/../../escaped2.md"),
        *("/tmp/cspace-absolute.md", "//tmp/cspace-absolute2.md"),
        *(".git", "sub/.GIT/config", ".Git/hooks/post-checkout", "x.md.lock", ".x.0.cspace-tmp"),
        *("repo/HEAD", "repo/objects/x", "repo/refs/heads/main", "wt/HEAD", "wt/commondir"),
    },
    "names-gnu": _TWINS,
    "names-pax": _TWINS,
    "nested": {"d/" * 65 + "toodeep.md"},
}


def test_the_fixtures_are_never_edited() -> None:
    found = {
        file.name.removesuffix(".tar.xz"): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in LEGACY.iterdir()
    }
    assert found == FROZEN


@pytest.mark.parametrize("name", FROZEN)
def test_every_byte_of_every_safe_file_comes_home_and_nothing_else(
    name: str, tmp_path: Path
) -> None:
    outcome = migrate(legacy(name), tmp_path)
    unsafe = UNSAFE.get(name, set())
    assert {str(one.path) for one in outcome.plan.files if one.fate is Fate.UNSAFE} == unsafe
    wanted = {path: digest for path, digest in read_tar(legacy(name)).items() if path not in unsafe}
    assert hashes(tmp_path) == wanted
    assert len(outcome.written) == len(wanted)
    assert sorted(os.listdir(tmp_path / ".cspace")) == [".memory.md.lock", "memory"]


@pytest.mark.parametrize("name", FROZEN)
def test_a_second_run_has_nothing_left_to_do(name: str, tmp_path: Path) -> None:
    first = migrate(legacy(name), tmp_path)
    again = migrate(legacy(name), tmp_path)
    assert again.plan.pending == again.written == ()
    assert {one.fate for one in again.plan.files} <= {Fate.SAME, Fate.UNSAFE}
    assert again.left == first.left


@pytest.mark.parametrize("name", FROZEN)
def test_a_source_is_dispensable_only_when_all_its_files_were_verified(
    name: str, tmp_path: Path
) -> None:
    outcome = migrate(legacy(name), tmp_path)
    files = {path for path in UNSAFE.get(name, ()) if path in read_tar(legacy(name))}
    # Python's own reader finds nothing behind a hard link that leads to nothing.
    broken = {one for one in UNSAFE.get(name, ()) if one in {"hard-to-nothing.md", "hard-out.md"}}
    assert {str(one.path) for one in outcome.left} == files | broken
    assert outcome.verified == outcome.dispensable == (not files)


def test_foreign_owners_and_odd_modes_become_ours_and_sane(tmp_path: Path) -> None:
    migrate(legacy("nested"), tmp_path)
    for path in (tmp_path / PLACE).rglob("*"):
        status = path.lstat()
        assert (status.st_uid, status.st_gid) == (os.getuid(), os.getgid())
        assert stat.S_IMODE(status.st_mode) == (0o755 if path.is_dir() else 0o644)
        assert path.is_dir() or status.st_nlink == 1


def test_a_file_keeps_its_age_unless_no_clock_could_have_said_it(tmp_path: Path) -> None:
    migrate(legacy("nested"), tmp_path)
    place = tmp_path / PLACE
    assert (place / "user_role.md").stat().st_mtime == 1718000000
    assert (place / "notes/a/2.md").stat().st_mtime == 1718000000 + 2 * 86400
    for strange in ("early.md", "late.md"):
        assert (place / strange).stat().st_mtime > 1750000000


def test_an_empty_directory_is_no_file_and_is_not_made(tmp_path: Path) -> None:
    migrate(legacy("nested"), tmp_path)
    assert not (tmp_path / PLACE / "nothing").exists()


@pytest.mark.parametrize("name", [name for name in FROZEN if name.startswith("sparse")])
def test_a_sparse_file_comes_home_sparse(name: str, tmp_path: Path) -> None:
    migrate(legacy(name), tmp_path)
    status = (tmp_path / PLACE / "holes.bin").stat()
    assert status.st_size == 50_000_000
    assert status.st_blocks * 512 < 2_000_000


def test_gnu_tar_finds_the_same_bytes_in_a_sparse_volume(tmp_path: Path) -> None:
    migrate(legacy("sparse-gnu"), tmp_path)
    (tmp_path / "tar").mkdir()
    archive = LEGACY / "sparse-gnu.tar.xz"
    subprocess.run(["tar", "-xJf", archive, "-C", tmp_path / "tar"], check=True)
    subprocess.run(["diff", "-r", tmp_path / "tar", tmp_path / PLACE], check=True)
    assert len(os.listdir(tmp_path / "tar")) == 7


def test_two_hard_links_become_two_files(tmp_path: Path) -> None:
    migrate(legacy("engine"), tmp_path)
    first, second = (tmp_path / PLACE / name for name in ("role.md", "notes/hard.md"))
    assert first.read_bytes() == second.read_bytes() == b"role\n"
    assert first.stat().st_ino != second.stat().st_ino


def test_nothing_is_written_outside_of_the_directory(tmp_path: Path) -> None:
    root = tmp_path / "a" / "project"
    root.mkdir(parents=True)
    migrate(legacy("links"), root)
    assert os.listdir(root) == [".cspace"]
    assert os.listdir(tmp_path / "a") == ["project"]
    assert os.listdir(tmp_path) == ["a"]
    assert not Path("/tmp/cspace-absolute.md").exists()
