"""What tests of `cspace memory` share: the command, and memories that are there."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cspace.cli.app import main


def cspace(
    *words: str, cwd: Path, said: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run cspace without a terminal.

    In this process, whose start would be nearly all of a test's time. Where the process is the
    point, a test starts one.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _run(("cspace", *words), (said, out.fileno(), err.fileno()), cwd, env or {})
        out.seek(0)
        err.seek(0)
        told = out.read().decode("utf-8", "surrogateescape"), err.read().decode()
    return subprocess.CompletedProcess(words, code, *told)


def memory(
    *words: str, cwd: Path, ok: int = 0, said: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `cspace memory`; the exit code is checked."""
    done = cspace("memory", *words, cwd=cwd, said=said, env=env)
    assert done.returncode == ok, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def _run(
    argv: tuple[str, ...], streams: tuple[bytes, int, int], cwd: Path, env: Mapping[str, str]
) -> int:
    said, out, err = streams
    with (
        contextlib.chdir(cwd),
        _environment(env),
        open(out, "w", encoding="utf-8", closefd=False) as stdout,
        open(err, "w", encoding="utf-8", closefd=False) as stderr,
        _standing_in(list(argv), io.TextIOWrapper(io.BytesIO(said), "utf-8"), stdout, stderr),
    ):
        try:
            main()
        except SystemExit as leave:
            return int(leave.code or 0)
        finally:
            gc.enable()
    raise AssertionError("main always exits")


@contextlib.contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _standing_in(*parts: Any) -> Iterator[None]:
    names = ("argv", "stdin", "stdout", "stderr")
    before = [getattr(sys, name) for name in names]
    for name, part in zip(names, parts, strict=True):
        setattr(sys, name, part)
    try:
        yield
    finally:
        for name, part in zip(names, before, strict=True):
            setattr(sys, name, part)


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
