"""Repositories that are not plain, and that work all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]


def linked_worktree(person: Person) -> Person:
    linked = person.repo.parent / "linked"
    person.git("worktree", "add", "--quiet", "-b", "feature", linked)
    other = person.at(linked)
    other.commit("feature.txt")
    return other


def submodule(person: Person) -> Person:
    part = person.at(person.repo.parent / "part")
    part.repo.mkdir()
    part.git("init", "--quiet")
    part.commit("part.txt")
    person.git("submodule", "--quiet", "add", part.repo, "libs/part")
    person.git("commit", "--quiet", "--message", "Add a part")
    return person


def detached(person: Person) -> Person:
    person.commit("later.txt")
    person.git("switch", "--quiet", "--detach", "HEAD~1")
    return person


def shallow(person: Person) -> Person:
    person.commit("second.txt")
    clone = person.at(person.repo.parent / "shallow")
    person.git("clone", "--quiet", "--depth=1", f"file://{person.repo}", clone.repo)
    return clone


@pytest.mark.parametrize("make", [linked_worktree, submodule, detached, shallow])
def test_a_worktree_or_submodule_breaks_git_inside_hazard_work_is_made_archived_and_restored(
    person: Person, make: Callable[[Person], Person]
) -> None:
    odd = make(person)
    name = make.__name__.replace("_", "-")
    head, files = odd.git("rev-parse", "HEAD"), odd.git("ls-files", "--recurse-submodules")
    odd.cspace("up", name)
    assert odd.inside(name, "git", "rev-parse", "HEAD").strip() == head
    assert odd.inside(name, "git", "ls-files", "--recurse-submodules").strip() == files
    assert odd.inside(name, "git", "status", "--porcelain") == ""
    odd.inside(name, "sh", "-c", "echo work >work; git add work; git commit -qm Work")
    said = odd.inside(name, "git", "log", "--format=%H %s")
    odd.cspace("down", name)
    odd.cspace("restore", name)
    assert odd.inside(name, "git", "log", "--format=%H %s") == said
    assert odd.inside(name, "git", "status", "--porcelain") == ""
    assert odd.git("rev-parse", "HEAD") == head
    odd.cspace("down", "--discard", name)


def test_all_worktrees_of_a_repository_share_its_instances_and_its_context(person: Person) -> None:
    odd = linked_worktree(person)
    assert odd.cspace("init", "--json").json["root"] == str(person.repo)
    assert not (odd.repo / ".cspace").exists()
    person.cspace("up", "mercury")
    (row,) = odd.cspace("list", "--json").json["instances"]
    assert row["name"] == "mercury"
    odd.cspace("up", "mercury")
    odd.cspace("down", "mercury")
    assert person.leftovers() == []


@pytest.mark.parametrize("repo", ['pr: o\'be "é", $HOME=x/my#repo'])
def test_a_path_with_spaces_quotes_unicode_and_a_colon(new: NewPerson, repo: str) -> None:
    with new(repo=repo) as person:
        person.cspace("init")
        person.cspace("up", "mercury")
        person.inside(
            "mercury", "sh", "-c", "echo shared >.cspace/context/findings/x.md; echo work >work"
        )
        assert (person.repo / ".cspace/context/findings/x.md").read_text("utf-8") == "shared\n"
        person.cspace("down", "mercury")
        person.cspace("restore", "mercury")
        assert person.inside("mercury", "cat", "work") == "work\n"
