"""After an accident with the shared context, one command on the host brings every record back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, docker, kill
from tests.e2e.test_main_job import DECISION, call, call_each

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

FINDING = {"title": "Sums are off", "category": "bug", "summary": "By a cent.\r\n"}
Contents = dict[str, bytes]


@pytest.fixture(scope="module")
def team(new: NewPerson) -> Iterator[Person]:
    """Return somebody whose mercury runs."""
    with new() as person:
        person.cspace("init")
        person.git("add", "--all")
        person.git("commit", "--quiet", "--message", "Use cspace")
        person.cspace("up", "mercury")
        yield person


def contents(person: Person) -> Contents:
    place = person.repo / ".cspace/context"
    found = (path for path in sorted(place.rglob("*.md")) if not path.name.startswith("."))
    return {str(path.relative_to(place)): path.read_bytes() for path in found}


def journal(person: Person, name: str = "mercury") -> Path:
    return person.state(name).journal / "context-journal.jsonl"


def fill(person: Person, title: str) -> str:
    """Log records and updates in mercury with a real client; return the finding's slug."""
    logged = call_each(
        person,
        "mercury",
        (
            ("log_decision", {**DECISION, "title": title}),
            ("log_discovery", {"title": title, "finding": "f", "impact": "i"}),
            ("log_finding", {**FINDING, "title": title}),
        ),
    )
    slug: str = logged[-1]["slug"]
    updates = (update(slug, "seen"), update(slug, "fixed\n\n", "resolved"))
    call_each(person, "mercury", updates)
    return slug


def update(slug: str, note: str, status: str = "acknowledged") -> tuple[str, dict[str, str]]:
    return "append_to_finding", {"slug": slug, "note": note, "status": status}


def test_rm_rf_hazard_in_a_container_every_record_comes_back(team: Person) -> None:
    fill(team, "One")
    before = contents(team)
    # The human-owned files are read-only there, so rm says no to them.
    team.inside("mercury", "sh", "-c", "rm -rf .cspace/context/* 2>/dev/null; true")
    assert set(contents(team)) == {"direction.md", "principles.md", "roadmap.md"}
    done = team.cspace("context", "restore", "--json")
    assert contents(team) == before
    assert done.json["failed"] == []
    assert len(done.json["restored"]) == 3
    assert {(one["step"], one["reason"]) for one in done.json["planned"]} == {
        ("create", "it is missing")
    }
    assert team.cspace("context", "restore").err == "nothing to restore\n"


def test_git_clean_hazard_in_a_container_takes_no_record_with_it(team: Person) -> None:
    fill(team, "Two")
    before = contents(team)
    team.inside("mercury", "git", "clean", "-fdx")
    assert contents(team) == before
    inner = "cd ~/.cspace/context/findings && git init -q . && git clean -fdxq && rm -rf .git"
    team.inside("mercury", "sh", "-c", inner)
    assert contents(team) != before
    team.cspace("up", "mercury")
    team.cspace("context", "restore")
    assert contents(team) == before


@pytest.mark.parametrize(
    "accident", [("stash", "--include-untracked"), ("clean", "-fdx"), ("checkout", "--", ".")]
)
def test_git_on_the_host_hazard_under_a_running_agent_loses_nothing(
    team: Person, accident: tuple[str, ...]
) -> None:
    known = fill(team, f"Committed before {accident[0]}")
    team.git("add", "--all")
    team.git("commit", "--quiet", "--message", "Records")
    call(team, "mercury", *update(known, "between"))
    slug = fill(team, f"Before {accident[0]}")
    before = contents(team)
    team.git(*accident)
    said = team.cspace("up", "mercury").err
    assert ("went back" in said) == (accident[0] != "clean")
    assert (f"findings/{slug}" in said) == (accident[0] != "checkout")
    late = ("log_finding", {**FINDING, "title": f"After {accident[0]}"})
    _, newer = call_each(team, "mercury", (update(known, "late"), late))
    path = newer["path"].removeprefix(".cspace/context/")
    written = contents(team)[path]
    assert team.cspace("context", "restore", "--yes", "--json").json["failed"] == []
    after = contents(team)
    assert after.pop(path) == written
    grown = after.pop(f"findings/{known}.md")
    assert grown.startswith(before.pop(f"findings/{known}.md"))
    assert grown.count(b"\nlate\n") == grown.count(b"\nbetween\n") == 1
    assert after == before


