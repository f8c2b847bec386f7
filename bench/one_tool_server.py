"""The least server that the SDK makes: what `cspace context-server` is compared with."""

from __future__ import annotations

from mcp.server import MCPServer

server: MCPServer[object] = MCPServer("one-tool", version="1")


@server.tool()
def ping(text: str) -> str:
    """Return text."""
    return text


if __name__ == "__main__":
    server.run("stdio")
