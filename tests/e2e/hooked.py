"""Drives the real Claude Code in an instance against a scripted model, and keeps what it was sent.

    python hooked.py TURNS FULL COMMAND…

TURNS as in scripted_model.py. FULL: how many answers say that the context window is full, which
makes Claude Code compact by itself. /tmp/seen.json then holds every request that came.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import scripted_model as scripted  # type: ignore[import-not-found,unused-ignore]

SEEN = Path("/tmp/seen.json")
SMALL, FULL = 1, 990_000


class Recorded(scripted.ScriptedModel):  # type: ignore[misc,unused-ignore]
    """Answers a request for a summary with a text, and all others by the script."""

    def __init__(self, turns: list[Any], full: int) -> None:
        super().__init__(turns)
        self.seen: list[Any] = []
        self.full = full

    def answer(self, request: dict[str, Any]) -> Any:
        self.seen.append({key: request.get(key) for key in ("system", "messages")})
        self.full -= 1
        scripted.USAGE["input_tokens"] = FULL if self.full >= 0 else SMALL
        if "summary of the conversation" in json.dumps(request["messages"][-1]):
            return ({"text": "SUMMARY-OF-IT"},)
        return super().answer(request)


def main(turns: str, full: str, *command: str) -> int:
    model = Recorded(json.loads(turns), int(full))
    threading.Thread(target=model.serve_forever, daemon=True).start()
    mine = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "scripted"}
    done = subprocess.run(command, env=os.environ | mine, stdin=subprocess.DEVNULL, check=False)
    model.shutdown()
    # Not stdout: Claude Code leaves the pipe in a mode in which a large write fails.
    SEEN.write_text(json.dumps(model.seen), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
