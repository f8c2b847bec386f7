"""Runs other programs: no shell, errors that show what was said, no inherited stdin but for a
program that talks to a person.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cspace.errors import CommandFailed

TAIL_LINES = 15
# A line that does not end is cut into lines this long: what runs in a container can write one.
MAX_LINE_BYTES = 64 * 1024
_held: ContextVar[tuple[int, ...]] = ContextVar("held", default=())


@dataclass(frozen=True, slots=True)
class Result:
    """What a program answered; stdout and stderr as raw bytes."""

    argv: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """Stdout as text without the final newline; undecodable bytes survive as surrogates."""
        return os.fsdecode(self.stdout).rstrip("\n")


@contextlib.contextmanager
def holding(descriptor: int) -> Iterator[None]:
    """Let every program of this block hold a lock's descriptor too.

    Where we are killed and a program goes on, whoever waits for the lock waits for its end: what it
    does to the engine or to files would otherwise come in between.
    """
    token = _held.set((*_held.get(), descriptor))
    try:
        yield
    finally:
        _held.reset(token)


def run(
    *argv: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float | None = None,
    ok: tuple[int, ...] = (0,),
) -> Result:
    """Run a program to its end. Secrets never belong into argv: pass them through stdin.

    Args:
        env: the whole environment; None inherits ours.
        timeout: seconds; None waits forever.
        ok: the exit codes that are an answer and not a failure.

    Raises:
        CommandFailed: the program can not be started, timed out, or answered with another code.
    """
    words = tuple(str(word) for word in argv)
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=env,
            input=stdin,
            capture_output=True,
            timeout=timeout,
            check=False,
            pass_fds=_held.get(),
        )
    except OSError as error:
        raise _not_started(words, cwd, error) from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"{shlex.join(words)}: no answer within {timeout:g} s") from error
    return _accepted(Result(words, done.returncode, done.stdout, done.stderr), ok)


def converse(*argv: str | Path) -> int:
    """Run a program that talks to the person in front of us, and return its exit code.

    It has our terminal, and our stderr for its stdout where that is none. ^C is its own matter.

    Raises:
        CommandFailed: it can not be started.
    """
    words = tuple(str(word) for word in argv)
    output = None if sys.stdout.isatty() else sys.stderr.fileno()
    # Not SIG_IGN, which the program would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(words, stdout=output, check=False, pass_fds=_held.get()).returncode
    except OSError as error:
        raise _not_started(words, None, error) from error
    finally:
        signal.signal(signal.SIGINT, before)


def stream(
    *argv: str | Path,
    on_line: Callable[[str], None],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    tail_lines: int = TAIL_LINES,
) -> None:
    """Run a program and hand over each line of its stdout and stderr as it comes.

    A line is at most MAX_LINE_BYTES long; what follows comes as another one.

    Args:
        tail_lines: how many of its last lines an error repeats.

    Raises:
        CommandFailed: as for `run`; the message carries the last lines.
    """
    words = tuple(str(word) for word in argv)
    tail: list[str] = []
    process = _start(words, cwd, env, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    with process:
        output = process.stdout
        assert output is not None  # noqa: S101  PIPE above; tells the type checker
        for raw in iter(lambda: output.readline(MAX_LINE_BYTES), b""):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            tail = [*tail[-tail_lines + 1 :], line]
            on_line(line)
    if process.returncode:
        raise failure(words, process.returncode, "\n".join(tail), tail_lines)


@contextlib.contextmanager
def start_limited(
    *argv: str | Path, limit: int, ok: tuple[int, ...] = (0,), timeout: float | None = None
) -> Iterator[Callable[[], Result]]:
    """Start a program that somebody else's code speaks through, and end it when it says too much.

    What is handed over is called once: it writes a line to the program's stdin, and returns what it
    answered. Where that is not called, as when we are killed, the stdin ends without a line.

    Args:
        limit: the most bytes that its stdout may have, and its stderr.
        timeout: seconds for the whole answer; None waits forever.

    Raises:
        CommandFailed: as for `run`, or it said more.
    """
    words = tuple(str(word) for word in argv)
    with _start(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        if timeout is None:
            yield lambda: _answer(process, words, limit, ok)
        else:
            yield lambda: _answer_within(process, words, limit, ok, timeout)


def _answer_within(
    process: subprocess.Popen[bytes],
    words: tuple[str, ...],
    limit: int,
    ok: tuple[int, ...],
    timeout: float,
) -> Result:
    ended = threading.Event()

    def end() -> None:
        ended.set()
        process.kill()

    timer = threading.Timer(timeout, end)
    timer.start()
    try:
        answer = _answer(process, words, limit, ok)
    except CommandFailed:
        if not ended.is_set():
            raise
    finally:
        timer.cancel()
    if ended.is_set():
        raise CommandFailed(f"{shlex.join(words)}: no answer within {timeout:g} s")
    return answer


def _answer(
    process: subprocess.Popen[bytes], words: tuple[str, ...], limit: int, ok: tuple[int, ...]
) -> Result:
    def read(pipe: IO[bytes] | None) -> bytes:
        said = pipe.read(limit + 1) if pipe is not None else b""
        if len(said) > limit:
            process.kill()
        return said

    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  8 ms, for few programs

    with ThreadPoolExecutor(2) as pool:
        try:
            if process.stdin is not None:
                # One that ended by itself breaks the pipe: its own words are the better reason.
                with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
                    stdin.write(b"\n")
            stdout, stderr = pool.map(read, (process.stdout, process.stderr))
        except BaseException:
            process.kill()
            raise
    process.wait()
    if max(len(stdout), len(stderr)) > limit:
        raise CommandFailed(f"{shlex.join(words)} said more than {limit} bytes")
    return _accepted(Result(words, process.returncode, stdout, stderr), ok)


@contextlib.contextmanager
def talk(
    *argv: str | Path, env: Mapping[str, str], stdin: IO[bytes] | int = subprocess.PIPE
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program and hand over its pipes, for input or output too large to hold in memory.

    Args:
        stdin: a file to read from instead of a pipe.

    Raises:
        CommandFailed: the program is missing, or ended with another code than 0.
    """
    import tempfile  # noqa: PLC0415  loads much, for few programs

    words = tuple(str(word) for word in argv)
    with tempfile.TemporaryFile() as said:
        process = _start(words, env=env, stdin=stdin, stderr=said)
        # A program that ended early breaks the pipe: its own words are the better reason.
        with contextlib.suppress(BrokenPipeError), process:
            try:
                yield process
            except BrokenPipeError:
                pass
            except BaseException:
                process.kill()
                raise
        said.seek(0)
        if process.returncode:
            raise failure(words, process.returncode, os.fsdecode(said.read()))


