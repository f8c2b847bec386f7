"""What the real Claude Code is told of memories: by an instance's hook, and by a host's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace.paths import INSIDE
from tests.conftest import CHECKOUT
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

# An empty home in which nothing says that this is an instance.
HOST = "/tmp/host"
ON_HOST = ("env", "-C", HOST, "-u", "CSPACE_INSTANCE", "-u", "CLAUDE_CONFIG_DIR", f"HOME={HOST}")
HELLO = json.dumps([[{"text": "Hello."}]])
TELLS = "has entries for this session: "


@pytest.fixture(scope="module")
def worker(new: NewPerson) -> Iterator[Person]:
    """Return somebody who remembers two things, and whose mercury runs."""
    with new() as person:
        for scope, slug in (("project", "testing"), ("user", "style")):
            words = ("--scope", scope, "--body", "SECRET-BODY", "--yes")
            person.cspace("memory", "write", slug, *words)
        person.cspace("up", "mercury")
        for name in ("tests/scripted_model.py", "tests/e2e/hooked.py"):
            program = Path(CHECKOUT / name)
            text = program.read_text(encoding="utf-8")
            person.inside("mercury", "sh", "-c", f"cat >/tmp/{program.name}", stdin=text)
        person.inside("mercury", "mkdir", HOST)
        yield person


def told(person: Person, *start: str) -> str:
    """Run a session of the real Claude Code; return what its model was sent."""
    program = ("python3", "/tmp/hooked.py", HELLO, "0")
    options = ("claude", "-p", "Say hello", "--output-format", "text")
    person.inside("mercury", *start, *program, *options)
    return person.inside("mercury", "cat", "/tmp/seen.json")


def test_a_session_in_an_instance_is_told_of_notes_and_memories_in_one_answer(
    worker: Person,
) -> None:
    sent = told(worker, "env", "-C", INSIDE.workspace)
    assert "cspace sessions update --section" in sent
    [block] = {line.partition(".")[0] for line in sent.split(TELLS)[1:]}
    assert block.startswith("projects/")
    assert block.endswith(" 1, user 1")
    assert "SECRET-BODY" not in sent


def test_a_hosts_sessions_are_told_while_the_hook_is_installed(worker: Person) -> None:
    assert TELLS not in told(worker, *ON_HOST)
    write = ("memory", "write", "one", "--body", "SECRET-BODY", "--scope", "user", "--yes")
    worker.inside("mercury", *ON_HOST, "cspace", *write)
    worker.inside("mercury", *ON_HOST, "cspace", "hooks", "install", "--yes")
    sent = told(worker, *ON_HOST)
    assert f"{TELLS}user 1." in sent
    assert "SECRET-BODY" not in sent
    worker.inside("mercury", *ON_HOST, "cspace", "hooks", "uninstall", "--yes")
    assert TELLS not in told(worker, *ON_HOST)
