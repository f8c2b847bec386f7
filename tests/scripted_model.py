"""A model endpoint that says what a script says: Claude Code works with it, offline and unpaid.

As a program it runs a command against itself:

    python scripted_model.py [--requests] SCRIPT COMMAND…

SCRIPT is JSON: the list of the model's turns. A turn is a list of blocks; a block is
`{"text": "…"}` or `{"tool": "<name>", "input": {…}}`. Which turn is due follows from the request
alone, so a request that is sent again gets the same answer. The last line on stdout is JSON: what
the command's tools answered, or with --requests the prompts that the model was sent. The exit code
is the command's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Turn = Sequence[Block]

USAGE = {"input_tokens": 1, "output_tokens": 1}


class ScriptedModel(ThreadingHTTPServer):
    """Serves `/v1/messages` on a free port of 127.0.0.1; keeps the requests of the script.

    Requests without tools (a title for the session, a check of the login) are answered with a word.
    """

    daemon_threads = True

    def __init__(self, turns: Sequence[Turn]) -> None:
        super().__init__(("127.0.0.1", 0), _Endpoint)
        self.turns = turns
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL must be."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, request: dict[str, Any]) -> Turn:
        """Return the turn that is due."""
        if not request.get("tools"):
            return ({"text": "ok"},)
        self.requests.append(request)
        done = sum(message["role"] == "assistant" for message in request["messages"])
        return self.turns[done] if done < len(self.turns) else ({"text": "The script has ended."},)

    def tool_results(self) -> list[Block]:
        """List the results of tools that the longest request carries."""
        sent: list[list[Block]] = [each["messages"] for each in self.requests]
        longest = max(sent, key=len, default=[])
        contents = [each["content"] for each in longest if isinstance(each["content"], list)]
        return [block for blocks in contents for block in blocks if block["type"] == "tool_result"]


class _Endpoint(BaseHTTPRequestHandler):
    server: ScriptedModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.partition("?")[0].endswith("/count_tokens"):
            return self._send("application/json", json.dumps({"input_tokens": 1}))
        message = _message(request.get("model", "scripted"), self.server.answer(request))
        if not request.get("stream"):
            return self._send("application/json", json.dumps(message))
        lines = (
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message)
        )
        return self._send("text/event-stream", "".join(lines))

    def do_GET(self) -> None:
        self._send("application/json", "{}")

    do_HEAD = do_GET  # noqa: N815  the base class looks for this name

    def _send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Stay silent: stderr is the command's."""


def _message(model: str, turn: Turn) -> dict[str, Any]:
    content = [_block(number, block) for number, block in enumerate(turn)]
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{os.urandom(8).hex()}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _block(number: int, block: Block) -> Block:
    if "tool" not in block:
        return {"type": "text", "text": block["text"]}
    call = f"toolu_{os.urandom(8).hex()}{number}"
    return {"type": "tool_use", "id": call, "name": block["tool"], "input": block["input"]}


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message as the stream of events that the API would send."""
    start = {**message, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        empty, delta = _split(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": USAGE}
    yield {"type": "message_stop"}


def _split(block: Block) -> tuple[Block, Block]:
    if block["type"] == "text":
        return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    whole = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": whole}


def main(*words: str) -> int:
    """Run a command against the script; return its exit code."""
    shown = words[0] == "--requests"
    script, *command = words[1:] if shown else words
    model = ScriptedModel(json.loads(script))
    threading.Thread(target=model.serve_forever, daemon=True).start()
    mine = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "scripted"}
    done = subprocess.run(command, env=os.environ | mine, stdin=subprocess.DEVNULL, check=False)
    model.shutdown()
    sent = [{key: each.get(key) for key in ("system", "messages")} for each in model.requests]
    # The command may have left what it shares with us in a state in which a long write fails.
    os.set_blocking(sys.stdout.fileno(), True)
    sys.stdout.write(f"\n{json.dumps(sent if shown else model.tool_results())}\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
