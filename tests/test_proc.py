"""Other programs are run without a shell or our stdin, and what they say reaches the error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CommandFailed

HOSTILE = ("$(id)", "a b", "'", '"', "; exit 3", "*", "\n", "")


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_words_reach_the_program_as_they_are_without_a_shell() -> None:
    shown = proc.run(*python("import sys; print(sys.argv[1:])"), *HOSTILE)
    assert shown.text == str(list(HOSTILE))


def test_stdout_and_stderr_come_back_byte_for_byte_and_apart() -> None:
    code = r"import os; os.write(1, b'\xff\x00out\n\n'); os.write(2, b'err')"
    result = proc.run(*python(code))
    assert (result.code, result.stdout, result.stderr) == (0, b"\xff\x00out\n\n", b"err")
    assert os.fsencode(result.text) == b"\xff\x00out"


def test_stdin_is_what_was_given_and_otherwise_empty() -> None:
    read = python("import sys; print(len(sys.stdin.buffer.read()))")
    assert proc.run(*read, stdin=b"secret").text == "6"
    assert proc.run(*read).text == "0"


def test_a_secret_in_stdin_is_in_no_error() -> None:
    with pytest.raises(CommandFailed) as failed:
        proc.run(*python("import sys; sys.stdin.read(); sys.exit(1)"), stdin=b"hunter2")
    assert "hunter2" not in str(failed.value)


def test_the_environment_is_inherited_or_replaced_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLOUR", "blue")
    ask = python("import os; print(os.environ.get('COLOUR'), os.environ.get('SHAPE'))")
    assert proc.run(*ask).text == "blue None"
    assert proc.run(*ask, env={"SHAPE": "round"}).text == "None round"


def test_a_program_runs_in_the_directory_that_was_named(tmp_path: Path) -> None:
    shown = proc.run(*python("import os; print(os.getcwd())"), cwd=tmp_path)
    assert shown.text == str(tmp_path.resolve())


def test_an_exit_code_that_is_an_answer_is_no_failure() -> None:
    assert proc.run(*python("raise SystemExit(3)"), ok=(0, 3)).code == 3


def test_a_failure_shows_the_command_its_code_and_the_last_lines_of_stderr() -> None:
    code = "import sys; [print(f'line {n}', file=sys.stderr) for n in range(40)]; sys.exit(9)"
    with pytest.raises(CommandFailed, match="ended with code 9:") as failed:
        proc.run(*python(code))
    lines = str(failed.value).splitlines()
    assert lines[0].startswith(sys.executable)
    assert lines[-proc.TAIL_LINES :] == [f"  line {n}" for n in range(25, 40)]
    assert "line 24" not in str(failed.value)


def test_a_failure_that_said_it_on_stdout_or_not_at_all_is_shown_too() -> None:
    with pytest.raises(CommandFailed, match="code 1:\n  only here"):
        proc.run(*python("print('only here'); raise SystemExit(1)"))
    with pytest.raises(CommandFailed, match="code 1, and said nothing"):
        proc.run(*python("raise SystemExit(1)"))


def test_a_missing_program_names_the_next_step() -> None:
    with pytest.raises(CommandFailed, match="no-such-program: program not found") as failed:
        proc.run("no-such-program", "--version")
    assert failed.value.hint == "install no-such-program, then try again"


def test_a_missing_directory_is_not_taken_for_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=f"no such directory: {tmp_path}/gone"):
        proc.run(sys.executable, cwd=tmp_path / "gone")


def test_a_program_that_hangs_is_ended_after_its_time() -> None:
    with pytest.raises(CommandFailed, match=r"no answer within 0\.2 s"):
        proc.run(*python("input() if False else __import__('signal').pause()"), timeout=0.2)


def test_stream_hands_over_both_outputs_line_by_line_as_they_come() -> None:
    lines: list[str] = []
    code = "import sys; print('one', flush=True); print('two', file=sys.stderr); print('caf\\xe9')"
    proc.stream(*python(code), on_line=lines.append, env=os.environ | {"PYTHONUTF8": "1"})
    assert sorted(lines) == ["café", "one", "two"]


def test_stream_gives_lines_while_the_program_still_runs() -> None:
    """The program waits for a pipe that is written only once its first line has arrived."""
    reading, writing = os.pipe()
    lines: list[str] = []

    def answer(line: str) -> None:
        lines.append(line)
        if line == "ready":
            os.write(writing, b"go")

    code = f"import os; print('ready', flush=True); print(os.read(os.open('/proc/{os.getpid()}/fd/{reading}', os.O_RDONLY), 2))"  # noqa: E501  one program
    try:
        proc.stream(*python(code), on_line=answer)
    finally:
        os.close(reading)
        os.close(writing)
    assert lines == ["ready", "b'go'"]


def test_stream_fails_with_the_last_lines() -> None:
    lines: list[str] = []
    code = "[print(f'line {n}') for n in range(40)]; raise SystemExit(4)"
    with pytest.raises(CommandFailed, match="ended with code 4:") as failed:
        proc.stream(*python(code), on_line=lines.append)
    assert len(lines) == 40
    assert str(failed.value).splitlines()[1:] == [f"  line {n}" for n in range(25, 40)]


def test_stream_has_no_stdin_and_names_a_missing_program(tmp_path: Path) -> None:
    lines: list[str] = []
    proc.stream(*python("import sys; print(repr(sys.stdin.read()))"), on_line=lines.append)
    assert lines == ["''"]
    with pytest.raises(CommandFailed, match="program not found on PATH"):
        proc.stream("no-such-program", on_line=lines.append, cwd=tmp_path)


def test_a_program_that_may_not_be_executed_is_an_expected_error(tmp_path: Path) -> None:
    file = tmp_path / "plain"
    file.write_text("not a program", encoding="utf-8")
    with pytest.raises(CommandFailed, match="plain"):
        proc.run(file)
    with pytest.raises(CommandFailed, match="plain"):
        proc.stream(file, on_line=print)


def test_talk_carries_a_conversation_and_takes_a_file_for_stdin(tmp_path: Path) -> None:
    echo = python("import sys; [print(line, end='', flush=True) for line in sys.stdin]")
    with proc.talk(*echo, env=os.environ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"one\n"
    source = tmp_path / "input"
    source.write_bytes(b"two\n")
    with source.open("rb") as file, proc.talk(*echo, env=os.environ, stdin=file) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"two\n"


def flood(*words: str) -> None:
    with proc.talk(*words, env=os.environ) as process:
        assert process.stdin is not None
        while True:
            process.stdin.write(b"x" * 65536)


def test_talk_fails_with_what_the_program_said_also_when_it_stopped_listening() -> None:
    refuse = python("import os, sys; os.close(0); print('no', file=sys.stderr); sys.exit(2)")
    with pytest.raises(CommandFailed, match="code 2:\n  no"):
        flood(*refuse)


def test_talk_ends_the_program_when_the_caller_fails() -> None:
    wait = python("import signal; signal.pause()")
    with (
        pytest.raises(ValueError, match="ours"),
        proc.talk(*wait, env=os.environ) as process,
    ):
        raise ValueError("ours")
    assert process.returncode == -9


def test_talk_names_a_missing_program() -> None:
    with (
        pytest.raises(CommandFailed, match="program not found on PATH"),
        proc.talk("no-such-program", env=os.environ),
    ):
        pytest.fail("it was started")


def test_a_line_that_never_ends_comes_in_pieces() -> None:
    size = 3 * proc.MAX_LINE_BYTES + 5
    lines: list[str] = []
    proc.stream(*python(f"print('x' * {size}); print('end')"), on_line=lines.append)
    assert [len(line) for line in lines] == [proc.MAX_LINE_BYTES] * 3 + [5, 3]


def test_an_answer_within_its_limit_comes_back_whole() -> None:
    code = r"import os; os.write(1, b'x' * 100000); os.write(2, b'err'); raise SystemExit(3)"
    with proc.start_limited(*python(code), limit=100_000, ok=(3,)) as answer:
        result = answer()
    assert (result.code, result.stdout, result.stderr) == (3, b"x" * 100_000, b"err")
    with (
        proc.start_limited(*python(code), limit=100_000) as answer,
        pytest.raises(CommandFailed, match="err"),
    ):
        answer()


def test_a_program_that_was_started_ahead_begins_when_it_is_told_to(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = f"import sys\nif sys.stdin.readline(): open({str(told)!r}, 'w').close()"
    with proc.start_limited(*python(code), limit=100):
        assert not told.exists()
    assert not told.exists()
    with proc.start_limited(*python(code), limit=100) as answer:
        assert not told.exists()
        answer()
    assert told.exists()


def test_a_program_that_ended_before_it_was_told_to_begin_has_the_word() -> None:
    with proc.start_limited(*python("raise SystemExit('early')"), limit=100) as answer:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        with pytest.raises(CommandFailed, match="early"):
            answer()


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_program_that_says_too_much_is_ended(descriptor: int) -> None:
    code = f"import os\nwhile True: os.write({descriptor}, b'x' * 65536)"
    with (
        proc.start_limited(*python(code), limit=1_000_000) as answer,
        pytest.raises(CommandFailed, match="said more than 1000000 bytes"),
    ):
        answer()


def test_a_limited_program_that_is_missing_is_named() -> None:
    missing = proc.start_limited("no-such-program", limit=10)
    with pytest.raises(CommandFailed, match="no-such-program: program not found"), missing:
        pass


def test_a_program_that_answers_too_late_is_ended() -> None:
    late = proc.start_limited("sleep", "600", limit=100, ok=(-9, 0), timeout=0.2)
    with late as answer, pytest.raises(CommandFailed, match=r"no answer within 0\.2 s"):
        answer()


def test_a_program_that_answers_in_time_is_heard() -> None:
    with proc.start_limited("echo", "here", limit=100, timeout=60.0) as answer:
        assert answer().text == "here"
