from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cspace import git, proc
from cspace.errors import CommandFailed, CspaceError, UsageError
from cspace.files import Owner
from cspace.instance.workspace import (
    Clone,
    new_workspace,
    plan_start,
    set_aside_copies,
    strip_credentials,
)
from cspace.paths import INSIDE
from cspace.project import find_project

OWNER = Owner(os.geteuid() or 1000, os.getegid() or 1000)


def clone(start: Path, target: Path, *, branch: str | None = None) -> Clone:
    project = find_project(start)
    wanted = plan_start(project, "mercury", branch)
    with new_workspace(project, wanted, target, OWNER) as made:
        pass
    return made


def inside(workspace: Path, *words: str) -> str:
    """Run git in a workspace as an agent would; only a test does this from outside."""
    return proc.run(
        "git", "-C", workspace, "-c", f"safe.directory={workspace}", *words, env=_agent()
    ).text


def inodes(root: Path) -> set[tuple[int, int]]:
    """Return device and inode of every path below root but its directories."""
    found = (path.lstat() for path in root.rglob("*") if not path.is_dir())
    return {(one.st_dev, one.st_ino) for one in found}


def _agent() -> dict[str, str]:
    # The workspace may belong to another uid than the test's.
    keys = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    return git.environment() | keys


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state" / "workspace"
    assert not (tmp_path / "state" / "workspace.partial").exists()


def test_a_clone_is_on_its_own_branch_at_the_hosts_head(repo: Path, workspace: Path) -> None:
    made = clone(repo, workspace)
    assert made.base == git.resolve(repo, "HEAD")
    assert inside(workspace, "branch", "--show-current") == "cspace/mercury"
    assert inside(workspace, "status", "--porcelain") == ""
    assert (workspace / "README.md").read_bytes() == (repo / "README.md").read_bytes()


def test_a_hard_linked_clone_hazard_no_inode_is_shared_with_the_hosts_repository(
    repo: Path, workspace: Path
) -> None:
    clone(repo, workspace)
    assert not inodes(repo) & inodes(workspace)
    assert not (workspace / ".git/objects/info/alternates").exists()


def test_only_what_base_and_remote_tracking_refs_reach_comes_along(
    repo: Path, workspace: Path
) -> None:
    git.git(repo, "checkout", "--quiet", "-b", "private")
    git.git(repo, "commit", "--quiet", "--allow-empty", "-m", "Private")
    private = git.resolve(repo, "HEAD")
    git.git(repo, "checkout", "--quiet", "main")
    git.git(repo, "update-ref", "refs/remotes/origin/main", "main")
    made = clone(repo, workspace)
    refs = inside(workspace, "for-each-ref", "--format=%(refname)").splitlines()
    assert refs == ["refs/heads/cspace/mercury", "refs/remotes/origin/main"]
    assert made.known == (git.resolve(repo, "main"),)
    with pytest.raises(CommandFailed):
        inside(workspace, "cat-file", "-e", str(private))


def test_notes_of_the_asked_prefix_come_along_whole_and_no_others(
    repo: Path, workspace: Path
) -> None:
    for ref in ("refs/notes/cs/decisions", "refs/notes/cs/progress", "refs/notes/mine"):
        proc.run("git", "-C", repo, "notes", f"--ref={ref}", "add", "-m", f"of {ref}")
    project = find_project(repo)
    wanted = replace(plan_start(project, "mercury", None), notes="refs/notes/cs")
    with new_workspace(project, wanted, workspace, OWNER):
        pass
    assert git.list_refs(repo, "refs/notes/cs") == {
        line.split()[1]: line.split()[0]
        for line in inside(workspace, "show-ref").splitlines()
        if "refs/notes" in line
    }
    show = ("notes", "--ref=refs/notes/cs/progress", "show")
    assert inside(workspace, *show) == "of refs/notes/cs/progress"


def test_git_is_dead_in_a_copy_of_a_worktree_hazard_a_clone_has_its_head(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git.git(repo, "worktree", "add", "--quiet", linked)
    git.git(linked, "commit", "--quiet", "--allow-empty", "-m", "Only here")
    assert clone(linked, workspace).base == git.resolve(linked, "HEAD") != git.resolve(repo, "HEAD")


def test_a_detached_head_is_a_base_like_any_other(repo: Path, workspace: Path) -> None:
    git.git(repo, "commit", "--quiet", "--allow-empty", "-m", "Second")
    git.git(repo, "checkout", "--quiet", "--detach", "HEAD~1")
    assert clone(repo, workspace).base == git.resolve(repo, "HEAD")


def test_a_shallow_host_gives_a_shallow_clone(repo: Path, workspace: Path, tmp_path: Path) -> None:
    git.git(repo, "commit", "--quiet", "--allow-empty", "-m", "Second")
    shallow = tmp_path / "shallow"
    git.git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repo}", shallow)
    clone(shallow, workspace)
    assert inside(workspace, "rev-list", "--count", "HEAD") == "1"
    assert inside(workspace, "fsck") == ""


