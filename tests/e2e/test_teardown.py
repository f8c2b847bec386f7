"""`down` never loses work, and `restore` brings it back byte for byte."""

from __future__ import annotations

import shlex
import time
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
git worktree add -q --detach .side; cd .side; echo side >side; git add side; git commit -qm Detached
echo more >>side; cd ..
git init -q --bare /tmp/library; git clone -q /tmp/library /tmp/first 2>/tmp/said
cd /tmp/first; git commit -q --allow-empty -m Library; git push -q origin HEAD; cd /workspace
git -c protocol.file.allow=always submodule --quiet add /tmp/library library
git -C library commit -q --allow-empty -m 'Unpushed in the submodule'; echo dirty >library/dirty
git init -q nested; cd nested; echo inner >inner; git add inner; git commit -qm Nested
echo stashed >>inner; git stash push -qm 'Nested stash'; cd ..
"""
REPOSITORIES = ("/workspace", "/workspace/.side", "/workspace/library", "/workspace/nested")
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
    script = "; ".join(shlex.join(words) for words in QUESTIONS)
    return tuple(
        person.inside(name, "bash", "-euc", f"cd {place}; {script}") for place in REPOSITORIES
    )


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


def restored(person: Person, name: str) -> None:
    """Take an instance down and bring it back."""
    person.cspace("down", name)
    person.cspace("restore", name)


def test_work_lost_in_teardown_hazard_restore_brings_all_of_it_back_byte_for_byte(
    person: Person,
) -> None:
    person.cspace("up", "mercury")
    person.inside("mercury", "bash", "-c", WORK)
    # Asked first: `git status` refreshes the index of a repository below.
    said = outlook(person, "mercury")
    seen = outside_git(person, "mercury")
    for expected, answer in zip(
        ("Unpushed", "Detached", "Unpushed in the submodule", "Nested stash"), said, strict=True
    ):
        assert expected in answer
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
    (made,) = person.cspace("restore", "mercury", "--as", "venus", "--json").json["instances"]
    assert made["branch"] == person.inside("venus", "git", "branch", "--show-current").strip()
    # Asking git has refreshed the index of a repository below mercury.
    here, there = (outside_git(person, name) for name in ("venus", "mercury"))
    assert {path for path in here if here[path] != there[path]} <= {
        b"nested/.git",
        b"nested/.git/index",
    }
    assert here.keys() == there.keys()
    assert outlook(person, "venus") == outlook(person, "mercury")
    answer = person.cspace("restore", "mercury", "--as", "venus", ok=4)
    assert "error: instance venus exists" in answer.err
    assert "hint: cspace down venus" in answer.err


def test_down_with_discard_leaves_no_archive(person: Person) -> None:
    before = archives(person)
    person.cspace("up", "mars")
    person.inside("mars", "bash", "-c", "echo lost >lost")
    (gone,) = person.cspace("down", "--discard", "mars", "--json").json["instances"]
    assert gone.pop("name") == "mars"
    assert gone == {"archive": None, "sessions": None, "quarantined": [], "notices": []}
    assert archives(person) == before
    assert not person.state("mars").state.exists()


def test_two_teardowns_of_one_name_are_two_archives_and_either_comes_back(person: Person) -> None:
    stamps = []
    for content in ("first", "second"):
        person.cspace("up", "earth")
        person.inside("earth", "sh", "-c", f"echo {content} >work")
        stamps.append(person.cspace("down", "earth", "--json").json["instances"][0]["archive"])
    person.cspace("restore", f"earth/{stamps[0]}")
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


def test_what_a_process_writes_while_down_begins_is_kept_to_the_last_line(person: Person) -> None:
    person.cspace("up", "saturn")
    writer = "n=0; while :; do n=$((n+1)); echo $n >>lines; touch new.$n; done"
    person.inside("saturn", "bash", "-c", f"nohup bash -c '{writer}' >/dev/null 2>&1 &")
    lines = person.workspace("saturn") / "lines"
    while not lines.is_file() or lines.stat().st_size < 1000:
        time.sleep(0.01)
    before = lines.read_text(encoding="utf-8").split()
    restored(person, "saturn")
    numbers = lines.read_text(encoding="utf-8").split()
    assert len(numbers) > len(before)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    files = {path.name for path in lines.parent.glob("new.*")}
    # Stopped at any point, it was between the line and the file at most.
    assert len(files) in (len(numbers), len(numbers) - 1)
    person.cspace("down", "--discard", "saturn")


def test_commit_notes_reach_the_host_on_down_and_not_with_discard(person: Person) -> None:
    words = ("git", "notes", "--ref=cs/decisions", "append", "-m")
    person.git(*words[1:], "from the host")
    for name, text in (("uranus", "from uranus"), ("neptune", "discarded")):
        person.cspace("up", name)
        person.inside(name, *words, text)
    person.cspace("down", "uranus")
    person.cspace("down", "--discard", "neptune")
    said = person.git("notes", "--ref=cs/decisions", "show").split("\n")
    assert [line for line in said if line] == ["from the host", "from uranus"]


def test_archives_are_listed_shown_and_pruned_with_escaped_names(person: Person) -> None:
    person.cspace("up", "uranus")
    script = r"""printf x >"$(printf 'red\033[31m\nline\377')"; head -c 2000000 /dev/zero >big.log
        git commit -q --allow-empty -m Work"""
    person.inside("uranus", "bash", "-euc", script)
    person.cspace("down", "uranus")
    listed = person.cspace("archive", "list", "uranus", "--json").json["archives"]
    assert [(row["name"], row["branch"], row["commits"]) for row in listed][-1] == (
        ("uranus", "cspace/uranus", 1)
    )
    assert person.cspace("archive", "list", "uranus").out.count("uranus") == 2 * len(listed)
    shown = person.cspace("archive", "show", "uranus", "--files").out
    assert "\\x1b[31m\\nline\\xff" in shown
    assert "\x1b" not in shown
    assert "big.log   1.9 MiB  ignored by git and above 1048576 bytes" in shown
    document = person.cspace("archive", "show", "uranus", "--files", "--json").json["archive"]
    assert b"red\x1b[31m\nline\xff" in {
        item["path"].encode("utf-8", "surrogateescape") for item in document["items"]
    }
    words = ("archive", "prune", "uranus", "--keep", "0")
    before = archives(person)
    assert "--yes" in person.cspace(*words, ok=2).err
    assert "error: say which archives" in person.cspace("archive", "prune", "--yes", ok=2).err
    planned = person.cspace(*words, "--dry-run", "--json").json
    assert {one["stamp"] for one in planned["archives"]} == {row["stamp"] for row in listed}
    assert archives(person) == before
    person.cspace(*words, "--yes")
    assert archives(person) == {one for one in before if not one.startswith("uranus/")}
    answer = person.cspace("archive", "list", "uranus", ok=3)
    assert "hint: cspace archive list" in answer.err


def test_archives_need_no_engine(person: Person) -> None:
    lost = person.having(DOCKER_HOST="unix:///nonexistent/docker.sock")
    listed = lost.cspace("archive", "list", "--json").json["archives"]
    assert {f"{row['name']}/{row['stamp']}" for row in listed} == archives(person)
    one = f"{listed[0]['name']}/{listed[0]['stamp']}"
    assert lost.cspace("archive", "show", one).out.startswith(f"archive   {one}\n")
    assert lost.cspace("archive", "prune", one, "--dry-run").out == f"{one}\n"


def test_a_restore_of_what_is_unknown_or_damaged_makes_nothing(person: Person) -> None:
    person.cspace("up", "mars")
    person.inside("mars", "sh", "-c", "echo work >work; git add work; git commit -qm Work")
    stamp = person.cspace("down", "mars", "--json").json["instances"][0]["archive"]
    answer = person.cspace("restore", "mars/20200101T000000Z", ok=3)
    assert f"there are: {stamp}" in answer.err
    assert "hint: cspace archive list" in person.cspace("restore", "pluto", ok=3).err
    plan = person.cspace("restore", "mars", "--dry-run", "--json").json["plans"]
    assert "unpack" in [step["action"] for step in plan[0]["steps"]]
    refs = person.git("for-each-ref", "--format=%(refname)", "refs/cspace/archive/mars")
    branch = next(ref for ref in refs.split() if ref.endswith("/0/refs/heads/cspace/mars"))
    person.git("update-ref", "-d", branch)
    answer = person.cspace("restore", "mars", ok=1)
    assert f"archive mars/{stamp} is damaged, so nothing was made" in answer.err
    assert not person.state("mars").state.exists()


@pytest.mark.parametrize("words", [("down", "pluto"), ("status", "pluto"), ("stop", "pluto")])
def test_what_does_not_exist_is_not_found(person: Person, words: tuple[str, ...]) -> None:
    answer = person.cspace(*words, ok=3)
    assert "error: there is no instance 'pluto' in this project" in answer.err
    assert "hint: " in answer.err


def test_down_of_all_leaves_no_container_and_no_state(person: Person) -> None:
    person.cspace("down", "--all")
    assert person.leftovers() == []
    assert labelled(person.id) == []
