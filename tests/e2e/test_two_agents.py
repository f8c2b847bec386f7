"""Two containers, a real Claude Code in each: what one records, the other reads at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import scripted_model
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

FINDING = {"title": "The sign-up button is dead", "category": "bug", "summary": "No event."}
# The server starts in the background, and its first line says that it listens.
SERVE = """
(umask 077; head -c 32 /dev/urandom | base64 >/tmp/token)
mkfifo /tmp/url
cspace context-server --root /workspace --http --token-file /tmp/token --author elsewhere \
    >/tmp/url 2>/tmp/log &
read -r url </tmp/url
claude mcp add --scope user --transport http remote "$url" \
    --header "Authorization: Bearer $(cat /tmp/token)" >&2
claude mcp add --scope user --transport http stranger "$url" \
    --header "Authorization: Bearer wrong" >&2
"""


@pytest.fixture(scope="module")
def pair(new: NewPerson) -> Iterator[Person]:
    """Return somebody whose mercury and venus run."""
    with new() as person:
        person.cspace("init")
        person.git("add", "--all")
        person.git("commit", "--quiet", "--message", "Use cspace")
        person.cspace("up", "mercury")
        person.cspace("up", "venus")
        yield person


def turn(person: Person, name: str, tool: str, given: object) -> Any:
    """Let Claude Code in an instance call one tool; return what the model was told."""
    script = json.dumps([[{"tool": tool, "input": given}], [{"text": "Done."}]])
    claude = ("claude", "-p", "Go on.", "--dangerously-skip-permissions")
    program = Path(scripted_model.__file__).read_text(encoding="utf-8")
    said = person.inside(name, "python3", "-", script, *claude, stdin=program)
    (result,) = json.loads(said.strip().rpartition("\n")[2])
    assert not result.get("is_error")
    content = result["content"]
    return json.loads(content if isinstance(content, str) else content[0]["text"])


def test_a_finding_of_one_claude_code_is_in_the_next_list_of_the_other(pair: Person) -> None:
    listing: tuple[str, dict[str, str]] = ("mcp__cspace-context__list_findings", {})
    assert turn(pair, "venus", *listing)["findings"] == []
    logged = turn(pair, "mercury", "mcp__cspace-context__log_finding", FINDING)
    (found,) = turn(pair, "venus", *listing)["findings"]
    assert (found["slug"], found["title"]) == (logged["slug"], FINDING["title"])
    note = {"slug": found["slug"], "note": "Seen here too.", "status": "acknowledged"}
    turn(pair, "venus", "mcp__cspace-context__append_to_finding", note)
    (seen,) = turn(pair, "mercury", *listing)["findings"]
    assert seen["status"] == "acknowledged"
    text = (pair.repo / logged["path"]).read_text(encoding="utf-8")
    assert "@mercury — status: open" in text
    assert "@venus — status: acknowledged" in text


def test_claude_code_works_over_http_with_the_token_and_not_without(pair: Person) -> None:
    pair.inside("mercury", "bash", "-ec", SERVE)
    listed = pair.inside("mercury", "claude", "mcp", "list").splitlines()
    (ours,) = (line for line in listed if line.startswith("remote: "))
    assert "✔ Connected" in ours
    (stranger,) = (line for line in listed if line.startswith("stranger: "))
    assert "✔ Connected" not in stranger
    found = FINDING | {"title": "Seen from elsewhere"}
    logged = turn(pair, "mercury", "mcp__remote__log_finding", found)
    (record,) = pair.repo.rglob(f"{logged['slug']}.md")
    assert "@elsewhere — status: open" in record.read_text(encoding="utf-8")