def test_history_tells_who_wrote_what_and_completes_names(team: Person) -> None:
    slug = fill(team, "Told")
    rows = team.cspace("context", "history", f"findings/{slug}", "--json").json["changes"]
    assert [row["action"] for row in rows] == ["written"] * 3
    assert {row["instance"] for row in rows} == {"mercury"}
    assert [row["time"] for row in rows] == sorted((row["time"] for row in rows), reverse=True)
    assert slug in team.cspace("context", "history", "--limit", "2").out
    first = team.git("show", rows[-1]["revision"])
    assert "— status: open" in first
    assert "fixed" not in first
    team.cspace("context", "history", "no-such", ok=3)
    team.cspace("up", "mercury")
    words = {
        "_CSPACE_COMPLETE": "complete_bash",
        "COMP_WORDS": f"cspace context restore findings/{slug}",
        "COMP_CWORD": "3",
    }
    assert team.having(**words).cspace().out.split() == [f"findings/{slug}"]


def test_replacing_without_a_terminal_needs_a_yes_and_a_dry_run_changes_nothing(
    team: Person,
) -> None:
    slug = fill(team, "Asked")
    newest = contents(team)
    rows = team.cspace("context", "history", f"findings/{slug}", "--json").json["changes"]
    words = ("context", "restore", f"findings/{slug}", "--at", rows[-1]["time"])
    assert f"findings/{slug}" in team.cspace(*words, "--dry-run").out
    refused = team.cspace(*words, ok=2)
    assert "--yes" in refused.err
    assert contents(team) == newest
    team.cspace(*words, "--yes")
    assert b"fixed" not in contents(team)[f"findings/{slug}.md"]
    team.cspace("context", "restore", f"findings/{slug}", "--at", rows[0]["time"], "--yes")
    assert contents(team) == newest


def test_an_unwritable_journal_is_an_error_and_nothing_is_written(team: Person) -> None:
    before = contents(team)
    journal(team).parent.chmod(0o500)
    try:
        journal(team).unlink(missing_ok=True)
        journal(team).mkdir()
        with pytest.raises(AssertionError, match="journal"):
            call(team, "mercury", "log_finding", FINDING)
    finally:
        journal(team).rmdir()
        journal(team).parent.chmod(0o700)
    assert contents(team) == before


def test_kill_9_of_the_server_hazard_loses_nothing_that_was_acknowledged(team: Person) -> None:
    server = team.start(team.program, "exec", "mercury", "--", "cspace", "context-server")
    lines = [
        {
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                       "clientInfo": {"name": "t", "version": "1"}},
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *(
            {
                "jsonrpc": "2.0", "id": number, "method": "tools/call",
                "params": {"name": "log_finding",
                           "arguments": {**FINDING, "title": f"Killed {number}"}},
            }
            for number in range(1, 200)
        ),
    ]  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    server.stdin.flush()
    acknowledged = [json.loads(server.stdout.readline()) for _ in range(20)]
    kill(server)
    docker("exec", team.container("mercury"), "pkill", "-9", "-f", "context-server")
    slugs = {each["result"]["structuredContent"]["slug"] for each in acknowledged if each["id"]}
    assert len(slugs) == 19
    team.inside("mercury", "sh", "-c", "rm ~/.cspace/context/findings/*killed*")
    done = team.cspace("context", "restore", "--json").json
    assert {f"findings/{slug}" for slug in slugs} <= set(done["restored"])


def test_down_keeps_what_an_instance_acknowledged_hazard_where_the_store_was_wiped_before(
    team: Person,
) -> None:
    team.cspace("up", "venus")
    logged = call(team, "venus", "log_finding", {**FINDING, "title": "Of venus"})
    path = team.repo / logged["path"]
    content = path.read_bytes()
    assert journal(team, "venus").stat().st_size
    team.inside("venus", "rm", f".cspace/context/findings/{path.name}")
    said = team.cspace("down", "venus").err
    assert f"vanished: findings/{path.stem}" in said
    assert not team.state("venus").state.exists()
    team.cspace("context", "restore", path.stem)
    assert path.read_bytes() == content
