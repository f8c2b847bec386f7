"""Starts MCP servers as clients do, and asks them line by line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.measure import environment

_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Server:
    """A server process over stdin and stdout, from its start to the end of the block."""

    def __init__(self, *argv: str | Path) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )
        self._asked = 0

    def __enter__(self) -> Self:
        self.ask("initialize", _CLIENT)
        self._send({"method": "notifications/initialized"})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()

    def ask(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Return the result of a request; an error ends the benchmark."""
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": dict(params or {})})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._asked:
                assert "result" in answer, answer
                return dict(answer["result"])
        return sys.exit(f"the server ended before it answered {method}")

    def call(self, tool: str, **arguments: object) -> None:
        """Call a tool; a failure ends the benchmark."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result

    def resident(self) -> int:
        """Return the bytes of memory that the process holds."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        [line] = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def _send(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()
