"""The context server in memory and as the process that clients start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, Tool

from cspace.context.records import Origin
from cspace.context.store import ContextStore
from cspace.mcp import context_server
from tests.conftest import CHECKOUT, Clock

Environment = dict[str, str]
TIMEOUT = 60.0
Call = Callable[..., CallToolResult]
Ask = Callable[[Callable[[Client], Awaitable[Any]]], Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def server(root: Path, clock: Clock) -> MCPServer[Any]:
    return context_server.build(ContextStore(root, Origin("ann"), clock=clock))


@pytest.fixture(params=["auto", "legacy"])
def call(request: pytest.FixtureRequest, server: MCPServer[Any]) -> Call:
    """Return a function that calls one tool through a real client, in either protocol era."""

    def ask(tool: str, **arguments: object) -> CallToolResult:
        async def conversation() -> CallToolResult:
            async with Client(server, mode=request.param) as client:
                return await client.call_tool(tool, arguments)

        return anyio.run(conversation)

    return ask


@pytest.fixture(params=["auto", "legacy"])
def ask(request: pytest.FixtureRequest, server: MCPServer[Any]) -> Ask:
    """Return a function that holds a conversation in either era; a refusal is its answer."""

    def conversation(talk: Callable[[Client], Awaitable[Any]]) -> Any:
        async def connected() -> Any:
            async with Client(server, mode=request.param) as client:
                try:
                    return await talk(client)
                except MCPError as error:
                    return error.error

        return anyio.run(connected)

    return conversation


@pytest.fixture
def command() -> list[str]:
    """Return what a client starts; `--root` and a directory may follow."""
    return [sys.executable, "-m", "cspace.cli.app", "context-server"]


@pytest.fixture
def environment() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": str(CHECKOUT)}


def asked(server: MCPServer[Any], question: Callable[[Client], Any], **more: Any) -> Any:
    """Hold a conversation with a server in this process."""

    async def conversation() -> Any:
        async with Client(server, **more) as client:
            return await question(client)

    return anyio.run(conversation)


def tools_of(server: MCPServer[Any]) -> dict[str, Tool]:
    """Return the tools that a client is shown, by name."""
    return {tool.name: tool for tool in asked(server, lambda c: c.list_tools()).tools}


def text_of(result: CallToolResult) -> str:
    """Return the one text of an answer."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def told(result: CallToolResult) -> dict[str, Any]:
    """Return the facts of an answer, which its text repeats."""
    assert result.is_error is False, result.content
    assert result.structured_content == json.loads(text_of(result))
    return result.structured_content or {}
