"""`cspace doctor NAME` sees what is wrong inside an instance, and names what repairs it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cspace.engine.docker_inspection import DockerInspection
from cspace.errors import CommandFailed
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

REGISTER = """
import json, os, sys
path = os.environ["CLAUDE_CONFIG_DIR"] + "/.claude.json"
document = json.load(open(path))
document["mcpServers"]["cspace-context"] = json.loads(sys.argv[1])
json.dump(document, open(path, "w"))
"""


@pytest.fixture(scope="module")
def someone(new: NewPerson) -> Iterator[Person]:
    """Return a person whose mercury runs and has a secret of the project and one of a variable."""
    with new() as plain:
        secret = plain.home / ".cspace/secrets/projects" / plain.id / "github_token"
        secret.parent.mkdir(parents=True)
        secret.write_text("ghp-marker", encoding="utf-8")
        for path in (secret, *(up for up in secret.parents if up.is_relative_to(plain.home))):
            plain.give(path)
            path.chmod(0o600 if path == secret else 0o700)
        person = plain.having(ANTHROPIC_API_KEY="sk-marker")
        person.cspace("up", "mercury")
        yield person


def diagnoses(person: Person, *, code: int = 8) -> list[dict[str, str]]:
    found: list[dict[str, str]] = person.cspace("doctor", "mercury", "--json", ok=code).json[
        "diagnoses"
    ]
    return found


def register(person: Person, entry: object) -> None:
    """Register the context server otherwise, as an agent can."""
    person.inside("mercury", "python3", "-c", REGISTER, json.dumps(entry))


def repair(person: Person, found: dict[str, str]) -> None:
    """Do what a diagnosis says."""
    command, _, _ = found["repair"].partition("; and look")
    person.run("sh", "-euc", command)


def test_of_an_instance_in_order_nothing_is_wrong_and_facts_are_told(someone: Person) -> None:
    document: dict[str, Any] = someone.cspace("doctor", "mercury", "--json").json
    assert document["diagnoses"] == []
    sources = [(one["name"], one["source"]) for one in document["delivered"]]
    assert sources == [("anthropic_api_key", "environment"), ("github_token", "project")]
    assert document["credentials"] == document["delivered"]
    assert document["egress"].startswith("allowlist (")
    assert "marker" not in json.dumps(document)


def test_an_instance_that_is_not_there_is_not_found(someone: Person) -> None:
    assert "there is no instance 'venus'" in someone.cspace("doctor", "venus", ok=3).err


BREAK = """
git config --global --unset user.email
git config --global --unset-all credential.https://github.com.helper
mv .cspace/context kept
mkdir -p .cspace/context/findings
"""
# It speaks without an end, and in its command is what would move a cursor.
BROKEN_SERVER = {"command": "sh", "args": ["-c", "yes; : \x1b[2J"]}


def test_what_an_agent_broke_in_its_instance_is_named_and_comes_back(someone: Person) -> None:
    someone.inside("mercury", "sh", "-euc", BREAK)
    secret = someone.home / ".cspace/secrets/projects" / someone.id / "github_token"
    secret.write_text("ghp-rotated", encoding="utf-8")
    register(someone, BROKEN_SERVER)
    found = {one["problem"]: one for one in diagnoses(someone)}
    stale = "mercury does not have the present value of github_token"
    assert "mercury: /workspace/.cspace/context is not the mounted directory" in found
    assert "git in mercury has no user.email: commits fail there" in found
    assert "mercury has github_token, and git there does not ask for it" in found
    (server,) = [one for one in found.values() if one["check"] == "context-server"]
    assert r"'sh -c yes; : \x1b[2J' answers with something else than MCP" in server["problem"]
    someone.inside("mercury", "sh", "-euc", "rm -r .cspace/context; mv kept .cspace/context")
    repair(someone, found[stale])
    repair(someone, server)
    assert diagnoses(someone, code=0) == []


def test_a_directory_of_another_user_a_copied_login_and_other_settings_are_named(
    someone: Person,
) -> None:
    login = json.dumps({"claudeAiOauth": {"refreshToken": "ort-marker"}})
    own = someone.home / ".claude/.credentials.json"
    own.parent.mkdir(exist_ok=True)
    for path in (own, someone.state("mercury").claude / ".credentials.json"):
        path.write_text(login, encoding="utf-8")
        someone.give(path)
    someone.configure({"limits": {"pids": 700}})
    journal = someone.state("mercury").journal
    before = journal.stat()
    os.chown(journal, *((4321, 4321) if os.geteuid() == 0 else (-1, -1)))
    answer = someone.cspace("doctor", "mercury", ok=8)
    os.chown(journal, before.st_uid, before.st_gid)
    assert "mercury    doctor     … looks inside" in answer.err
    assert "credentials: mercury has github_token, from project, " in answer.out
    assert "egress: mercury, allowlist (" in answer.out
    assert "instance mercury have one copied login of Claude Code" in answer.out
    assert "mercury runs with earlier settings or an earlier image" in answer.out
    if os.geteuid() == 0:
        assert f"{journal} belongs to uid 4321" in answer.out
        assert "mercury: /home/dev/.cspace/journal belongs to uid 4321" in answer.out
    assert "ort-marker" not in answer.out + answer.err
    own.unlink()
    someone.configure({"no_such_key": 1})
    assert "no_such_key" in someone.cspace("doctor", ok=8).out
    someone.configure({})


KILLER = """
while true; do
    for each in /proc/[0-9]*; do
        if grep -qa 'doctor.insid[e]' "$each/cmdline" 2>/dev/null; then
            kill -9 "${each#/proc/}"
            exit
        fi
    done
done
"""


def test_an_agent_that_ends_what_looks_inside_is_said_to_be_in_the_way(someone: Person) -> None:
    docker("exec", "--detach", someone.container("mercury"), "sh", "-c", KILLER)
    (found,) = diagnoses(someone)
    assert found["check"] == "inside"
    assert found["problem"].startswith("mercury could not be looked at inside: ")


@pytest.mark.parametrize(
    ("words", "said"), [("sleep 600", "no answer within 1 s"), ("yes", "said more than")]
)
def test_a_program_in_an_instance_keeps_nobody_waiting_and_fills_nothing(
    someone: Person, words: str, said: str
) -> None:
    container = someone.container("mercury")
    with pytest.raises(CommandFailed, match=said):
        DockerInspection(None).ask(container, words.split(), timeout=1.0)


def test_one_that_does_not_run_is_named(someone: Person) -> None:
    someone.cspace("stop", "mercury")
    (found,) = diagnoses(someone)
    assert found["problem"] == "mercury does not run, so nothing was looked at inside"
    assert found["repair"] == "cspace start mercury"
    absent = someone.having(DOCKER_HOST=f"unix://{Path('/nonexistent/docker.sock')}")
    (engine,) = diagnoses(absent)
    assert engine["check"] == "engine"
