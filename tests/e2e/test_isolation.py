"""What git does in an instance changes nothing that is shared, and nothing of the host's objects.

The host's commits hold other records and another memory than the shared directories do now.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

RECORD = ".cspace/context/decisions/one.md"
ONLY_THERE = ".cspace/context/decisions/there.md"
UNCOMMITTED = ".cspace/context/findings/new.md"
REMEMBERED = ".cspace/memory/MEMORY.md"
SHARED = {RECORD: "live\n", UNCOMMITTED: "found\n", REMEMBERED: "remembered now\n"}
OPERATIONS = {
    "checkout and back": "git checkout -q other; git checkout -q cspace/mercury",
    "merge": "git merge -q --no-edit other",
    "rebase": "git rebase -q other",
    "reset --hard": "git reset -q --hard HEAD~1; git reset -q --hard ORIG_HEAD",
    "add -A": "echo work >work; git add -A; git commit -qm Work",
    "stash -u": "echo more >>README.md; echo new >new; git stash -qu; git stash pop -q",
    "commit -a": "echo more >>README.md; git commit -qam More",
    "a path by name": "git checkout -q other -- README.md; git reset -q --hard",
}


def plant(person: Person) -> None:
    """Commit versions of what is shared, on two branches, and put others in the directories."""
    person.cspace("init")
    person.commit(RECORD, "first\n")
    person.commit(REMEMBERED, "remembered first\n")
    person.git("checkout", "-q", "-b", "other")
    person.commit(RECORD, "other\n")
    person.commit(ONLY_THERE, "there\n")
    person.commit(REMEMBERED, "remembered there\n")
    person.commit("README.md", "# Other\n")
    person.git("checkout", "-q", "main")
    person.commit("later.txt")
    person.git("update-ref", "refs/remotes/origin/other", "other")
    for name, content in SHARED.items():
        person.write(name, content)


def shared(root: Path) -> dict[str, str]:
    """Return every file of the shared directories that holds a record or a memory."""
    paths = (*(root / ".cspace/context").glob("*/*.md"), *(root / ".cspace/memory").glob("*"))
    return {str(path.relative_to(root)): path.read_text("utf-8") for path in paths}


def aside(name: str) -> str:
    """Return where a file is after its shared directory was set aside."""
    top, shared_name, below = name.split("/", 2)
    return f"{top}/{shared_name}.aside/{below}"


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    with new() as one:
        plant(one)
        part = one.at(one.repo.parent / "part")
        part.repo.mkdir()
        part.git("init", "--quiet")
        part.commit("part.txt")
        one.git("submodule", "--quiet", "add", part.repo, "libs/part")
        one.git("commit", "--quiet", "--message", "Add a part")
        one.git("repack", "-adq")
        one.cspace("up", "mercury")
        one.inside("mercury", "git", "branch", "other", "origin/other")
        yield one
        one.cspace("down", "--discard", "mercury")


def test_without_a_mask_git_rewrites_stages_and_deletes_what_is_shared(person: Person) -> None:
    clone = person.at(person.repo.parent / "unmasked")
    person.git("clone", "--quiet", person.repo, clone.repo)
    for name, content in SHARED.items():
        clone.write(name, content)
    clone.git("add", "--all")
    assert set(clone.git("diff", "--cached", "--name-only").splitlines()) == set(SHARED)
    clone.git("reset", "--quiet", "--hard")
    assert shared(clone.repo) == {RECORD: "first\n", REMEMBERED: "remembered first\n"}
    clone.git("checkout", "--quiet", "other")
    assert shared(clone.repo)[RECORD] == "other\n"


# Everything in one call: a start of cspace takes longer than all of this.
LOOK = f"""
git status --porcelain; git diff --cached --name-only
git log --format= --name-only HEAD ^$start ^other
cat {RECORD} >&2; git reset --quiet --hard $start
"""


@pytest.mark.parametrize("script", OPERATIONS.values(), ids=OPERATIONS)
def test_git_rewrites_the_shared_context_hazard_in_an_instance_it_leaves_it_alone(
    person: Person, script: str
) -> None:
    assert shared(person.repo) == SHARED
    said = person.cspace("exec", "mercury", "--", "bash", "-euc",
                         f"start=$(git rev-parse HEAD); {script}\n{LOOK}")  # fmt: skip
    assert shared(person.repo) == SHARED
    assert ".cspace" not in said.out
    assert said.err.endswith("live\n")


def test_git_clean_deletes_the_shared_context_hazard_it_takes_the_link_alone(
    person: Person,
) -> None:
    person.inside("mercury", "git", "clean", "-ffdxq")
    assert shared(person.repo) == SHARED
    person.cspace("stop", "mercury")
    person.cspace("up", "mercury")
    assert person.inside("mercury", "cat", RECORD) == "live\n"


def test_a_restore_from_another_commit_replaces_only_the_link(person: Person) -> None:
    person.inside("mercury", "git", "restore", "--source=other", ".")
    assert person.inside("mercury", "cat", RECORD) == "other\n"
    assert shared(person.repo) == SHARED
    person.cspace("stop", "mercury")
    person.cspace("up", "mercury")
    assert person.inside("mercury", "cat", RECORD) == "live\n"
    assert person.inside("mercury", "cat", aside(RECORD)) == "other\n"
    person.inside("mercury", "sh", "-c", "rm -r .cspace/*.aside; git reset -q --hard")


def test_the_memory_is_absent_from_the_workspace_and_can_not_be_committed_by_accident(
    person: Person,
) -> None:
    script = f"mkdir .cspace/memory; echo mine >{REMEMBERED}; git add -A"
    person.inside("mercury", "sh", "-ec", script)
    assert person.inside("mercury", "git", "status", "--porcelain") == ""
    person.inside("mercury", "git", "add", REMEMBERED, ok=1)
    assert person.inside("mercury", "git", "diff", "--cached", "--name-only") == ""
    assert shared(person.repo) == SHARED
    remembered = "/home/dev/.claude/projects/-workspace/memory/MEMORY.md"
    assert person.inside("mercury", "cat", remembered) == SHARED[REMEMBERED]


def test_what_was_written_in_place_of_what_is_shared_is_archived(person: Person) -> None:
    person.cspace("up", "venus")
    script = (
        f"git restore --source=origin/other .; mkdir -p .cspace/memory; echo mine >{REMEMBERED}"
    )
    person.inside("venus", "sh", "-ec", f"{script}; echo mine >{RECORD}")
    person.cspace("down", "venus")
    person.cspace("restore", "venus")
    for name in (aside(RECORD), aside(REMEMBERED)):
        assert person.inside("venus", "cat", name) == "mine\n"
    assert shared(person.repo) == SHARED
    person.cspace("down", "--discard=venus")


def test_a_hard_linked_clone_hazard_no_inode_of_the_host_is_writable_from_inside(
    person: Person,
) -> None:
    ours = inodes(person.repo / ".git")
    linked = person.repo.parent / "linked"
    person.git("clone", "--quiet", "--local", person.repo, linked)
    assert inodes(linked) & ours  # what plain git does
    writable = inodes_inside(person, "mercury")
    # Device numbers inside are those of the host: what is in the workspace is found there.
    assert inodes(person.workspace("mercury") / ".git") <= writable
    assert not ours & writable


def inodes(directory: Path) -> set[tuple[int, int]]:
    """Return device and inode of a directory and everything below it."""
    found = {(status.st_dev, status.st_ino) for status in [directory.lstat()]}
    for path in directory.rglob("*"):
        status = path.lstat()
        found.add((status.st_dev, status.st_ino))
    return found


def inodes_inside(person: Person, name: str) -> set[tuple[int, int]]:
    """Return device and inode of every path below the mounts that are writable inside."""
    rows = (
        line.split() for line in person.inside(name, "cat", "/proc/self/mountinfo").splitlines()
    )
    writable = [row[4] for row in rows if "rw" in row[5].split(",")]
    places = [place for place in writable if not place.startswith(("/proc", "/sys", "/dev"))]
    assert {"/", "/workspace"} <= set(places)
    script = 'find "$@" -xdev -printf "%D %i\\n" 2>/dev/null || true'
    listed = person.inside(name, "sh", "-c", script, "sh", *places)
    return {(int(device), int(inode)) for device, inode in map(str.split, listed.splitlines())}
