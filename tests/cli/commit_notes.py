"""What tests of `cspace notes` share: the command, and memories that are there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.memories import cspace


def notes(
    *words: str, cwd: Path, ok: int = 0, said: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `cspace notes`; the exit code is checked."""
    done = cspace("notes", *words, cwd=cwd, said=said, env=env)
    assert done.returncode == ok, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def document(
    *words: str, cwd: Path, ok: int = 0, said: bytes = b"", env: Mapping[str, str] | None = None
) -> Any:
    """Return what `cspace notes … --json` prints."""
    found = json.loads(notes(*words, "--json", cwd=cwd, ok=ok, said=said, env=env).stdout)
    assert found["schema_version"] == 1
    return found


def capture(where: Path, namespace: str, summary: str, *more: str, body: str = "") -> str:
    """Keep a memory; return its reference."""
    words = ("capture", namespace, "--summary", summary, "--body", body, *more)
    found = document(*words, cwd=where)["memory"]["reference"]
    assert isinstance(found, str)
    return found


def commit(where: Path, name: str, text: str = "text\n") -> str:
    """Commit a file; return the commit."""
    path = where / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    run_git(where, "add", "--", name)
    run_git(where, "commit", "--quiet", "--message", f"Change {name}")
    return run_git(where, "rev-parse", "HEAD")


def run_git(where: Path, *words: str) -> str:
    """Run git; return what it prints."""
    done = subprocess.run(("git", "-C", where, *words), capture_output=True, text=True, check=True)
    return done.stdout.strip()
