"""The main job: one command, and a real Claude Code is connected to the project's context."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from tests import scripted_model
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Answer, Person, docker, labelled

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

CONNECTED = [
    "cspace-context: cspace context-server - ✔ Connected",
    "cspace-memory: cspace context-server --toolset memory - ✔ Connected",
    "cspace-notes: cspace context-server --toolset notes - ✔ Connected",
]
INIT = [".mcp.json", ".cspace.json", ".gitignore", ".cspace/memory", ".cspace/context"]
DECISION = {
    "title": "Keep prices in cents",
    "context": "Sums of floats are off.",
    "alternatives": "Decimal.",
    "decision": "Integers of cents.",
    "consequences": "Only the page divides.",
}
READY = {
    *("name", "status", "reused", "container", "image", "branch", "workspace", "ports"),
    *("notices", "quarantined", "seconds"),
}
STATUS = {
    *("name", "status", "branch", "base", "created", "workspace", "container", "image", "version"),
    *("ports", "mounts", "secrets", "egress", "problem"),
}


@pytest.fixture(scope="module")
def started(new: NewPerson) -> Iterator[tuple[Person, Answer]]:
    """Prepare a project and bring mercury up; return who did, and what `up` answered."""
    with new() as person:
        person.cspace("init")
        person.git("add", "--all")
        person.git("commit", "--quiet", "--message", "Use cspace")
        yield person, person.cspace("up", "mercury", "--json")


@pytest.fixture(scope="module")
def team(started: tuple[Person, Answer]) -> Person:
    """Return somebody whose mercury runs."""
    return started[0]


def assert_connected_once(person: Person) -> None:
    said = person.inside("mercury", "claude", "mcp", "list")
    assert [line for line in said.splitlines() if "cspace-" in line] == CONNECTED
    assert "onflict" not in said
    state = json.loads(person.inside("mercury", "cat", "/home/dev/.claude/.claude.json"))
    assert sorted(state["mcpServers"]) == ["cspace-context", "cspace-memory", "cspace-notes"]
    in_projects = [each.get("mcpServers") for each in state.get("projects", {}).values()]
    assert not any(in_projects)


def test_init_prepares_a_project_once(person: Person) -> None:
    assert person.cspace("init", "--json").json["changed"] == INIT
    before = {path: path.read_bytes() for path in person.repo.rglob("*") if path.is_file()}
    assert person.cspace("init", "--json").json["changed"] == []
    assert {path: path.read_bytes() for path in person.repo.rglob("*") if path.is_file()} == before


def test_a_dry_run_prints_the_plan_and_changes_nothing(person: Person) -> None:
    def paths() -> list[Path]:
        return sorted([*person.repo.rglob("*"), *person.home.rglob("*")])

    before = paths()
    (plan,) = person.cspace("up", "mercury", "--dry-run", "--json").json["plans"]
    assert plan["name"] == "mercury"
    actions = [step["action"] for step in plan["steps"] if step["action"] != "image"]
    assert actions == ["prove", "workspace", "mounts", "compose", "network", "egress", "start"]
    assert all(step["cause"] for step in plan["steps"])
    assert "there is no finished clone" in person.cspace("up", "mercury", "--dry-run").out
    assert paths() == before
    assert person.leftovers() == []


def test_a_slow_start_hazard_up_says_its_phases_with_times_beside_its_one_document(
    started: tuple[Person, Answer],
) -> None:
    person, answer = started
    (ready,) = answer.json["instances"]
    assert answer.json["failed"] == []
    assert ready.keys() == READY
    assert (ready["name"], ready["status"], ready["reused"]) == ("mercury", "running", False)
    assert ready["branch"] == "cspace/mercury"
    assert ready["workspace"] == str(person.workspace("mercury"))
    for phase in ("prove", "workspace", "mounts", "compose", "network", "egress", "start"):
        lines = [line.split() for line in answer.err.splitlines() if line.split()[1] == phase]
        assert lines[-1][0] == "mercury"
        assert lines[-1][-1] == "s"


def test_the_real_claude_code_is_connected_to_the_context_server_once(team: Person) -> None:
    assert_connected_once(team)


def test_it_is_connected_once_after_the_engine_restarted_the_container(team: Person) -> None:
    docker("restart", team.container("mercury"))
    team.cspace("up", "mercury")
    assert_connected_once(team)


def test_it_is_connected_once_after_stop_and_start(team: Person) -> None:
    assert "mercury stopped" in team.cspace("stop", "mercury").out
    assert team.cspace("list", "--json").json["instances"][0]["status"] == "stopped"
    assert team.cspace("exec", "mercury", "--", "true", ok=4).err.count(
        "hint: cspace start mercury"
    )
    team.cspace("start", "mercury")
    assert_connected_once(team)


def test_a_reused_instance_is_reset_hazard_up_keeps_its_work_and_says_so(team: Person) -> None:
    loose = (
        "touch /tmp/still-the-same; echo loose >>README.md; git add README.md; echo x >>README.md"
    )
    team.inside("mercury", "sh", "-c", loose)
    changed = team.inside("mercury", "git", "diff", "HEAD")
    assert "+loose\n+x\n" in changed
    assert "mercury was running and is reused" in team.cspace("up", "mercury").out
    (ready,) = team.cspace("up", "mercury", "--json").json["instances"]
    assert ready["reused"] is True
    team.inside("mercury", "test", "-e", "/tmp/still-the-same")
    assert team.inside("mercury", "git", "status", "--porcelain") == "MM README.md\n"
    assert team.inside("mercury", "git", "diff", "HEAD") == changed
    team.inside("mercury", "git", "reset", "--quiet", "--hard")


def test_the_clone_holds_the_project_and_shares_no_inode_with_it(team: Person) -> None:
    assert team.inside("mercury", "git", "status", "--porcelain") == ""
    assert team.inside("mercury", "git", "log", "--format=%s").splitlines()[0] == "Use cspace"
    assert team.inside("mercury", "cat", "README.md") == "# Sample\n"
    mine = {path.stat().st_ino for path in team.repo.rglob("*") if path.is_file()}
    its = {path.stat().st_ino for path in team.workspace("mercury").rglob("*") if path.is_file()}
    assert mine
    assert its
    assert not mine & its


def test_what_people_decide_about_can_be_read_and_not_written_inside(team: Person) -> None:
    assert "direction" in team.inside("mercury", "ls", ".cspace/context")
    said = team.cspace(
        "exec", "mercury", "--", "sh", "-c", "echo mine >.cspace/context/direction.md", ok=2
    )
    assert "Read-only file system" in said.err


def test_a_decision_logged_in_mercury_is_a_file_on_the_host_and_readable_from_venus(
    team: Person,
) -> None:
    team.cspace("up", "venus")
    logged = call(team, "mercury", "log_decision", DECISION)
    path = team.repo / logged["path"]
    assert "Integers of cents." in path.read_text(encoding="utf-8")
    listed = call(team, "venus", "list_entries", {"kind": "decisions"})
    assert [each["slug"] for each in listed["entries"]] == [path.stem]
    assert team.inside("mercury", "git", "status", "--porcelain") == ""


def test_a_shared_claude_json_hazard_each_instance_has_a_directory_of_its_own(team: Person) -> None:
    place = "/home/dev/.claude"
    sources = []
    for name in ("mercury", "venus"):
        (found,) = json.loads(docker("inspect", team.container(name)))
        mounts = {mount["Destination"]: Path(mount["Source"]) for mount in found["Mounts"]}
        assert [target for target, source in mounts.items() if not source.is_dir()] == []
        assert (mounts[place] / ".claude.json").is_file()
        assert team.inside(name, "printenv", "CLAUDE_CONFIG_DIR") == f"{place}\n"
        sources.append(mounts[place])
    assert sources[0] != sources[1]


def test_a_turn_of_claude_code_logs_a_decision(team: Person) -> None:
    title = "Let the model write it down"
    call = {"tool": "mcp__cspace-context__log_decision", "input": {**DECISION, "title": title}}
    script = json.dumps([[call], [{"text": "It is written down."}]])
    claude = ("claude", "-p", "Log it.", "--dangerously-skip-permissions")
    program = Path(scripted_model.__file__).read_text(encoding="utf-8")
    said = team.inside("mercury", "python3", "-", script, *claude, stdin=program)
    text, _, results = said.strip().rpartition("\n")
    assert text.strip() == "It is written down."
    (result,) = json.loads(results)
    assert not result.get("is_error")
    (record,) = (team.repo / ".cspace/context/decisions").glob("*-let-the-model-write-it-down.md")
    assert "Integers of cents." in record.read_text(encoding="utf-8")
    assert record.stem in json.dumps(result)


def test_a_client_that_passes_no_environment_on_signs_with_the_instance_too(team: Person) -> None:
    bare = ("env", "--ignore-environment", "PATH=/usr/local/bin:/usr/bin:/bin", *SERVER)
    found = {"title": "Bare", "finding": "The environment is empty.", "impact": "None."}
    logged = call(team, "mercury", "log_discovery", found, bare)
    text = (team.repo / logged["path"]).read_text(encoding="utf-8")
    head = team.inside("mercury", "git", "rev-parse", "HEAD").strip()
    assert "\ninstance: mercury\n" in text
    assert f"\ncommit: {head}\n" in text


def test_exec_passes_exit_code_stdin_and_output_through(team: Person) -> None:
    assert (
        team.inside("mercury", "tr", "a-z", "A-Z", stdin="straight through\n")
        == "STRAIGHT THROUGH\n"
    )
    answer = team.cspace(
        "exec", "mercury", "--", "sh", "-c", "echo out; echo err >&2; exit 42", ok=42
    )
    assert (answer.out, answer.err) == ("out\n", "err\n")


def test_logs_show_the_phases_of_the_start(team: Person) -> None:
    said = team.cspace("logs", "mercury")
    assert "cspace: workspace" in said.out + said.err
    assert "cspace: claude" in said.out + said.err


def test_status_and_list_say_what_there_is_and_that_the_allowlist_holds(team: Person) -> None:
    (mercury,) = team.cspace("status", "mercury", "--json").json["instances"]
    assert mercury.keys() == STATUS
    assert re.fullmatch(r"allowlist \(\d+ names\)", mercury["egress"])
    assert mercury["base"] == team.git("rev-parse", "HEAD")
    assert f"egress     {mercury['egress']}" in team.cspace("status", "mercury").out
    rows = team.cspace("list", "--json").json["instances"]
    assert {"name", "status", "branch", "workspace", "ports"} == rows[0].keys()
    assert rows[0]["name"] == "mercury"
    assert "mercury  running" in team.cspace("list").out


def test_names_are_completed_without_an_engine(team: Person) -> None:
    words = {
        "_CSPACE_COMPLETE": "complete_bash",
        "COMP_WORDS": "cspace exec mer",
        "COMP_CWORD": "2",
    }
    lost = team.having(DOCKER_HOST="unix:///nonexistent", **words)
    assert lost.cspace().out.split() == ["mercury"]


def test_down_leaves_nothing_of_any_instance(team: Person) -> None:
    gone = team.cspace("down", "--all", "--json").json
    assert {each["name"] for each in gone["instances"]} >= {"mercury"}
    assert gone["failed"] == []
    assert team.leftovers() == []
    assert labelled(team.id) == []


SERVER = ("cspace", "context-server", "--root", "/workspace")


def call(
    person: Person,
    name: str,
    tool: str,
    arguments: dict[str, str],
    server_command: tuple[str, ...] = SERVER,
) -> dict[str, Any]:
    """Call a tool in an instance, from the host, with a real client; return the facts."""
    (facts,) = call_each(person, name, ((tool, arguments),), server_command)
    return facts


def call_each(
    person: Person,
    name: str,
    calls: Iterable[tuple[str, dict[str, str]]],
    server_command: tuple[str, ...] = SERVER,
) -> list[dict[str, Any]]:
    """Call tools one after the other, all of the same server."""
    server = StdioServerParameters(
        command=str(person.program),
        args=["exec", name, "--", *server_command],
        env=person.environment,
        cwd=person.repo,
    )

    async def ask() -> list[CallToolResult]:
        async with Client(server) as client:
            return [await client.call_tool(tool, arguments) for tool, arguments in calls]

    return [_facts(result) for result in asyncio.run(ask())]


def _facts(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)
