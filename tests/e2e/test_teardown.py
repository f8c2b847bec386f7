"""`down` never loses work, and `restore` brings it back byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, labelled
from tests.instance.snapshot_trees import Seen, survey

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

WORK = r"""
set -eu
echo committed >committed; git add committed; git commit -qm Unpushed
echo stashed >stashed; git add stashed; git stash push -qm 'First stash'
echo again >README.md; git stash push -qm 'Second stash'
echo staged >staged; git add staged; echo 'and more' >>staged
echo uncommitted >>README.md
printf 'untracked \377\0 bytes, no newline' >"un tracked
name"
printf x >"$(printf 'n\351me')"; mkdir -p empty deep/er
echo '#!/bin/sh' >deep/er/run; chmod 755 deep/er/run
ln -s ../nowhere deep/broken; ln -s er deep/link; chmod 600 staged
echo ignored >debug.log; git branch aside HEAD~1; git tag -a v1 -m One
"""
QUESTIONS = (
    ("git", "status", "--porcelain=v2", "--branch", "--ignored"),
    ("git", "stash", "list", "--format=%H %gs"),
    ("git", "log", "--all", "--format=%H %D %s"),
    ("git", "diff"),
    ("git", "diff", "--cached"),
    ("git", "ls-files", "--stage"),
    ("git", "for-each-ref"),
)


def outlook(person: Person, name: str) -> tuple[str, ...]:
    """Return what git says in an instance."""
    return tuple(person.inside(name, *words) for words in QUESTIONS)


def outside_git(person: Person, name: str) -> Seen:
    """Return kind, mode, time and bytes of every path in a workspace but git's own."""
    seen = survey(person.workspace(name))
    return {path: what for path, what in seen.items() if path.split(b"/")[0] != b".git"}


def archives(person: Person) -> set[str]:
    """Return the archives as `<name>/<time>`."""
    refs = person.git("for-each-ref", "--format=%(refname)", "refs/cspace/archive").splitlines()
    return {"/".join(ref.split("/")[3:5]) for ref in refs}


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    with new() as one:
        one.commit(".gitignore", "*.log\n")
        yield one


def test_down_archives_all_work_and_restore_brings_it_back_byte_for_byte(person: Person) -> None:
    person.cspace("up", "mercury")
    person.inside("mercury", "bash", "-c", WORK)
    seen, said = outside_git(person, "mercury"), outlook(person, "mercury")
    assert "Unpushed" in said[2]
    branch, head = person.git("branch", "--show-current"), person.git("rev-parse", "HEAD")
    (gone,) = person.cspace("down", "mercury", "--json").json["instances"]
    assert archives(person) == {f"mercury/{gone['archive']}"}
    assert person.leftovers() == []
    assert (person.git("branch", "--show-current"), person.git("rev-parse", "HEAD")) == (
        branch,
        head,
    )
    person.cspace("restore", "mercury")
    assert outside_git(person, "mercury") == seen
    assert outlook(person, "mercury") == said
    assert archives(person) == {f"mercury/{gone['archive']}"}


def test_an_archive_can_be_restored_under_another_name_while_the_first_is_there(
    person: Person,
) -> None:
    person.cspace("restore", "mercury", "--as", "venus")
    assert outside_git(person, "venus") == outside_git(person, "mercury")
    assert outlook(person, "venus") == outlook(person, "mercury")
    answer = person.cspace("restore", "mercury", "--as", "venus", ok=4)
    assert "error: instance venus exists" in answer.err
    assert "hint: cspace down venus" in answer.err


def test_down_with_discard_leaves_no_archive(person: Person) -> None:
    before = archives(person)
    person.cspace("up", "mars")
    person.inside("mars", "bash", "-c", "echo lost >lost")
    (gone,) = person.cspace("down", "--discard", "mars", "--json").json["instances"]
    assert gone == {"name": "mars", "archive": None, "quarantined": []}
    assert archives(person) == before
    assert not person.state("mars").state.exists()


def test_two_teardowns_of_one_name_are_two_archives_and_either_comes_back(person: Person) -> None:
    stamps = []
    for content in ("first", "second"):
        person.cspace("up", "earth")
        person.inside("earth", "sh", "-c", f"echo {content} >work")
        stamps.append(person.cspace("down", "earth", "--json").json["instances"][0]["archive"])
    person.cspace("restore", "earth", "--archive", stamps[0])
    assert person.inside("earth", "cat", "work") == "first\n"
    person.cspace("down", "--discard", "earth")


def test_a_dormant_workspace_is_listed_and_its_work_archived(person: Person) -> None:
    person.cspace("up", "jupiter")
    person.inside("jupiter", "sh", "-c", "echo kept >work")
    person.run("docker", "rm", "--force", person.container("jupiter"))
    rows = person.cspace("list", "--json").json["instances"]
    assert {row["name"]: row["status"] for row in rows}["jupiter"] == "dormant"
    person.cspace("up", "jupiter")
    assert person.inside("jupiter", "cat", "work") == "kept\n"
    person.run("docker", "rm", "--force", person.container("jupiter"))
    (gone,) = person.cspace("down", "jupiter", "--json").json["instances"]
    assert f"jupiter/{gone['archive']}" in archives(person)


@pytest.mark.parametrize("words", [("down", "pluto"), ("status", "pluto"), ("stop", "pluto")])
def test_what_does_not_exist_is_not_found(person: Person, words: tuple[str, ...]) -> None:
    answer = person.cspace(*words, ok=3)
    assert "error: there is no instance 'pluto' in this project" in answer.err
    assert "hint: " in answer.err


def test_down_of_all_leaves_no_container_and_no_state(person: Person) -> None:
    person.cspace("down", "--all")
    assert person.leftovers() == []
    assert labelled(person.id) == []
