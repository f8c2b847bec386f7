"""Curated memory in an instance: the real Claude Code reads and proposes, a person decides.

One instance's life: what it sees, what it can not do, what its proposals become.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cspace.memory.scopes import FRAMES, Kind
from cspace.paths import INSIDE, curated_memory, user_directory
from tests.conftest import CHECKOUT
from tests.e2e.conftest import NewPerson
from tests.e2e.outside import Look, look_below
from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

SEEN = ("global", "user", "projects/sample", "personas/ada")
UNSEEN = ("projects/other", "personas/bob")
RULE = "Integration tests hit a real database."
ASKED = {"slug": "testing", "body": RULE, "reason": "mocks hid a broken migration"}
WISHED = {"slug": "commits", "body": "One change a commit.", "scope": "user"}


def memory(person: Person) -> Path:
    return curated_memory(user_directory(person.home))


def memories(person: Person) -> Look:
    """Return everything about every memory, indexes included."""
    look = look_below(memory(person))
    return {name: each for name, each in look.items() if "/." not in f"/{name}"}


@pytest.fixture(scope="module")
def worker(new: NewPerson) -> Iterator[Person]:
    """Return somebody with memories of all kinds, whose mercury runs while ada is at work."""
    with new() as person:
        for scope in (*SEEN, *UNSEEN):
            # The project's name is claimed by a write that does not name it.
            named = () if scope == "projects/sample" else ("--scope", scope)
            words = ("write", "known", "--body", f"Of {scope}.", "--yes", *named)
            person.cspace("memory", *words)
        person.cspace("memory", "persona", "use", "ada")
        person.cspace("init")
        person.cspace("up", "mercury")
        for name in ("tests/scripted_model.py", "tests/e2e/hooked.py"):
            program = CHECKOUT / name
            text = program.read_text(encoding="utf-8")
            person.inside("mercury", "sh", "-c", f"cat >/tmp/{program.name}", stdin=text)
        yield person


def session(person: Person, *calls: tuple[str, dict[str, str]]) -> tuple[str, list[Any]]:
    """Run a session of Claude Code that calls memory tools; return its prompts and the answers."""
    turns = [[{"tool": f"mcp__cspace-memory__{tool}", "input": given}] for tool, given in calls]
    script = json.dumps([*turns, [{"text": "Done."}]])
    claude = ("claude", "-p", "Remember it.", "--dangerously-skip-permissions")
    person.inside("mercury", "python3", "/tmp/hooked.py", script, "0", *claude)
    sent = person.inside("mercury", "cat", "/tmp/seen.json")
    longest = max((each["messages"] for each in json.loads(sent)), key=len)
    contents = [each["content"] for each in longest if isinstance(each["content"], list)]
    return sent, [one for each in contents for one in each if one["type"] == "tool_result"]


def text_of(result: dict[str, Any]) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def pending(person: Person) -> list[Any]:
    found: list[Any] = person.cspace("memory", "proposals", "--json").json["proposals"]
    return found


def test_it_sees_the_scopes_that_concern_it_and_no_others(worker: Person) -> None:
    listed = worker.inside("mercury", "find", INSIDE.curated, "-name", "known.md").split()
    assert sorted(listed) == sorted(f"{INSIDE.curated}/{scope}/known.md" for scope in SEEN)
    told = worker.inside("mercury", "env").splitlines()
    assert {"CSPACE_MEMORY_PROJECT=sample", "CSPACE_PERSONA=ada"} <= set(told)
    words = ("cspace", "memory", "show", "known", "--project", "other")
    worker.inside("mercury", *words, ok=3)


HOSTILE = """
cd /home/dev/.cspace/memory
for each in user projects/sample .rejected; do
    echo x >>$each/known.md; echo x >$each/new.md; : >$each/known.md; rm -rf $each/*; mkdir $each/d
    chmod 777 $each $each/known.md; chown 0 $each/known.md; mv $each/known.md $each/other.md
    mv $each /tmp; ln $each/known.md /home/dev/.cspace/outbox/hard.yaml; ln -s /etc $each/link
    touch $each/known.md; truncate -s 0 $each/known.md; setfattr -n user.x -v y $each/known.md
    mount -o remount,rw $PWD/$each; umount $PWD/$each; mount --bind /tmp $PWD/$each
    for part in $(find $each); do flock --exclusive --nonblock $part sleep 60 & done
    python3 -c "import os, sys; os.open(sys.argv[1], os.O_RDWR)" $each/known.md
done
ln -s /home/dev/.cspace/memory/user/known.md /home/dev/.cspace/outbox/link.yaml
mkfifo /home/dev/.cspace/outbox/fifo.yaml
true
"""


def test_nothing_that_an_agent_does_changes_a_memory_or_keeps_a_person_from_it(
    worker: Person,
) -> None:
    before = memories(worker)
    worker.inside("mercury", "bash", "-c", f"exec >/dev/null 2>&1; {HOSTILE}")
    assert memories(worker) == before
    worker.cspace("memory", "write", "mine", "--scope", "user", "--body", "Mine.", "--yes")
    assert "Mine." in worker.inside("mercury", "cat", f"{INSIDE.curated}/user/mine.md")
    said = worker.cspace("memory", "proposals")
    assert [name for name in ("link.yaml", "fifo.yaml") if name not in said.err] == []
    worker.inside("mercury", "sh", "-c", f"rm -f {INSIDE.outbox}/*")


def test_claude_code_reads_and_proposes_and_the_next_session_counts_what_was_approved(
    worker: Person,
) -> None:
    before = memories(worker)
    calls = (
        ("memory_read", {"slug": "known"}),
        ("memory_propose", ASKED),
        ("memory_write", WISHED),
    )
    sent, answers = session(worker, *calls)
    assert "projects/sample 1" in sent
    read, proposed, written = map(text_of, answers)
    assert [f"| Of {scope}." in read for scope in SEEN] == [True] * len(SEEN)
    assert f"user: {FRAMES[Kind.USER]}" in read
    assert "Nothing is written." in proposed
    assert "memory_write filed a proposal and wrote nothing." in written
    assert memories(worker) == before
    found = {one["id"]: one for one in pending(worker)}
    assert {one["instance"] for one in found.values()} == {f"{worker.id}/mercury"}
    assert [one for one in found if one in proposed + written] == list(found)
    assert len(found) == 2
    worker.cspace("memory", "approve", *found, "--yes")
    assert RULE in worker.cspace("memory", "show", "testing").out
    sent, _ = session(worker)
    assert "projects/sample 2" in sent
    assert RULE not in sent


def test_a_client_that_passes_no_environment_on_is_the_instances_too(worker: Person) -> None:
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
               "params": {"name": "memory_list", "arguments": {}}}  # fmt: skip
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}}  # fmt: skip
    stdin = "".join(f"{json.dumps(each)}\n" for each in (hello, listing))
    bare = ("env", "--ignore-environment", "PATH=/usr/local/bin:/usr/bin:/bin")
    words = (*bare, "cspace", "context-server", "--toolset", "memory")
    answers = worker.inside("mercury", *words, stdin=stdin).splitlines()
    facts = json.loads(answers[-1])["result"]["structuredContent"]
    assert sorted(one["scope"] for one in facts["scopes"]) == sorted(SEEN)


def test_down_takes_over_what_was_proposed_and_leaves_what_is_bad_where_it_is(
    worker: Person,
) -> None:
    words = ("cspace", "memory", "propose", "last", "--body", "Said at the end.")
    worker.inside("mercury", *words)
    worker.inside("mercury", "sh", "-c", f"echo 'scope: ../..' >{INSIDE.outbox}/bad.yaml")
    outbox = worker.state("mercury").outbox
    said = worker.cspace("down", "mercury")
    assert "memories that it proposed: 1; cspace memory proposals" in said.out + said.err
    assert "mercury/bad.yaml" in said.out + said.err
    assert [one["slug"] for one in pending(worker)] == ["last"]
    assert [path.name for path in outbox.iterdir()] == ["bad.yaml"]
    shown = worker.cspace("prune", "--dry-run").out
    assert f"rm -r {outbox}" in shown
    (outbox / "bad.yaml").unlink()
    worker.cspace("prune", "--yes")
    assert not outbox.exists()
