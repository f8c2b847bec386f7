"""The server as clients run it: a process that speaks on stdin and stdout."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from cspace.context.records import Category, Finding
from cspace.context.store import ContextStore
from tests.mcp.conftest import TIMEOUT, Environment

Answer = TypeVar("Answer")

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)
DISCOVER = (
    b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{'
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}\n'
)
LOG = (
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"log_discovery",'
    b'"arguments":{"title":"t","finding":"f","impact":"i"}}}\n'
)
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'


def run(
    command: list[str], environment: Environment, *, cwd: Path, stdin: bytes
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, input=stdin, env=environment, cwd=cwd, capture_output=True, timeout=TIMEOUT,
        check=False,
    )  # fmt: skip


def answers(done: subprocess.CompletedProcess[bytes]) -> dict[int, dict[str, object]]:
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return {message["id"]: message["result"] for message in messages if "result" in message}


def converse(
    command: list[str],
    environment: Environment,
    mode: str,
    conversation: Callable[[Client], Awaitable[Answer]],
) -> Answer:
    async def talk() -> Answer:
        start = StdioServerParameters(command=command[0], args=command[1:], env=environment)
        async with Client(stdio_client(start), mode=mode) as client:
            return await conversation(client)

    return anyio.run(talk)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_real_client_logs_and_reads_in_either_era(
    command: list[str], environment: Environment, root: Path, mode: str
) -> None:
    async def conversation(client: Client) -> list[str]:
        logged = await client.call_tool(
            "log_decision",
            {"title": "Use awk", "context": "c", "alternatives": "a", "decision": "d",
             "consequences": "c"},
        )  # fmt: skip
        read = await client.call_tool("read_context", {"sections": ["decisions"]})
        return [str((logged.structured_content or {})["path"]), str(read.content)]

    path, text = converse([*command, "--root", str(root)], environment, mode, conversation)
    assert (root / path).is_file()
    assert "**Use awk**" in text


def test_a_record_of_one_server_is_read_by_another_at_once(
    command: list[str], environment: Environment, root: Path
) -> None:
    started = [*command, "--root", str(root)]

    async def outer() -> list[str]:
        async def titles(client: Client) -> list[str]:
            listed = (await client.call_tool("list_findings", {})).structured_content or {}
            return [one["title"] for one in listed["findings"]]

        parameters = StdioServerParameters(command=started[0], args=started[1:], env=environment)
        async with (
            Client(stdio_client(parameters)) as mercury,
            Client(stdio_client(parameters)) as venus,
        ):
            before = await titles(venus)
            new = {"title": "shared", "category": "bug", "summary": "s"}
            await mercury.call_tool("log_finding", new)
            return [*before, *(await titles(venus))]

    assert anyio.run(outer) == ["shared"]


@pytest.mark.parametrize("first", [INITIALIZE, DISCOVER])
def test_both_eras_are_answered_at_once_and_the_end_of_stdin_ends_it(
    command: list[str], environment: Environment, root: Path, first: bytes
) -> None:
    done = run([*command, "--root", str(root)], environment, cwd=root, stdin=first)
    assert done.returncode == 0
    assert "log_decision" in str(answers(done)[1]["instructions"])


# A line, and the code and id of its answer: -32700 is no JSON, -32600 no message of the protocol.
BAD_LINES = {
    "text": (b"not json\n", -32700, None),
    "cut short": (b'{"jsonrpc":"2.0","id":7,"method":"pi\n', -32700, None),
    "latin-1": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\xe9"}}\n', -32700, 7),
    "half a character": (
        b'{"jsonrpc":"2.0","id":"x","method":"ping","params":{"a":"\\ud800"}}\n',
        -32700,
        "x",
    ),
    "deep": (b"[" * 100_000 + b"\n", -32700, None),
    "50 MB": (b"x" * 50_000_000 + b"\n", -32700, None),
    "batch": (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]\n', -32600, None),
    "empty batch": (b"[]\n", -32600, None),
    "other version": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}\n', -32600, 7),
    "no version": (b'{"id":7,"method":"ping"}\n', -32600, 7),
    "number": (b"12\n", -32600, None),
    "object": (b"{}\n", -32600, None),
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_is_answered_and_does_not_end_the_server(
    command: list[str], environment: Environment, root: Path, line: str
) -> None:
    sent, code, request = BAD_LINES[line]
    done = run(
        [*command, "--root", str(root)], environment, cwd=root, stdin=INITIALIZE + sent + LOG
    )
    said = [json.loads(one) for one in done.stdout.splitlines()]
    (refusal,) = (one for one in said if "error" in one)
    assert (refusal["error"]["code"], refusal["id"]) == (code, request)
    assert done.returncode == 0
    assert "structuredContent" in answers(done)[2]


@pytest.mark.parametrize("line", [b"\n", b"\r\n", b"  \n"])
def test_an_empty_line_is_passed_over(
    command: list[str], environment: Environment, root: Path, line: bytes
) -> None:
    done = run(
        [*command, "--root", str(root)], environment, cwd=root, stdin=INITIALIZE + line + LOG
    )
    assert [json.loads(one)["id"] for one in done.stdout.splitlines()] == [1, 2]


def test_a_request_of_50_mb_is_refused_by_its_id(
    command: list[str], environment: Environment, root: Path
) -> None:
    stdin = INITIALIZE + LOG.replace(b'"f"', b'"%b"' % (b"f" * 50_000_000))
    done = run([*command, "--root", str(root)], environment, cwd=root, stdin=stdin)
    assert "more than 8388608" in str(answers(done)[2]["content"])
    assert list(root.rglob("discoveries/*.md")) == []


@pytest.mark.parametrize("first", [INITIALIZE, DISCOVER])
def test_the_list_of_tools_is_small_on_the_wire(
    command: list[str], environment: Environment, root: Path, first: bytes
) -> None:
    ask = LIST if first is INITIALIZE else DISCOVER.replace(b"server/discover", b"tools/list")
    stdin = first + ask.replace(b'"id":1', b'"id":3')
    done = run([*command, "--root", str(root)], environment, cwd=root, stdin=stdin)
    (line,) = (one for one in done.stdout.splitlines() if b'"tools":[' in one)
    assert len(line) < 10_000
    assert len(json.loads(line)["result"]["tools"]) == 11


def test_a_root_that_vanishes_while_it_runs_is_an_error_and_no_new_brain(
    command: list[str], environment: Environment, root: Path
) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("read_context", {}),
        ("list_entries", {}),
        ("search_context", {"query": "x"}),
        ("log_discovery", {"title": "t", "finding": "f", "impact": "i"}),
        ("append_to_finding", {"slug": "x", "note": "n"}),
    ]

    async def conversation(client: Client) -> list[str]:
        root.rmdir()
        return [str((await client.call_tool(name, given)).content) for name, given in calls]

    said = converse([*command, "--root", str(root)], environment, "legacy", conversation)
    assert [one for one in said if "is not a directory" not in one] == []
    assert not root.exists()


def test_a_request_followed_by_the_end_of_stdin_is_answered(
    command: list[str], environment: Environment, root: Path
) -> None:
    done = run([*command, "--root", str(root)], environment, cwd=root, stdin=INITIALIZE + LOG)
    assert answers(done)[2]["structuredContent"] == {
        "path": str(next(root.rglob("discoveries/*.md")).relative_to(root)),
        "slug": next(root.rglob("discoveries/*.md")).stem,
    }


def test_who_waits_for_a_lock_when_stdin_ends_is_told_that_it_is_held(
    command: list[str], environment: Environment, root: Path
) -> None:
    slug = ContextStore(root).log_finding(Finding("t", Category.BUG, "s")).slug
    asked = {"name": "append_to_finding", "arguments": {"slug": slug, "note": "n"}}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}
    stdin = INITIALIZE + json.dumps(call).encode() + b"\n"
    with (root / f".cspace/context/findings/{slug}.md.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(command, environment, cwd=root, stdin=stdin)
    assert answers(done)[2]["isError"] is True
    assert "lock" in str(answers(done)[2]["content"])


def test_a_missing_root_is_an_error_with_its_own_exit_code(
    command: list[str], environment: Environment, root: Path
) -> None:
    gone = root / "gone"
    done = run([*command, "--root", str(gone)], environment, cwd=root, stdin=INITIALIZE)
    assert (done.returncode, done.stdout) == (3, b"")
    assert f"root {gone} is not a directory" in done.stderr.decode()
    assert not gone.exists()


def test_without_root_it_serves_the_clients_project_or_else_the_current_directory(
    command: list[str], environment: Environment, root: Path, tmp_path: Path
) -> None:
    run(command, environment, cwd=root, stdin=INITIALIZE + LOG)
    assert list(root.rglob("discoveries/*.md"))
    claude = tmp_path / "claude"
    claude.mkdir()
    told = environment | {"CLAUDE_PROJECT_DIR": str(claude)}
    run(command, told, cwd=root, stdin=INITIALIZE + LOG)
    assert list(claude.rglob("discoveries/*.md"))


def test_inside_an_instance_records_carry_its_name_and_the_commit(
    command: list[str], environment: Environment, repo: Path
) -> None:
    inside = environment | {"CSPACE_INSTANCE": "mercury"}
    run([*command, "--root", str(repo)], inside, cwd=repo, stdin=INITIALIZE + LOG)
    (record,) = repo.rglob("discoveries/*.md")
    text = record.read_text(encoding="utf-8")
    assert "\nauthor: mercury\ninstance: mercury\ncommit: " in text
    assert not (repo / ".cspace/context/direction.md").exists()