def _start(
    words: tuple[str, ...],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    *,
    stdin: IO[bytes] | int,
    stderr: IO[bytes] | int,
) -> subprocess.Popen[bytes]:
    """Start a program that holds our locks with us; its stdout is a pipe."""
    try:
        return subprocess.Popen(
            words, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
            pass_fds=_held.get(),
        )  # fmt: skip
    except OSError as error:
        raise _not_started(words, cwd, error) from error


def _accepted(result: Result, ok: tuple[int, ...]) -> Result:
    if result.code not in ok:
        raise failure(result.argv, result.code, os.fsdecode(result.stderr or result.stdout))
    return result


def failure(
    argv: tuple[str, ...], code: int, output: str, tail_lines: int = TAIL_LINES
) -> CommandFailed:
    """Describe a refusal: the command, its exit code and the last lines that it said."""
    tail = "\n".join(f"  {line}" for line in output.strip().splitlines()[-tail_lines:])
    said = f":\n{tail}" if tail else ", and said nothing"
    return CommandFailed(f"{shlex.join(argv)} ended with code {code}{said}")


def _not_started(argv: tuple[str, ...], cwd: Path | None, error: OSError) -> CommandFailed:
    # Popen raises the same error for a missing program and for a missing directory.
    if cwd is not None and not cwd.is_dir():
        return CommandFailed(f"{argv[0]}: no such directory: {cwd}")
    if not isinstance(error, FileNotFoundError):
        return CommandFailed(f"{argv[0]}: could not be started: {error.strerror}")
    return CommandFailed(
        f"{argv[0]}: program not found on PATH", hint=f"install {argv[0]}, then try again"
    )
