"""Repositories below a workspace come along; broken ones stop the packing and are named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.instance.snapshot_manifest import Carried, Problem
from cspace.instance.snapshot_pack import BUNDLE
from tests.instance.snapshot_trees import (
    clone,
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


def make_nested(workspace: Path, name: str = "vendor/nested") -> tuple[Path, str]:
    """Return a repository inside the workspace, and its one commit."""
    nested = workspace / name
    nested.mkdir(parents=True)
    git(nested, "init", "--quiet")
    return nested, commit(nested, "inner.txt", "inner\n")


def break_blob(repository: Path, name: str) -> None:
    """Remove the object of a committed file, and change the file, which could replace it."""
    blob = git(repository, "rev-parse", f"HEAD:{name}")
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (repository / name).write_text("changed\n", encoding="utf-8")


def carried(workspace: Path, host: Path) -> dict[bytes, Carried]:
    manifest = manifest_of(workspace.with_name("exchange") / BUNDLE, host)
    return {repository.path: repository.carried for repository in manifest.repositories}


def test_a_submodules_commits_are_lost_in_teardown_hazard_they_come_back(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "--quiet")
    commit(library, "lib.txt")
    git(workspace, "submodule", "--quiet", "add", library, "deps/lib")
    git(workspace, "commit", "--quiet", "-m", "Add a submodule")
    unpushed = commit(workspace / "deps/lib", "unpushed.txt")
    said = outlook(workspace), outlook(workspace / "deps/lib")
    before, after = there_and_back(host, workspace)
    assert after == before
    assert (outlook(workspace), outlook(workspace / "deps/lib")) == said
    assert git(workspace / "deps/lib", "rev-parse", "HEAD") == unpushed
    manifest_of(tmp_path / "exchange" / BUNDLE, host)
    assert git(host, "cat-file", "-t", unpushed) == "commit"


def test_a_nested_repository_comes_back_even_where_it_is_ignored(
    host: Path, workspace: Path
) -> None:
    nested, inner = make_nested(workspace)
    ignored, _ = make_nested(workspace, "build/ignored")
    (ignored / "inner.txt").write_text("x" * (2 << 20), encoding="utf-8")
    said = outlook(nested), outlook(ignored)
    before, after = there_and_back(host, workspace)
    assert after == before
    assert (outlook(nested), outlook(ignored)) == said
    assert carried(workspace, host)[b"vendor/nested/.git"] is Carried.OBJECTS
    assert git(host, "cat-file", "-t", inner) == "commit"


def test_a_bare_repository_that_is_tracked_as_files_comes_back_as_files(
    host: Path, workspace: Path
) -> None:
    git(workspace, "init", "--quiet", "--bare", "fixtures/bare.git")
    git(workspace, "push", "--quiet", "fixtures/bare.git", "HEAD:refs/heads/main")
    git(workspace, "add", "fixtures")
    git(workspace, "commit", "--quiet", "-m", "Add a fixture")
    before, after = there_and_back(host, workspace)
    assert any(path.startswith(b"fixtures/bare.git/objects/") for path in after)
    assert after == before
    assert git(workspace, "status", "--porcelain") == ""


def test_a_clone_that_borrows_objects_comes_back_whole(host: Path, workspace: Path) -> None:
    git(workspace, "clone", "--quiet", "--shared", workspace, "borrower")
    commit(workspace / "borrower", "more.txt")
    said = outlook(workspace / "borrower")
    before, after = there_and_back(host, workspace)
    assert after == before
    assert outlook(workspace / "borrower") == said


@pytest.mark.parametrize("cut", ["--depth=1", "--filter=blob:none"])
def test_a_nested_shallow_or_partial_clone_travels_as_files(
    host: Path, workspace: Path, cut: str
) -> None:
    git(host, "config", "uploadpack.allowFilter", "true")
    git(workspace, "clone", "--quiet", "--no-checkout", cut, f"file://{host}", "cut")
    git(workspace / "cut", "config", "remote.origin.url", "/nowhere")
    before, after = there_and_back(host, workspace)
    assert carried(workspace, host)[b"cut/.git"] is Carried.FILES
    assert after == before
    assert git(workspace / "cut", "log", "--format=%s") == git(
        workspace.with_name("workspace.before") / "cut", "log", "--format=%s"
    )


def test_a_shallow_workspace_of_a_shallow_host_costs_only_what_is_new(
    host: Path, tmp_path: Path
) -> None:
    shallow, workspace = tmp_path / "shallow", tmp_path / "workspace"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{host}", shallow)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{shallow}", workspace)
    commit(workspace, "new.txt")
    before, said = survey(workspace), outlook(workspace)
    known = git(shallow, "rev-parse", "HEAD")
    (tmp_path / "asked").write_text(f"known {known}\nshallow {known}\n", encoding="ascii")
    assert pack(workspace, tmp_path / "exchange", "--host", str(tmp_path / "asked")).code == 0
    assert carried(workspace, shallow) == {b".git": Carried.OBJECTS}
    workspace.rename(tmp_path / "before")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{shallow}", workspace)
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    assert survey(workspace) == before
    assert outlook(workspace) == said


def test_a_workspace_with_more_history_than_its_shallow_host_comes_back(
    host: Path, tmp_path: Path
) -> None:
    shallow, workspace = tmp_path / "shallow", tmp_path / "workspace"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{host}", shallow)
    clone(host, workspace)
    before, said = survey(workspace), outlook(workspace)
    known = git(shallow, "rev-parse", "HEAD")
    (tmp_path / "asked").write_text(f"known {known}\nshallow {known}\n", encoding="ascii")
    assert pack(workspace, tmp_path / "exchange", "--host", str(tmp_path / "asked")).code == 0
    assert carried(workspace, shallow) == {b".git": Carried.FILES}
    workspace.rename(tmp_path / "before")
    workspace.mkdir()
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    assert survey(workspace) == before
    assert outlook(workspace) == said


def test_a_workspace_whose_history_is_cut_where_the_hosts_is_not_comes_back(
    host: Path, workspace: Path
) -> None:
    other = workspace.with_name("other")
    other.mkdir()
    git(other, "init", "--quiet")
    commit(other, "a")
    commit(other, "b")
    git(workspace, "fetch", "--quiet", "--depth=1", f"file://{other}", "HEAD:refs/heads/foreign")
    said = outlook(workspace)
    before, after = there_and_back(host, workspace)
    assert carried(workspace, host) == {b".git": Carried.FILES}
    assert after == before
    assert outlook(workspace) == said


@pytest.mark.parametrize("damage", ["blob", "ref", "index", "head", "config", "pack"])
def test_a_broken_nested_repository_stops_the_packing_and_is_named(
    workspace: Path, tmp_path: Path, damage: str
) -> None:
    nested, _ = make_nested(workspace)
    assert pack(workspace, tmp_path / "exchange").code == 0
    (tmp_path / "exchange" / BUNDLE).unlink()
    damages: dict[str, Callable[[], object]] = {
        "blob": lambda: break_blob(nested, "inner.txt"),
        "ref": lambda: (nested / ".git/refs/heads/lost").write_text("1" * 40, encoding="ascii"),
        "index": lambda: (nested / ".git/index").write_bytes(b"DIRC garbage"),
        "head": lambda: (nested / ".git/HEAD").write_bytes(b"\0\0\0"),
        "config": lambda: (nested / ".git/config").write_bytes(b"[broken"),
        "pack": lambda: truncate_pack(nested),
    }
    damages[damage]()
    answer = pack(workspace, tmp_path / "exchange")
    assert answer.code == 1
    assert answer.message.startswith("the repository vendor/nested/.git is broken: ")
    assert answer.hint.endswith("git -C vendor/nested/.git fsck")
    assert not (tmp_path / "exchange" / BUNDLE).exists()


def truncate_pack(repository: Path) -> None:
    git(repository, "repack", "--quiet", "-a", "-d")
    pack_file = next((repository / ".git/objects/pack").glob("*.pack"))
    pack_file.chmod(0o644)
    pack_file.write_bytes(pack_file.read_bytes()[:60])


def test_the_files_of_a_workspace_without_git_come_along(
    host: Path, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "work.txt").write_text("work", encoding="utf-8")
    shutil.rmtree(workspace / ".git")
    before = survey(workspace)
    assert pack(workspace, tmp_path / "exchange").code == 0
    manifest = manifest_of(tmp_path / "exchange" / BUNDLE, host)
    assert manifest.problems == (Problem(b".git", "the workspace has no repository"),)
    fresh(host, workspace)
    (workspace / ".cspace/context").mkdir(parents=True)
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    after = survey(workspace)
    assert {k: v for k, v in after.items() if not k.startswith((b".git/", b".cspace"))} == (
        before | {b".git": after[b".git"]}
    )
    assert git(workspace, "rev-parse", "HEAD") == git(host, "rev-parse", "HEAD")


@pytest.mark.parametrize("damage", ["head", "objects", "blob", "index"])
def test_a_workspace_whose_git_is_damaged_comes_back_as_it_was(
    host: Path, workspace: Path, tmp_path: Path, damage: str
) -> None:
    commit(workspace, "work.txt", "work\n")
    damages: dict[str, Callable[[], object]] = {
        "head": (workspace / ".git/HEAD").unlink,
        "objects": lambda: shutil.rmtree(workspace / ".git/objects"),
        "blob": lambda: break_blob(workspace, "work.txt"),
        "index": lambda: (workspace / ".git/index").write_bytes(b"DIRC garbage"),
    }
    damages[damage]()
    before = survey(workspace)
    assert pack(workspace, tmp_path / "exchange").code == 0
    manifest = manifest_of(tmp_path / "exchange" / BUNDLE, host)
    assert [problem.path for problem in manifest.problems] == [b".git"]
    fresh(host, workspace)
    assert unpack(workspace, tmp_path / "exchange" / BUNDLE).code == 0
    assert survey(workspace) == before


def test_the_index_of_notes_is_made_anew_and_not_archived(host: Path, workspace: Path) -> None:
    place = workspace / ".git/cspace"
    place.mkdir()
    for name in ("index.db", ".index.db.0123.tmp", "index.lock", "mine.txt"):
        (place / name).write_text("x", encoding="utf-8")
    (workspace / "cspace").mkdir()
    (workspace / "cspace/index.db").write_text("no index of ours", encoding="utf-8")
    before, after = there_and_back(host, workspace)
    gone = {b".git/cspace/index.db", b".git/cspace/.index.db.0123.tmp"}
    assert before.keys() - after.keys() == gone
    assert {b".git/cspace/mine.txt", b"cspace/index.db"} <= after.keys()
