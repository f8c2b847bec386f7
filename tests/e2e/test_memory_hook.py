"""What the real Claude Code is told of memories: by an instance's hook, a host's, the plugin."""

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


def told(person: Person, *start: str, prompt: str = "Say hello") -> str:
    """Run a session of the real Claude Code; return what its model was sent."""
    program = ("python3", "/tmp/hooked.py", HELLO, "0")
    options = ("claude", "-p", prompt, "--output-format", "text")
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


REPOSITORY = "/tmp/shop"
IN_REPOSITORY = ("env", "-C", REPOSITORY, *ON_HOST[3:])
SHOP = f"""
git init --quiet {REPOSITORY}
cd {REPOSITORY}
git config user.name A; git config user.email a@example.com
git commit --quiet --allow-empty --message start
cspace notes capture decisions --summary "Chose RS256 over HS256" --body SECRET-BODY
cspace notes recall RS256
"""


def plugins(person: Person, *start: str) -> list[tuple[str, bool]]:
    listed = json.loads(person.inside("mercury", *start, "claude", "plugin", "list", "--json"))
    return [(one["id"], one["enabled"]) for one in listed]


def test_the_plugin_is_valid_and_an_instance_has_it_from_its_start(worker: Person) -> None:
    validate = ("claude", "plugin", "validate", "--strict", "/opt/cspace/plugin")
    said = worker.inside("mercury", *validate)
    assert "Validation passed" in said
    assert all(f"cs:{name}" in said for name in ("p", "i", "c", "recall", "remember", "review"))
    sent = told(worker, "env", "-C", INSIDE.workspace, prompt="/cs:recall the tokens")
    assert "Find what this repository's memories say about: the tokens" in sent
    assert plugins(worker, "env", "-C", INSIDE.workspace) == [("cs@cspace", True)]


def test_a_session_is_told_of_counts_and_of_what_its_prompt_names(worker: Person) -> None:
    worker.inside("mercury", *ON_HOST, "sh", "-ec", SHOP)
    quiet = told(worker, *IN_REPOSITORY, prompt="fix the failing test")
    assert "memories attached to its commits: decisions 1." in quiet
    assert "may bear on this prompt" not in quiet
    sent = told(worker, *IN_REPOSITORY, prompt="why RS256?")
    assert "| decisions:" in sent
    assert "Chose RS256 over HS256" in sent
    assert "SECRET-BODY" not in sent
