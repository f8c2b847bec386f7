"""What a doctor sees inside an instance: run there, `python -I -m cspace.doctor.inside TARGETS`.

Prints one JSON document. Of what an agent wrote nothing is trusted here but by the agent itself:
whoever reads the answer takes it for that. Needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SERVER = "cspace-context"
WORKSPACE = Path("/workspace")
GIT_KEY = "credential.https://github.com.helper"
GIT_HELPER = "/usr/local/lib/cspace/git-credential-cspace.sh"
# The whole of it; who asks waits a little longer.
SECONDS = 30
SERVER_SECONDS = 15.0
GIT_SECONDS = 5.0
MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_LINE_BYTES = 1024 * 1024
MAX_TEXT = 300
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "cspace-doctor", "version": "1"},
}


def look(targets: list[str]) -> dict[str, object]:
    """Return what there is to see; targets are the places of the instance's mounts."""
    mounted = _mount_points()
    return {
        "uid": os.getuid(),
        "mounts": {target: _look_at(Path(target), mounted) for target in targets},
        "git": {key: _git("config", "--get", f"user.{key}") for key in ("name", "email")},
        "git_helper": GIT_HELPER in _git("config", "--global", "--get-all", GIT_KEY).splitlines(),
        "key_helper": bool(_read_json(_claude() / "settings.json").get("apiKeyHelper")),
        "server": _try_server(),
    }


def _mount_points() -> frozenset[str]:
    rows = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    return frozenset(row.split()[4] for row in rows)


def _look_at(target: Path, mounted: frozenset[str]) -> dict[str, object] | None:
    try:
        found = target.stat()
    except OSError:
        return None
    return {
        "uid": found.st_uid,
        "writable": os.access(target, os.W_OK),
        "mounted": os.path.realpath(target) in mounted,
    }


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(WORKSPACE), *words],
            capture_output=True, timeout=GIT_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:MAX_TEXT].decode("utf-8", "replace").strip()


def _claude() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR", "/home/dev/.claude"))


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():  # opening a FIFO would wait
        return {}
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(MAX_FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _part(document: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        below = document.get(key)
        document = below if isinstance(below, dict) else {}
    return dict(document)


def _registered() -> dict[str, Any]:
    """Return how the server is registered, in the scope that Claude Code lets win."""
    own = _read_json(_claude() / ".claude.json")
    scopes = (
        _part(own, "projects", str(WORKSPACE), "mcpServers"),
        _part(_read_json(WORKSPACE / ".mcp.json"), "mcpServers"),
        _part(own, "mcpServers"),
    )
    return next((_part(scope, SERVER) for scope in scopes if SERVER in scope), {})


def _is_disabled() -> bool:
    project = _part(_read_json(_claude() / ".claude.json"), "projects", str(WORKSPACE))
    named = (project.get(key) for key in ("disabledMcpServers", "disabledMcpjsonServers"))
    return any(isinstance(names, list) and SERVER in names for names in named)


def _try_server() -> dict[str, object]:
    entry = _registered()
    command, arguments, env = (entry.get(key) for key in ("command", "args", "env"))
    words = [command, *(arguments if isinstance(arguments, list) else ())]
    if not all(isinstance(word, str) for word in words):
        return {"command": "", "problem": "is not registered as a program"}
    shown = " ".join(map(str, words))[:MAX_TEXT]
    if _is_disabled():
        return {"command": shown, "problem": "is disabled"}
    extra = {str(key): str(value) for key, value in (env or {}).items()} if env else {}
    return {"command": shown, "problem": _shake_hands([str(word) for word in words], extra)}


def _shake_hands(words: list[str], extra: dict[str, str]) -> str | None:
    """Start the server as registered and speak with it; return what went wrong."""
    try:
        server = subprocess.Popen(
            words, cwd=WORKSPACE, env=os.environ | extra, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        return f"can not be started: {error}"[:MAX_TEXT]
    ended = threading.Event()

    def end() -> None:
        ended.set()
        _kill(server)

    timer = threading.Timer(SERVER_SECONDS, end)
    timer.daemon = True
    timer.start()
    try:
        return _converse(server)
    except (OSError, ValueError, RecursionError, AttributeError, TypeError) as error:
        if ended.is_set():
            return f"did not answer within {SERVER_SECONDS:g} s"
        return f"answers with something else than MCP: {error}"[:MAX_TEXT]
    finally:
        timer.cancel()
        _kill(server)


def _kill(server: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(server.pid, signal.SIGKILL)


def _converse(server: subprocess.Popen[bytes]) -> str | None:
    answer = _call(server, 1, "initialize", _HELLO)
    name = _part(answer, "result", "serverInfo").get("name")
    if name != SERVER:
        return f"calls itself {name!r}"[:MAX_TEXT]
    _send(server, {"method": "notifications/initialized"})
    tools = _part(_call(server, 2, "tools/list", {}), "result").get("tools")
    return None if tools else "offers no tools"


def _send(server: subprocess.Popen[bytes], message: Mapping[str, object]) -> None:
    if server.stdin is not None:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        server.stdin.flush()


def _call(
    server: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, object]
) -> dict[str, Any]:
    _send(server, {"id": number, "method": method, "params": params})
    deadline = time.monotonic() + SERVER_SECONDS
    while server.stdout is not None and time.monotonic() < deadline:
        line = server.stdout.readline(MAX_LINE_BYTES)
        if not line:
            raise ValueError("it ended")
        answer = json.loads(line)
        if answer.get("id") == number:
            return dict(answer)
    raise ValueError("no answer")


def main() -> None:
    """Answer within SECONDS, or end without a word."""
    signal.alarm(SECONDS)
    print(json.dumps(look(sys.argv[1:])))  # noqa: T201  the answer


if __name__ == "__main__":
    main()
