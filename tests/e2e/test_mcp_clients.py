"""The server before programs that judge it: MCP's Inspector and its official conformance suite."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cspace import proc
from tests.conftest import CHECKOUT, OUTSIDE

pytestmark = pytest.mark.e2e

ERAS = ("legacy", "modern")
REVISIONS = ("2025-11-25", "2026-07-28")
SECONDS = 120.0
FIRST_INSTALLATION_SECONDS = 600.0
NO_KEYRING = {"MCP_INSPECTOR_SECRET_STORE": "memory"}
FINDING = {"title": "Sign-up fails", "category": "bug", "summary": "It does."}
INVALID_SCHEMA = 6


@pytest.fixture(scope="session")
def tools() -> Path:
    """Return where the judges are; installed from npm when it is the first time."""
    script = CHECKOUT / "lib/bootstrap/mcp-tools.sh"
    done = proc.run(script, env=OUTSIDE, timeout=FIRST_INSTALLATION_SECONDS)
    return Path(done.text) / "bin"


Inspect = Callable[..., Any]


@pytest.fixture
def inspect(tools: Path, program: Path, tmp_path: Path) -> Inspect:
    """Return a function that asks the installed server through the Inspector's command line."""
    project = tmp_path / "project"
    project.mkdir()
    each = {
        "cspace-context": ["context-server", "--root", str(project)],
        "cspace-memory": ["context-server", "--toolset", "memory", "--root", str(project)],
        "cspace-notes": ["context-server", "--toolset", "notes", "--root", str(project)],
    }
    servers = {name: {"command": str(program), "args": words} for name, words in each.items()}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return lambda era, *words, ok=0, name="cspace-context": _inspect(
        tools, config, era, *words, ok=ok, name=name
    )


def _inspect(
    tools: Path, config: Path, era: str, *words: str, ok: int, name: str = "cspace-context"
) -> Any:
    env = OUTSIDE | NO_KEYRING | {"PATH": f"{tools}:{OUTSIDE['PATH']}", "HOME": str(config.parent)}
    server = ("--config", config, "--server", name, "--protocol-era", era)
    done = proc.run(
        tools / "mcp-inspector", "--cli", *server, *words, env=env, ok=(ok,), timeout=SECONDS
    )
    return json.loads(done.stdout) if ok == 0 else done.stderr.decode()


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_finds_no_fault_with_the_tools(inspect: Inspect, era: str) -> None:
    listed = inspect(era, "--method", "tools/list", "--strict")["tools"]
    assert len(listed) == 11


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_finds_no_fault_with_the_tools_of_memory(inspect: Inspect, era: str) -> None:
    listed = inspect(era, "--method", "tools/list", "--strict", name="cspace-memory")["tools"]
    assert len(listed) == 5
    wish = {"slug": "testing", "body": "Tests hit a real database."}
    call = ("--method", "tools/call", "--tool-name", "memory_propose")
    given = ("--tool-args-json", json.dumps(wish))
    filed = inspect(era, *call, *given, name="cspace-memory")["structuredContent"]
    assert (filed["memory"], filed["status"]) == ("user/testing", "proposed")


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_finds_no_fault_with_the_tools_of_notes(
    inspect: Inspect, tmp_path: Path, era: str
) -> None:
    listed = inspect(era, "--method", "tools/list", "--strict", name="cspace-notes")["tools"]
    assert len(listed) == 4
    proc.run("git", "-C", tmp_path / "project", "init", "--quiet")
    proc.run("git", "-C", tmp_path / "project", "commit", "--quiet", "--allow-empty", "-m", "Start")
    call = ("--method", "tools/call", "--tool-name", "notes_capture")
    why = {"namespace": "decisions", "summary": "Chose RS256", "body": "Two services verify."}
    kept = inspect(era, *call, "--tool-args-json", json.dumps(why), name="cspace-notes")
    assert kept["structuredContent"]["new"] is True