def test_submodules_break_create_hazard_they_are_filled_from_the_host_without_a_network(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    git.git(tmp_path, "clone", "--quiet", repo, library)
    (library / "lib.txt").write_text("library\n", encoding="utf-8")
    git.git(library, "add", "-A")
    git.git(library, "commit", "--quiet", "-m", "Library")
    allow = ("-c", "protocol.file.allow=always")
    git.git(repo, *allow, "submodule", "--quiet", "add", library, "deps/lib")
    git.git(repo, "commit", "--quiet", "-m", "Add library")
    library.rename(tmp_path / "gone")
    clone(repo, workspace)
    assert (workspace / "deps/lib/lib.txt").read_text() == "library\n"
    assert inside(workspace, "status", "--porcelain") == ""
    assert inside(workspace / "deps/lib", "remote", "get-url", "origin") == str(library)


def add_submodule(repo: Path, library: Path) -> Path:
    """Give repo a submodule deps/lib, and the submodule a private branch beside."""
    git.git(library.parent, "clone", "--quiet", repo, library)
    allow = ("-c", "protocol.file.allow=always")
    git.git(repo, *allow, "submodule", "--quiet", "add", library, "deps/lib")
    git.git(repo, "commit", "--quiet", "-m", "Add library")
    part = repo / "deps/lib"
    git.git(part, "checkout", "--quiet", "-b", "private")
    git.git(part, "commit", "--quiet", "--allow-empty", "-m", "Private")
    return part


def test_a_submodule_shares_no_inode_and_keeps_its_private_branches(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    part = add_submodule(repo, tmp_path / "library")
    private = git.git(part, "rev-parse", "private").text
    git.git(part, "checkout", "--quiet", "main")
    # What git does with a submodule whose address is the host's checkout.
    linked = tmp_path / "linked"
    git.git(tmp_path, "clone", "--quiet", part, linked)
    ours = inodes(repo)
    assert inodes(linked) & ours
    clone(repo, workspace)
    assert (workspace / "deps/lib/README.md").is_file()
    assert not inodes(workspace) & ours
    with pytest.raises(CommandFailed):
        inside(workspace / "deps/lib", "cat-file", "-e", private)
    assert inside(workspace, "submodule", "status").startswith(" ")
    assert inside(workspace, "status", "--porcelain", "--ignored") == "!! .cspace/"


def test_a_submodule_whose_commit_the_host_lacks_stays_empty(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    add_submodule(repo, tmp_path / "library")
    absent = "12" * 20
    git.git(repo, "update-index", "--cacheinfo", f"160000,{absent},deps/lib")
    git.git(repo, "commit", "--quiet", "-m", "Move on")
    clone(repo, workspace)
    assert list((workspace / "deps/lib").iterdir()) == []
    assert inside(workspace, "submodule", "status") == f"-{absent} deps/lib"


def test_files_of_lfs_break_create_hazard_they_stay_pointers_and_nothing_is_downloaded(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    smudge = f"sh -c 'if [ -z \"$GIT_LFS_SKIP_SMUDGE\" ]; then touch {ran}; fi; cat'"
    proc.run("git", "config", "--global", "filter.lfs.smudge", smudge)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n"
    (repo / "large.bin").write_text(pointer, encoding="utf-8")
    (repo / ".gitattributes").write_text("*.bin filter=lfs -text\n", encoding="utf-8")
    git.git(repo, "add", "--all")
    git.git(repo, "commit", "--quiet", "-m", "Large")
    git.git(tmp_path, "clone", "--quiet", repo, "plain")
    assert ran.exists()  # what plain git starts
    ran.unlink()
    clone(repo, workspace)
    assert (workspace / "large.bin").read_text() == pointer
    assert not ran.exists()


def test_a_nested_repository_breaks_create_hazard_it_stays_in_the_hosts_worktree(
    repo: Path, workspace: Path
) -> None:
    git.git(repo, "init", "--quiet", "nested")
    (repo / "nested" / "file.txt").write_text("mine\n", encoding="utf-8")
    (repo / ".worktreeinclude").write_text("nested/\n*.txt\n", encoding="utf-8")
    clone(repo, workspace)
    assert not (workspace / "nested").exists()


@pytest.mark.parametrize("name", ["with space", "quote'\"", "ünïcode", "co:lon", "$dollar"])
def test_any_path_can_be_cloned(repo: Path, workspace: Path, name: str) -> None:
    moved = repo.rename(repo.with_name(name))
    clone(moved, workspace)
    assert (workspace / "README.md").is_file()


def test_env_missing_in_the_copy_hazard_worktreeinclude_brings_it_and_no_links(
    repo: Path, workspace: Path
) -> None:
    (repo / ".gitignore").write_text(".env*\nlinked\n", encoding="utf-8")
    (repo / ".worktreeinclude").write_text(".env\n/config/*.key\nlinked\n", encoding="utf-8")
    (repo / ".env").write_text("A=1\n", encoding="utf-8")
    (repo / ".env").chmod(0o600)
    (repo / "config").mkdir()
    (repo / "config" / "dev.key").write_text("key\n", encoding="utf-8")
    (repo / "linked").symlink_to("/etc/passwd")
    clone(repo, workspace)
    assert (workspace / ".env").read_text() == "A=1\n"
    assert (workspace / ".env").stat().st_mode & 0o777 == 0o600
    assert (workspace / "config" / "dev.key").read_text() == "key\n"
    assert not (workspace / "linked").is_symlink()


def test_checkout_reset_stash_and_clean_leave_the_shared_context_alone(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    decisions = repo / ".cspace/context/decisions"
    decisions.mkdir(parents=True)
    (decisions / "one.md").write_text("committed\n", encoding="utf-8")
    git.git(repo, "add", "-A")
    git.git(repo, "commit", "--quiet", "-m", "Context")
    (decisions / "one.md").write_text("edited\n", encoding="utf-8")
    git.git(repo, "commit", "--quiet", "--all", "-m", "Edit")
    clone(repo, workspace)
    link = workspace / ".cspace/context"
    assert link.readlink() == Path(INSIDE.context_store)
    # Outside of a container the link leads nowhere; a directory stands in for the mount.
    mounted = tmp_path / "mounted" / "decisions"
    mounted.mkdir(parents=True)
    link.unlink()
    link.symlink_to(mounted.parent)
    (mounted / "one.md").write_text("live\n", encoding="utf-8")
    (mounted / "two.md").write_text("new\n", encoding="utf-8")
    for revision in ("HEAD~1", "HEAD~2"):
        inside(workspace, "checkout", "--quiet", "--detach", revision)
        inside(workspace, "checkout", "--quiet", "cspace/mercury")
        inside(workspace, "reset", "--quiet", "--hard")
        inside(workspace, "add", "--all")
        inside(workspace, "stash", "--include-untracked")
        assert inside(workspace, "status", "--porcelain") == ""
    inside(workspace, "clean", "--quiet", "-ffdx")
    assert (mounted / "one.md").read_text() == "live\n"
    assert (mounted / "two.md").read_text() == "new\n"


@pytest.mark.parametrize(
    ("url", "stripped"),
    [
        ("https://user:token@example.com/a.git", "https://example.com/a.git"),
        ("https://token@example.com:8443/a.git", "https://example.com:8443/a.git"),
        ("ssh://git:pw@example.com/a.git", "ssh://git@example.com/a.git"),
        ("git@example.com:a/b.git", "git@example.com:a/b.git"),
        ("/srv/git/a@b.git", "/srv/git/a@b.git"),
    ],
)
def test_origin_has_no_password(repo: Path, workspace: Path, url: str, stripped: str) -> None:
    git.git(repo, "remote", "add", "origin", url)
    git.git(repo, "remote", "set-url", "--push", "origin", "https://user:token@example.com/push")
    clone(repo, workspace)
    assert strip_credentials(url) == stripped
    assert inside(workspace, "config", "remote.origin.url") == stripped
    assert inside(workspace, "remote", "get-url", "--push", "origin") == stripped
    assert "token" not in (workspace / ".git/config").read_text()


def test_a_repository_without_a_remote_gives_a_clone_without_one(
    repo: Path, workspace: Path
) -> None:
    clone(repo, workspace)
    assert inside(workspace, "remote") == ""


def test_a_repository_without_commits_is_refused(tmp_path: Path) -> None:
    git.git(tmp_path, "init", "--quiet", "empty")
    with pytest.raises(UsageError, match="no commits"):
        plan_start(find_project(tmp_path / "empty"), "mercury", None)


def test_a_branch_with_unmerged_commits_is_not_taken_over(repo: Path, workspace: Path) -> None:
    git.git(repo, "branch", "cspace/mercury")
    assert plan_start(find_project(repo), "mercury", None).branch == "cspace/mercury"
    git.git(repo, "checkout", "--quiet", "cspace/mercury")
    git.git(repo, "commit", "--quiet", "--allow-empty", "-m", "Unmerged")
    git.git(repo, "checkout", "--quiet", "main")
    assert plan_start(find_project(repo), "mercury", None).branch == "cspace/mercury-2"


def test_an_existing_branch_is_continued_and_a_bad_name_refused(
    repo: Path, workspace: Path
) -> None:
    git.git(repo, "branch", "feature")
    git.git(repo, "commit", "--quiet", "--allow-empty", "-m", "Later")
    assert clone(repo, workspace, branch="feature").base == git.resolve(repo, "feature")
    with pytest.raises(UsageError, match=r"'a\.\.b'"):
        plan_start(find_project(repo), "mercury", "a..b")


def test_a_link_in_place_of_the_mount_point_is_refused(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / ".cspace").symlink_to(outside)
    git.git(repo, "add", "-A")
    git.git(repo, "commit", "--quiet", "-m", "Plant")
    with pytest.raises(CspaceError, match=r"\.cspace"):
        clone(repo, workspace)
    assert not list(outside.iterdir())
    assert not workspace.exists()


def test_the_users_hooks_do_not_run_for_a_clone(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    (hooks / "post-checkout").chmod(0o755)
    proc.run("git", "config", "--global", "core.hooksPath", hooks)
    git.git(repo, "checkout", "--quiet", "-b", "shows-that-it-works")
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    clone(repo, workspace)
    assert not (tmp_path / "ran").exists()


def test_an_include_pattern_that_fits_more_than_it_should_stops_nothing(
    repo: Path, workspace: Path
) -> None:
    aside = ".cspace/quarantine/1f0e9a2b/item/four.md"
    git.git(repo, "rm", "--quiet", "--cached", "README.md")
    (repo / "README.md").write_text("changed\n", encoding="utf-8")
    for name in (
        ".cspace/context/decisions/one.md",
        ".cspace/memory/two.md",
        "notes/three.md",
        aside,
    ):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("mine\n", encoding="utf-8")
    (repo / ".worktreeinclude").write_text("*.md\n", encoding="utf-8")
    clone(repo, workspace)
    assert (workspace / "README.md").read_text() == "# Sample\n"
    assert (workspace / "notes/three.md").read_text() == "mine\n"
    assert (workspace / ".cspace/context").readlink() == Path(INSIDE.context_store)
    assert not (workspace / ".cspace/memory").exists()
    assert not (workspace / ".cspace/quarantine").exists()


def test_another_name_of_a_branch_is_no_branch_name(repo: Path) -> None:
    git.git(repo, "switch", "--quiet", "--create", "feature")
    with pytest.raises(UsageError, match="branch"):
        plan_start(find_project(repo), "mercury", "@{-1}")


def test_an_address_that_is_no_url_is_kept(repo: Path, workspace: Path) -> None:
    git.git(repo, "remote", "add", "origin", "http://user:pw@[x")
    clone(repo, workspace)
    assert inside(workspace, "config", "remote.origin.url") == "http://[x"


def test_an_include_file_that_is_a_link_is_refused(
    repo: Path, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "patterns").write_text("*.env\n", encoding="utf-8")
    (repo / ".worktreeinclude").symlink_to(tmp_path / "patterns")
    (repo / "x.env").touch()
    listed = git.list_untracked(repo, repo / ".worktreeinclude")
    assert listed == ("x.env",)
    with pytest.raises(UsageError, match=r"\.worktreeinclude is a link"):
        clone(repo, workspace)


def test_what_is_in_place_of_the_shared_directories_is_set_aside(
    repo: Path, workspace: Path
) -> None:
    clone(repo, workspace)
    link, memory = workspace / ".cspace/context", workspace / ".cspace/memory"
    memory.mkdir()
    set_aside_copies(workspace)
    assert link.is_symlink()
    assert list(memory.iterdir()) == []
    for content in ("first", "second"):
        (memory / "note.md").write_text(content, encoding="utf-8")
        set_aside_copies(workspace)
        memory.mkdir()
    assert (workspace / ".cspace/memory.aside/note.md").read_text() == "first"
    assert (workspace / ".cspace/memory.aside-2/note.md").read_text() == "second"


def test_setting_aside_follows_no_link(repo: Path, workspace: Path, tmp_path: Path) -> None:
    clone(repo, workspace)
    outside = tmp_path / "outside"
    (outside / "memory").mkdir(parents=True)
    (outside / "memory/note.md").touch()
    (workspace / ".cspace").rename(workspace / "was")
    (workspace / ".cspace").symlink_to(outside)
    assert (workspace / ".cspace/memory/note.md").exists()  # what a path would lead to
    set_aside_copies(workspace)
    assert sorted(path.name for path in outside.iterdir()) == ["memory"]
