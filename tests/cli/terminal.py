"""Runs cspace as a person does: on a terminal, with an editor that a script plays."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Screen:
    """What a person saw; the terminal's own line ends are plain ones again."""

    code: int
    out: str
    err: str


def on_terminal(
    *words: str, cwd: Path, said: bytes = b"", whole: bool = False, **variables: str
) -> Screen:
    """Run cspace with a terminal for stdin and stdout, which what is said waits in.

    Args:
        whole: stderr goes there too, and into `out`.
    """
    program = (sys.executable, "-m", "cspace.cli.app", *words)
    return run_on_terminal(program, cwd=cwd, said=said, whole=whole, variables=variables)


def run_on_terminal(
    words: Sequence[str],
    *,
    cwd: Path,
    said: bytes = b"",
    whole: bool = True,
    variables: Mapping[str, str],
) -> Screen:
    """Run any program so; see `on_terminal`."""
    ours, theirs = pty.openpty()
    os.write(ours, said)
    process = subprocess.Popen(
        words,
        cwd=cwd, stdin=theirs, stdout=theirs, env=os.environ | dict(variables),
        stderr=theirs if whole else subprocess.PIPE,
    )  # fmt: skip
    os.close(theirs)
    shown = read_all(ours)
    _, err = process.communicate()
    os.close(ours)
    return Screen(process.returncode, shown.replace("\r\n", "\n"), (err or b"").decode())


def read_all(terminal: int) -> str:
    """Read what is written to a terminal until nobody has it open."""
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            return shown.decode()
        shown += part


def make_editor(place: Path, script: str) -> str:
    """Write an editor as a shell script, whose $1 is the copy; return the command for EDITOR."""
    path = place / "my editor.sh"
    path.write_text(f"#!/bin/sh\nset -e\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return f"'{path}'"
