"""What tests of `cspace memory` share: the command as a process, and memories that are there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROGRAM = (sys.executable, "-m", "cspace.cli.app", "memory")


def memory(
    *words: str, cwd: Path, ok: int = 0, said: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `cspace memory` without a terminal; the exit code is checked."""
    done = subprocess.run(
        (*PROGRAM, *words), cwd=cwd, input=said, capture_output=True, check=False,
        env=os.environ | dict(env or {}),
    )  # fmt: skip
    out, err = done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()
    assert done.returncode == ok, f"{words}: {done.returncode}\n{out}{err}"
    return subprocess.CompletedProcess(words, done.returncode, out, err)


def document(*words: str, cwd: Path, ok: int = 0, env: Mapping[str, str] | None = None) -> Any:
    """Return what `cspace memory … --json` prints."""
    found = json.loads(memory(*words, "--json", cwd=cwd, ok=ok, env=env).stdout)
    assert found["schema_version"] == 1
    return found


def root(home: Path) -> Path:
    """Return where the test's memories lie."""
    return home / ".cspace/memory"


def put(home: Path, name: str, text: str | bytes, *, type_: str = "feedback") -> Path:
    """Write a memory past cspace, as a person does: `user/rule`."""
    path = root(home) / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    body = text.encode() if isinstance(text, str) else text
    head = (
        f"---\nname: {path.stem}\ndescription: About {path.stem}\nmetadata:\n  type: {type_}\n---\n"
    )
    path.write_bytes(head.encode() + body)
    return path


def tree(place: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything below a directory, with its times and bytes."""
    return {
        str(path.relative_to(place)): (
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(place.rglob("*"))
    }