def test_the_inspector_finds_a_fault_where_there_is_one(tools: Path, tmp_path: Path) -> None:
    faulty = tmp_path / "faulty.py"
    faulty.write_text(
        "from mcp.server import MCPServer\n"
        "server = MCPServer('faulty')\n"
        "server.add_tool(lambda: 'x', name='faulty')\n"
        "tool = server._tool_manager.get_tool('faulty')\n"
        "tool.parameters = {'type': 'object', 'properties': {'a': True}}\n"
        "server.run('stdio')\n",
        encoding="utf-8",
    )
    config = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": [str(faulty)]}
    config.write_text(json.dumps({"mcpServers": {"cspace-context": server}}), encoding="utf-8")
    words = ("--method", "tools/list", "--strict")
    assert "faulty" in _inspect(tools, config, "legacy", *words, ok=INVALID_SCHEMA)


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_calls_reads_and_prompts(inspect: Inspect, era: str) -> None:
    call = ("--method", "tools/call", "--tool-name", "log_finding")
    logged = inspect(era, *call, "--tool-args-json", json.dumps(FINDING))
    slug = logged["structuredContent"]["slug"]
    resources = inspect(era, "--method", "resources/list")["resources"]
    assert [one["uri"] for one in resources][-1] == f"context://finding/{slug}"
    read = inspect(era, "--method", "resources/read", "--uri", f"context://finding/{slug}")
    assert "It does." in read["contents"][0]["text"]
    templates = inspect(era, "--method", "resources/templates/list")["resourceTemplates"]
    assert len(templates) == 3
    prompts = inspect(era, "--method", "prompts/list")["prompts"]
    assert [one["name"] for one in prompts] == ["brief", "wrap-up"]
    brief = inspect(era, "--method", "prompts/get", "--prompt-name", "brief")
    assert "Sign-up fails" in brief["messages"][0]["content"]["text"]


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_shows_our_errors(inspect: Inspect, era: str) -> None:
    gone = ("--method", "resources/read", "--uri", "context://finding/gone")
    assert "findings/gone.md does not exist" in inspect(era, *gone, ok=1)
    nope = ("--method", "prompts/get", "--prompt-name", "nope")
    assert "'nope' is none of brief, wrap-up" in inspect(era, *nope, ok=1)


@pytest.fixture(scope="module")
def fixture_url() -> Iterator[str]:
    """Serve what the conformance suite asks for behind our own tools, prompts and HTTP."""
    words = [sys.executable, "-m", "tests.mcp.conformance_server"]
    with subprocess.Popen(words, cwd=CHECKOUT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.terminate()


def conformance(tools: Path, url: str, revision: str, expected: Path, *, ok: int) -> str:
    env = OUTSIDE | {"PATH": f"{tools}:{OUTSIDE['PATH']}"}
    results = ("--output-dir", expected.parent / "results")
    words = ("server", "--url", url, "--requirements", revision, "--expected-failures", expected)
    done = proc.run(tools / "conformance", *words, *results, env=env, ok=(ok,), timeout=SECONDS)
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_official_suite_passes_but_for_what_we_leave_out_on_purpose(
    tools: Path, fixture_url: str, tmp_path: Path, revision: str
) -> None:
    expected = tmp_path / "expected.yaml"
    pinned = CHECKOUT / f"tests/mcp/expected/{revision}.yaml"
    expected.write_bytes(pinned.read_bytes())
    said = conformance(tools, fixture_url, revision, expected, ok=0)
    assert "Baseline check passed" in said
    assert "tools-call-simple-text: 2 passed, 0 failed" in said


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_official_suite_fails_where_something_is_not_expected(
    tools: Path, fixture_url: str, tmp_path: Path, revision: str
) -> None:
    expected = tmp_path / "expected.yaml"
    expected.write_text("server:\n  - ping\n", encoding="utf-8")
    said = conformance(tools, fixture_url, revision, expected, ok=1)
    assert "tools-call-with-progress" in said.partition("Unexpected failures")[2]
