"""A clone holds what its refs reach, whatever the host's repository is made of."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from cspace import git, git_objects
from cspace.errors import CommandFailed
from cspace.files import Owner
from cspace.instance.workspace import new_workspace, plan_start
from cspace.project import find_project
from tests.instance.snapshot_trees import ALLOW, commit
from tests.instance.snapshot_trees import git as plain

OWNER = Owner(os.geteuid(), os.getegid())


def clone(host: Path, target: Path) -> Path:
    project = find_project(host)
    with new_workspace(project, plan_start(project, "mercury", None), target, OWNER):
        pass
    assert plain(target, "fsck", "--full", "--strict") == ""
    assert plain(target, "status", "--porcelain") == ""
    return target


def packs(repository: Path) -> set[str]:
    return {path.name for path in (repository / ".git/objects/pack").glob("*.pack")}


def objects(repository: Path) -> set[str]:
    """Return every object that is there, whether or not anything reaches it."""
    words = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return set(plain(repository, *words).split())


def has(repository: Path, name: str) -> bool:
    return name in objects(repository)


def test_a_pack_of_which_all_is_wanted_is_copied_as_it_is(host: Path, tmp_path: Path) -> None:
    plain(host, "repack", "-adq")
    commit(host, "loose.txt")
    before = packs(host)
    made = clone(host, tmp_path / "workspace")
    (own,) = packs(made) - before
    assert packs(made) == {*before, own}
    assert objects(made) == objects(host)


def test_a_pack_that_holds_another_branch_is_not(host: Path, tmp_path: Path) -> None:
    plain(host, "checkout", "-q", "-b", "private")
    secret = commit(host, "secret.txt", "mine\n")
    plain(host, "checkout", "-q", "main")
    plain(host, "repack", "-adq")
    copied = tmp_path / "plain"
    plain(tmp_path, "clone", "-q", "--no-hardlinks", host, copied)
    plain(copied, "update-ref", "-d", "refs/remotes/origin/private")
    assert has(copied, secret)  # what plain git brings along
    made = clone(host, tmp_path / "workspace")
    assert objects(made) == set(plain(host, "rev-list", "--objects", "--no-object-names",
                                      "HEAD").split())  # fmt: skip
    assert not packs(made) & packs(host)
    assert not has(made, secret)


def test_that_a_pack_holds_something_else_is_told_without_a_git_for_each(host: Path) -> None:
    plain(host, "repack", "-adq")
    (index,) = git_objects.list_packs(host)
    held = frozenset(git_objects.packed_objects(host, index))
    assert git_objects.can_hold_only(index, held)
    assert git_objects.can_hold_only(index, held | {"f" * 40})
    assert not git_objects.can_hold_only(index, held - {min(held)})
    assert not git_objects.can_hold_only(index, held - {max(held)})
    assert not git_objects.can_hold_only(index, frozenset())


def test_tags_of_what_comes_along_come_along(host: Path, tmp_path: Path) -> None:
    plain(host, "tag", "light")
    plain(host, "tag", "-a", "full", "-m", "Full", "HEAD~1")
    plain(host, "checkout", "-q", "-b", "private")
    commit(host, "secret.txt")
    plain(host, "tag", "-a", "elsewhere", "-m", "Not of this branch")
    plain(host, "checkout", "-q", "main")
    plain(host, "repack", "-adq")
    made = clone(host, tmp_path / "workspace")
    assert plain(made, "tag").split() == ["full", "light"]
    assert plain(made, "describe") == "full-1-" + "g" + plain(host, "rev-parse", "--short", "HEAD")


def test_objects_that_the_host_borrows_itself_come_along(host: Path, tmp_path: Path) -> None:
    borrower = tmp_path / "borrower"
    plain(tmp_path, "clone", "-q", "--shared", host, borrower)
    own = commit(borrower, "own.txt")
    made = clone(borrower, tmp_path / "workspace")
    assert has(made, own)
    assert not (made / ".git/objects/info/alternates").exists()


def test_a_repository_of_sha256_gives_one(tmp_path: Path) -> None:
    host = tmp_path / "host"
    plain(tmp_path, "init", "-q", "--object-format=sha256", "host")
    commit(host, "one.txt")
    plain(host, "repack", "-adq")
    assert len(commit(host, "two.txt")) == 64
    assert objects(clone(host, tmp_path / "workspace")) == objects(host)


def test_replacements_and_grafts_change_nothing(host: Path, tmp_path: Path) -> None:
    first, head = plain(host, "rev-list", "--reverse", "HEAD").split()
    plain(host, "replace", head, first)
    (host / ".git/info").mkdir(exist_ok=True)
    (host / ".git/info/grafts").write_text(f"{head}\n", encoding="ascii")
    assert plain(host, "rev-list", "HEAD").split() == [head]  # what a person sees there
    made = clone(host, tmp_path / "workspace")
    assert plain(made, "rev-list", "HEAD").split() == [head, first]
    assert (made / "src/main.py").is_file()


def test_a_shallow_repository_in_packs_gives_the_same_cut(host: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    plain(tmp_path, "clone", "-q", "--depth=1", f"file://{host}", shallow)
    plain(shallow, "update-ref", "-d", "refs/remotes/origin/main")
    commit(shallow, "more.txt")
    made = clone(shallow, tmp_path / "workspace")
    assert (made / ".git/shallow").read_bytes() == (shallow / ".git/shallow").read_bytes()
    assert objects(made) == objects(shallow)


def test_what_a_partial_clone_lacks_is_fetched_for_the_workspace_in_one_go(
    host: Path, tmp_path: Path
) -> None:
    for number in range(3):
        commit(host, "src/main.py", f"print({number})\n")
    plain(host, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    plain(tmp_path, *ALLOW, "clone", "-q", "--filter=blob:none", f"file://{host}", partial)
    words = ("rev-list", "--objects", "--missing=print", "HEAD")
    assert plain(partial, *words).count("?") == 3
    before = packs(partial)
    made = clone(partial, tmp_path / "workspace")
    assert len(packs(partial) - before) == 1
    assert objects(made) == objects(host)


def test_a_tracking_ref_whose_object_has_gone_is_left_out(host: Path, tmp_path: Path) -> None:
    tracking = host / ".git/refs/remotes/origin"
    tracking.mkdir(parents=True)
    (tracking / "gone").write_text("12" * 20 + "\n", encoding="ascii")
    (tracking / "there").write_text(plain(host, "rev-parse", "HEAD~1") + "\n", encoding="ascii")
    made = clone(host, tmp_path / "workspace")
    assert plain(made, "for-each-ref", "--format=%(refname)", "refs/remotes").split() == [
        "refs/remotes/origin/there"
    ]


def test_no_pack_shares_its_inode_or_can_be_written(host: Path, tmp_path: Path) -> None:
    plain(host, "repack", "-adq")
    linked = tmp_path / "linked"
    plain(tmp_path, "clone", "-q", "--local", host, linked)
    assert inodes(linked) & inodes(host)  # what plain git does
    made = clone(host, tmp_path / "workspace")
    assert not inodes(made) & inodes(host)
    modes = {path.stat().st_mode & 0o777 for path in (made / ".git/objects/pack").iterdir()}
    assert modes == {0o444}


def inodes(repository: Path) -> set[tuple[int, int]]:
    found = (path.lstat() for path in (repository / ".git").rglob("*") if not path.is_dir())
    return {(one.st_dev, one.st_ino) for one in found}


def test_a_disk_that_is_full_leaves_nothing(host: Path, tmp_path: Path) -> None:
    (host / "noise.bin").write_bytes(os.urandom(1 << 20))
    plain(host, "add", "--all")
    plain(host, "commit", "-q", "-m", "Noise")
    plain(host, "repack", "-adq")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may grow beyond it, which is as far as a test can fill a disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, before[1]))
    try:
        with pytest.raises(CommandFailed, match="the workspace can not be made"):
            clone(host, tmp_path / "state" / "workspace")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "state").iterdir()) == []
    assert list((host / ".git/objects/pack").glob("tmp_*")) == []


def test_a_missing_object_is_said_and_leaves_nothing(host: Path, tmp_path: Path) -> None:
    blob = git.git(host, "rev-parse", "HEAD:src/main.py").text
    (host / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CommandFailed, match=blob):
        clone(host, tmp_path / "state" / "workspace")
    assert list((tmp_path / "state").iterdir()) == []
