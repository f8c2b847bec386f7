"""Names of projects: by the git common directory, in a table that only writes change."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CspaceError, NotFound, UsageError
from cspace.events import Event
from cspace.memory.projects import LOCK, TABLE, Projects
from cspace.project import find_repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "home/.cspace/memory"


def git_directory(tmp_path: Path, name: str) -> Path:
    place = tmp_path / name / ".git"
    place.mkdir(parents=True)
    return place


def test_a_read_of_a_name_creates_nothing(root: Path, tmp_path: Path) -> None:
    projects, place = Projects(root), git_directory(tmp_path, "web")
    assert projects.name_of(place) is None
    assert projects.expected(place, "web-01234567") == "web"
    assert projects.list() == ()
    assert not root.exists()


def test_a_claimed_name_stays_and_two_repositories_of_one_name_differ(
    root: Path, tmp_path: Path
) -> None:
    projects = Projects(root)
    one, other = git_directory(tmp_path, "a/web"), git_directory(tmp_path, "b/web")
    assert projects.claim(one, "web-01234567") == "web"
    assert projects.claim(other, "web-89abcdef") == "web-2"
    assert projects.claim(one, "web-01234567") == "web"
    assert (projects.name_of(one), projects.name_of(other)) == ("web", "web-2")


def test_a_directory_without_a_repository_is_passed_over_and_said(
    root: Path, tmp_path: Path
) -> None:
    said: list[Event] = []
    (root / "projects/web").mkdir(parents=True)
    projects = Projects(root, report=said.append)
    assert projects.claim(git_directory(tmp_path, "web"), "web-01234567") == "web-2"
    assert "cspace memory projects use web" in said[0].detail


def test_the_name_of_a_moved_repository_is_taken_over_by_use(root: Path, tmp_path: Path) -> None:
    projects, old = Projects(root), git_directory(tmp_path, "web")
    projects.claim(old, "web-01234567")
    new = tmp_path / "moved/.git"
    new.parent.mkdir()
    old.rename(new)
    assert projects.expected(new, "moved-89abcdef") == "moved"
    projects.use(new, "moved-89abcdef", "web")
    assert projects.name_of(new) == "web"
    assert projects.name_of_id("moved-89abcdef") == "web"
    assert projects.name_of(old) is None


def test_use_leaves_a_name_to_the_repository_that_is_still_there(
    root: Path, tmp_path: Path
) -> None:
    projects = Projects(root)
    one, other = git_directory(tmp_path, "web"), git_directory(tmp_path, "fork")
    projects.claim(one, "web-01234567")
    projects.use(other, "fork-89abcdef", "web")
    assert projects.name_of(one) == projects.name_of(other) == "web"


def test_forgetting_takes_the_name_and_leaves_the_memories(root: Path, tmp_path: Path) -> None:
    projects, place = Projects(root), git_directory(tmp_path, "web")
    projects.claim(place, "web-01234567")
    (root / "projects/web").mkdir(parents=True)
    assert [one.directory for one in projects.forget("web")] == [place]
    assert [(one.name, one.directory) for one in projects.list()] == [("web", None)]
    with pytest.raises(NotFound, match="no repository has the project's name 'web'"):
        projects.forget("web")


@pytest.mark.parametrize("name", ["..", "a/b", "-x", "MEMORY", "con", "x" * 61, "a\0b", ""])
def test_a_name_that_is_none_is_refused_and_nothing_is_written(
    root: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(UsageError):
        Projects(root).use(git_directory(tmp_path, "web"), "web-01234567", name)
    assert not root.exists()


@pytest.mark.parametrize(("slug", "name"), [("con", "con-2"), ("memory", "memory-2")])
def test_a_repository_of_a_reserved_name_gets_another(
    root: Path, tmp_path: Path, slug: str, name: str
) -> None:
    assert Projects(root).claim(git_directory(tmp_path, slug), f"{slug}-01234567") == name


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b'{"schema_version": 2}', b'{"schema_version": 1, "projects": {"/a": ".."}}'],
)
def test_a_broken_table_is_named_and_left_as_it_is(
    root: Path, tmp_path: Path, content: bytes
) -> None:
    root.mkdir(parents=True)
    (root / TABLE).write_bytes(content)
    with pytest.raises(CspaceError, match="is no table of projects"):
        Projects(root).claim(git_directory(tmp_path, "web"), "web-01234567")
    assert (root / TABLE).read_bytes() == content


def test_a_linked_table_is_not_followed(root: Path, tmp_path: Path) -> None:
    root.mkdir(parents=True)
    (root / TABLE).symlink_to(tmp_path / "outside")
    with pytest.raises(CspaceError, match="symbolic links"):
        Projects(root).claim(git_directory(tmp_path, "web"), "web-01234567")
    assert not (tmp_path / "outside").exists()


def test_a_path_that_is_no_utf_8_has_a_name_too(root: Path, tmp_path: Path) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    place.mkdir()
    projects = Projects(root)
    assert projects.claim(place, "project-01234567") == "project"
    assert projects.name_of(place) == "project"
    assert projects.list()[0].present


def test_many_that_claim_at_once_get_names_of_their_own(root: Path, tmp_path: Path) -> None:
    places = [git_directory(tmp_path, f"{number}/web") for number in range(8)]
    names: list[str] = []
    claims = [
        threading.Thread(
            target=lambda one=one: names.append(Projects(root).claim(one, "web-0123456"))
        )
        for one in places
    ]
    for each in claims:
        each.start()
    for each in claims:
        each.join()
    assert len(set(names)) == 8
    assert {Projects(root).name_of(one) for one in places} == set(names)
    assert (root / LOCK).exists()


def test_worktrees_and_subdirectories_are_one_repository(repo: Path, tmp_path: Path) -> None:
    linked, below = tmp_path / "linked", repo / "deep/er"
    below.mkdir(parents=True)
    proc.run("git", "-C", repo, "worktree", "add", "--quiet", linked)
    found = [find_repository(start) for start in (repo, linked, below)]
    assert found == found[:1] * 3
    assert len({one.project_id for one in found if one}) == 1


def test_a_worktree_of_a_bare_repository_has_a_memory_too(repo: Path, tmp_path: Path) -> None:
    bare, linked = tmp_path / "bare.git", tmp_path / "linked"
    proc.run("git", "clone", "--quiet", "--bare", repo, bare)
    proc.run("git", "-C", bare, "worktree", "add", "--quiet", linked)
    found = find_repository(linked)
    assert found is not None
    assert found.common_directory == bare
    assert found.project_id.startswith("bare-git-")
