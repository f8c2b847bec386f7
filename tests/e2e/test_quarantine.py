"""What an agent leaves in the shared directories runs and redirects nothing on the host."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, kill
from tests.quarantine.planted import status_runs

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

MEMORY = "/home/dev/.claude/projects/-workspace/memory"
FINDINGS = "/workspace/.cspace/context/findings"
# As the agent writes it: a repository whose settings run a program of the host.
PLANT = """
set -eu; cd "$1"; git init --quiet x; git -C x config core.fsmonitor "touch $2; false"
mv x/.git .git; rmdir x
"""


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    with new() as one:
        one.cspace("init")
        one.cspace("up", "mercury")
        yield one


@pytest.fixture
def canary(person: Person, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The agent's user is not who runs these tests: git would refuse its repository for that alone.
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "*")
    return person.home / "canary"


def quarantined(person: Person) -> dict[str, str]:
    """Return what lies in quarantine: each path with its id."""
    found = person.cspace("quarantine", "list", "--json").json["quarantined"]
    return {one["path"]: one["id"] for one in found}


@pytest.mark.parametrize("command", ["up", "start"])
def test_fsmonitor_hazard_what_an_agent_planted_is_moved_before_anything_runs_it(
    person: Person, canary: Path, command: str
) -> None:
    planted = {MEMORY: ".cspace/memory", FINDINGS: ".cspace/context/findings"}
    for inside, path in planted.items():
        person.inside("mercury", "bash", "-c", PLANT, "-", inside, str(canary))
        assert status_runs(person.repo / path, canary)
    answer = person.cspace(command, "mercury", "--json")
    (ready,) = answer.json["instances"]
    assert {one["path"] for one in ready["quarantined"]} == {f"{p}/.git" for p in planted.values()}
    things = quarantined(person)
    for path in planted.values():
        assert not status_runs(person.repo / path, canary)
        assert f"cspace quarantine restore {things[f'{path}/.git']}" in answer.err
        person.cspace("quarantine", "remove", things[f"{path}/.git"], "--yes")
    assert person.inside("mercury", "ls", "-A", FINDINGS) == ""


def test_links_and_fifos_are_moved_and_can_be_brought_back(person: Person) -> None:
    script = f"cd {MEMORY}; ln -s /etc/passwd 'a\nb'; mkfifo fifo; mkdir -p kept; touch kept/x"
    person.inside("mercury", "bash", "-c", script)
    memory = person.repo / ".cspace/memory"
    assert (memory / "a\nb").read_text() == Path("/etc/passwd").read_text()  # open() follows it
    doctor = person.cspace("doctor", ok=8)
    assert r"shared: '.cspace/memory/a\nb' is a link" in doctor.out
    assert quarantined(person) == {}  # doctor only looks
    notes = person.cspace("up", "mercury").err.splitlines()
    assert sum(line.startswith("note: moved ") for line in notes) == 2
    assert {path.name for path in memory.iterdir()} == {"MEMORY.md", "kept"}
    things = quarantined(person)
    person.cspace("quarantine", "restore", things[".cspace/memory/a\nb"])
    assert (memory / "a\nb").is_symlink()
    person.cspace("up", "mercury")
    again = quarantined(person)
    assert again.keys() == things.keys()
    for id_ in again.values():
        person.cspace("quarantine", "remove", id_, "--yes")
    person.run("rm", "--recursive", memory / "kept")  # no memory, and doctor names it
    assert person.cspace("doctor").out == "nothing found\n"


def test_a_component_that_an_agent_swaps_meanwhile_leads_no_command_outside(
    person: Person, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / ".git").mkdir(parents=True)
    (outside / "link").symlink_to("/etc")
    script = f"""
        cd {FINDINGS}
        until [ -e /tmp/enough ]; do
            mkdir -p real; mv -T real x; mv -T x real; ln -s {outside} x; mv -T x spare
        done 2>/dev/null
    """
    swapping = person.start(person.program, "exec", "mercury", "--", "bash", "-c", script)
    try:
        for _ in range(4):
            person.cspace("init")
            person.run(person.program, "doctor", ok=(0, 8))
    finally:
        person.inside("mercury", "touch", "/tmp/enough")
        kill(swapping)
    assert sorted(path.name for path in outside.iterdir()) == [".git", "link"]


def test_a_log_does_not_move_the_cursor(person: Person) -> None:
    write = r"printf 'one\ttwo\033[2J\233\rthree\n\342\200\256four\n' >/proc/1/fd/1"
    person.inside("mercury", "bash", "-c", write)
    shown = person.cspace("logs", "mercury", "--tail", "2").out
    assert shown == "one\ttwo\\x1b[2J\ufffd\\rthree\n\\u202efour\n"
    following = person.start(person.program, "logs", "mercury", "--follow", "--tail", "2")
    assert following.stdout is not None
    assert following.stdout.readline() == "one\ttwo\\x1b[2J\ufffd\\rthree\n".encode()
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=60)


def test_down_moves_what_is_there_and_says_so(person: Person) -> None:
    person.cspace("up", "venus")
    person.inside("venus", "ln", "-s", "/etc", f"{MEMORY}/link")
    answer = person.cspace("down", "venus", "--json")
    (gone,) = answer.json["instances"]
    assert [one["path"] for one in gone["quarantined"]] == [".cspace/memory/link"]
    assert "note: moved '.cspace/memory/link' aside" in answer.err
    # Git on the host sees none of it.
    assert "quarantine" not in person.git("status", "--porcelain", "--untracked-files=all")
