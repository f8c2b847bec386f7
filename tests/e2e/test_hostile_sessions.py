"""What an agent leaves in its sessions directory outlives it, and does nothing on the host."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.outside import MARKER, Outside, make_outside, ordinary_person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

PROJECTS = "/home/dev/.claude/projects"
# In the running instance: the directory that holds a mount can be renamed, and its name taken.
TAKEN = {
    "link": "mv ./-workspace gone; ln -s $1 ./-workspace; ln -s $1 linked",
    "fifo": "mv ./-workspace gone; mkfifo ./-workspace",
    "closed": "chmod 0 ./-workspace .",
}
PLANT = """
set -eu
cd /home/dev/.claude/projects
for each in . ./-workspace; do
    git init --quiet $each
    git -C $each config core.fsmonitor "touch $1/sung; false"
done
ln -s $2/private.txt ./-workspace/5f0c9a21-0000-4000-8000-000000000000.jsonl
ln -s $2 ./-outside
mkfifo ./-workspace/5f0c9a22-0000-4000-8000-000000000000.jsonl
truncate --size=10G ./-workspace/5f0c9a23-0000-4000-8000-000000000000.jsonl
mkdir many; cd many; seq $3 | xargs touch
"""
# What the host does while all of that lies there.
COMMANDS = ("list", "status", "doctor", "prune --dry-run --json", "stop mercury", "up mercury")


@pytest.fixture(scope="module")
def outside(new: NewPerson, program: Path, engine: str) -> Iterator[Outside]:
    with ordinary_person(new, program, engine) as person:
        yield make_outside(person)


@pytest.mark.parametrize("kind", TAKEN)
def test_what_took_the_place_of_a_mount_point_is_moved_aside_and_the_instance_starts(
    outside: Outside, kind: str
) -> None:
    person = outside.person
    person.cspace("up", kind)
    before = outside.look()
    script = f"set -e; cd {PROJECTS}; echo said >-workspace/one.jsonl; {TAKEN[kind]}"
    person.inside(kind, "bash", "-c", script, "-", str(outside.path))
    person.cspace("stop", kind)
    person.cspace("up", kind)
    assert "MEMORY.md" in person.inside(kind, "ls", f"{PROJECTS}/-workspace/memory")
    sessions = person.state(kind).sessions
    kept = sessions / ("-workspace" if kind == "closed" else "gone") / "one.jsonl"
    assert kept.read_text(encoding="utf-8") == "said\n"
    assert kind == "closed" or os.path.lexists(sessions / "-workspace.aside")
    person.cspace("down", kind)
    assert kept.is_file()
    assert outside.look() == before
    assert outside.taken() == []


def test_a_sessions_directory_full_of_traps_costs_nothing_and_leads_nowhere(
    outside: Outside, counts: Callable[[int, int], int]
) -> None:
    person, many = outside.person, counts(10_000, 1_000_000)
    person.cspace("up", "mercury")
    before = outside.look()
    planted = ("bash", "-c", PLANT, "-", str(outside.canaries), str(outside.path), str(many))
    person.inside("mercury", *planted)
    sessions = person.state("mercury").sessions
    person.run("git", "status", cwd=sessions)
    assert outside.sung() == {"sung"}
    for words in COMMANDS:
        answer = person.run(person.program, *words.split(), ok=(0, 8))
        assert MARKER not in answer.out + answer.err
    (gone,) = person.cspace("down", "mercury", "--json").json["instances"]
    assert gone["sessions"] == str(sessions)
    person.cspace("restore", "mercury")
    person.cspace("down", "--discard", "mercury")
    assert len(os.listdir(sessions / "many")) == many
    refused = person.at(sessions / "-workspace").cspace("list", ok=2)
    assert "belongs to an instance" in refused.err
    assert outside.sung() == set()
    assert outside.look() == before
    # `taken` reads every file that it finds.
    person.run("find", sessions, "-size", "+1G", "-delete")
    person.run("rm", "-r", sessions / "many")
    assert outside.taken() == []


def test_no_instance_sees_the_sessions_of_another(outside: Outside) -> None:
    person = outside.person
    person.cspace("up", "earth")
    person.cspace("up", "mars")
    person.inside("earth", "sh", "-c", f"echo said >{PROJECTS}/-workspace/earth.jsonl")
    everywhere = ("sh", "-c", 'find / -name "earth.jsonl" 2>/dev/null; true')
    assert person.inside("earth", *everywhere).strip() == f"{PROJECTS}/-workspace/earth.jsonl"
    assert person.inside("mars", *everywhere) == ""
    person.cspace("down", "--all")
    assert (person.state("earth").sessions / "-workspace/earth.jsonl").is_file()
    assert not person.state("mars").sessions.exists()
