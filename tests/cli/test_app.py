"""The command line as a process: exit codes, and what goes to stdout and stderr."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cspace.cli.app import _report_bug


def cspace(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "cspace.cli.app", *words),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


WRITES_NOTHING = """
import resource
from cspace.cli.app import main
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
main()
"""
INSTANCE = ("up", "start", "stop", "down", "restore", "status", "ports")
OTHERS = ("init", "list", "exec", "shell", "attach", "logs", "context-server", "doctor")
COMMANDS = (*INSTANCE, *OTHERS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(tmp_path: Path, command: str) -> None:
    answer = cspace(command, "--help", cwd=tmp_path)
    assert answer.returncode == 0
    assert f"Usage: cspace {command}" in answer.stdout
    assert "Example" in answer.stdout


NOUNS = (
    *("archive", "config", "context", "findings", "hooks", "memory", "notes", "plugin"),
    *("quarantine", "sessions"),
)
GROUPS = [(), *((name,) for name in NOUNS), ("plugin", "log")]


@pytest.mark.parametrize("group", GROUPS)
def test_no_summary_of_a_command_is_cut_off(tmp_path: Path, group: tuple[str, ...]) -> None:
    _, _, commands = cspace(*group, "--help", cwd=tmp_path).stdout.partition("Commands:")
    assert commands
    assert "..." not in commands


def test_a_group_loads_its_commands_only_when_it_is_used() -> None:
    code = """
import sys
from typer.main import get_command
from cspace.cli.app import app
group = get_command(app).commands["archive"]
print("cspace.cli.archive" in sys.modules)
print(*group.commands)
"""
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "list show prune"]


def test_a_command_of_a_group_is_built_without_the_others() -> None:
    code = """
from typer.main import get_command
from cspace.cli.app import app
group = get_command(app).commands["memory"]
print(*(group.get_command(None, name).name for name in ("search", "projects", "recall")))
print("_loaded" in vars(group))
print(group.get_command(None, "nope"), "search" in group.commands)
"""
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["search projects recall", "False", "None True"]


def test_a_shell_completes_the_commands_of_a_group(tmp_path: Path) -> None:
    asked = {
        "_CSPACE_COMPLETE": "complete_bash",
        "COMP_WORDS": "cspace context l",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        (Path(sys.executable).with_name("cspace"),),
        cwd=tmp_path,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["list", "log"]


@pytest.mark.parametrize("command", ["start", "stop", "down"])
def test_all_and_a_name_contradict_each_other(repo: Path, command: str) -> None:
    answer = cspace(command, "--all", "mercury", cwd=repo)
    assert answer.returncode == 2
    assert "error: --all and mercury say two things" in answer.stderr


def test_the_version_is_printed(tmp_path: Path) -> None:
    assert cspace("--version", cwd=tmp_path).stdout.startswith("cspace 0.")


@pytest.mark.parametrize("words", [["upp"], ["up", "--nope"], ["stop"], ["up", "Mercury!"]])
def test_a_wrong_command_line_is_exit_2(repo: Path, words: list[str]) -> None:
    answer = cspace(*words, cwd=repo)
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout == ""
    assert answer.stderr


def test_outside_of_a_repository_is_exit_2_with_a_hint(tmp_path: Path) -> None:
    answer = cspace("list", cwd=tmp_path)
    assert answer.returncode == 2
    assert "hint: cd into your project" in answer.stderr


@pytest.mark.parametrize("words", [["list"], ["up", "mercury"], ["down", "mercury"], ["status"]])
def test_docker_down_hazard_it_is_not_read_as_nothing_to_do(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    answer = cspace(*words, cwd=repo)
    assert answer.returncode == 6, answer.stderr
    assert "hint: start it" in answer.stderr
    assert not [path for path in home.rglob("*") if path.name in ("workspace", "instance.json")]
    assert not (repo / ".cspace").exists()


def test_an_unknown_docker_context_is_named(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONTEXT", "moon")
    answer = cspace("list", cwd=repo)
    assert answer.returncode == 6
    assert "moon" in answer.stderr


def test_a_reader_that_goes_away_is_no_bug(repo: Path) -> None:
    command = f"{sys.executable} -m cspace.cli.app config schema | head -c 1"
    answer = subprocess.run(
        ("bash", "-c", command), cwd=repo, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0
    assert answer.stderr == ""


@pytest.mark.parametrize(("closed", "code"), [("<&-", 2), (">&-", 2), ("2>&-", 2), (">&- 2>&-", 2)])
def test_a_stream_that_is_closed_is_no_bug(repo: Path, closed: str, code: int) -> None:
    script = f'"{sys.executable}" -m cspace.cli.app {{}} {closed}'
    shown = "context show"
    said = subprocess.run(
        ["sh", "-c", script.format("context log discovery T --finding - --impact i </dev/null")],
        cwd=repo, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert said.returncode == code
    done = subprocess.run(["sh", "-c", script.format(shown)], cwd=repo, check=False)
    assert done.returncode == 0


def test_names_and_a_count_are_not_taken_together(repo: Path) -> None:
    answer = cspace("up", "mercury", "-n", "3", cwd=repo)
    assert answer.returncode == 2
    assert "--count 3" in answer.stderr


def test_an_address_of_docker_that_is_none_is_exit_6(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://example.com:port")
    answer = cspace("list", cwd=repo)
    assert answer.returncode == 6
    assert "port" in answer.stderr


def test_what_the_system_refuses_is_no_bug(repo: Path) -> None:
    words = (sys.executable, "-c", WRITES_NOTHING, "init")
    answer = subprocess.run(words, cwd=repo, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "File too large" in answer.stderr


def test_an_encoding_without_the_letter_costs_only_the_letter(
    repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (home / ".cspace").mkdir()
    (home / ".cspace/config.json").write_text('{"post_create": "ü"}', encoding="utf-8")
    answer = cspace("config", "show", cwd=repo)
    assert answer.returncode == 0, answer.stderr
    assert '"\\xfc"' in answer.stdout


def test_a_broken_settings_file_does_not_keep_anybody_from_stopping(repo: Path) -> None:
    (repo / ".cspace.json").write_text('{"prots": 1}', encoding="utf-8")
    assert cspace("up", "mercury", cwd=repo).returncode == 2
    for words in (("stop", "mercury"), ("down", "mercury")):
        answer = cspace(*words, cwd=repo)
        assert "prots" not in answer.stderr
        assert answer.returncode in (3, 6)  # no such instance, or no engine here


def test_attaching_without_a_terminal_says_what_to_do(repo: Path) -> None:
    answer = cspace("attach", "mercury", cwd=repo)
    assert answer.returncode == 2
    assert "hint: cspace attach mercury -- --print" in answer.stderr


def test_a_bug_is_reported_without_the_values_that_were_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def hold(secret: str) -> int:
        return 1 // (len(secret) - len(secret))

    with pytest.raises(ZeroDivisionError) as caught:
        hold("secret-" + "marker")
    assert _report_bug(caught.value) == 70
    (log,) = tmp_path.glob("cspace-bug-*.log")
    written = log.read_text(encoding="utf-8")
    assert "ZeroDivisionError" in written
    assert str(log) in capsys.readouterr().err
    assert "secret-marker" not in written
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_clicks_own_errors_show_control_characters_as_escapes(repo: Path) -> None:
    answer = cspace("\x1b[2J\u202e", cwd=repo)
    assert answer.returncode == 2
    assert "\\x1b[2J\\u202e" in answer.stderr
    assert "\x1b" not in answer.stderr
