"""`cspace sessions list|show|update|doctor` on the host: files of agents', read with care."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.cli.sessions_notes import complete_instance, complete_section, complete_session
from cspace.paths import instance_sessions, user_directory
from cspace.project import project_id
from cspace.sessions.sections import EMPTY, NAMES, replace_section

Sessions = Callable[..., proc.Result]
PROGRAM = (sys.executable, "-m", "cspace.cli.app")
SESSION = {"instance", "slug", "id", "changed", "size", "notes", "title"}


@pytest.fixture
def sessions(repo: Path) -> Sessions:
    """Return what runs `cspace sessions` in the sample repository."""

    def run(*words: str, ok: int = 0, stdin: bytes = b"", **env: str) -> proc.Result:
        command = (*PROGRAM, "sessions", *words)
        return proc.run(*command, cwd=repo, env={**os.environ, **env}, ok=(ok,), stdin=stdin)

    return run


@pytest.fixture
def mercury(repo: Path, home: Path) -> Path:
    """Return where mercury's sessions lie; it has an old and a new one."""
    return planted(repo, home, "mercury", {"aaa-old": 100, "abb-new": 10})


def planted(repo: Path, home: Path, name: str, ages: dict[str, int]) -> Path:
    place = instance_sessions(user_directory(home), project_id(repo.resolve()), name) / "-workspace"
    place.mkdir(parents=True)
    for id_, age in ages.items():
        said = {"type": "user", "message": {"content": f"Request of {id_}\x1b[2J"}}
        path = place / f"{id_}.jsonl"
        path.write_text(json.dumps(said) + "\n", encoding="utf-8")
        os.utime(path, (1_800_000_000 - age,) * 2)
    return place


def test_without_any_session_a_list_is_empty_and_makes_nothing(
    sessions: Sessions, home: Path
) -> None:
    assert json.loads(sessions("list", "--json").text)["sessions"] == []
    assert sessions("list").stdout == b""
    assert list(home.iterdir()) == []


def test_sessions_of_all_instances_are_listed_newest_first(
    sessions: Sessions, mercury: Path, repo: Path, home: Path
) -> None:
    planted(repo, home, "venus", {"ccc": 50})
    (mercury / "aaa-old.md").write_text(replace_section(EMPTY, "Session Title", "Named\n"), "utf-8")
    os.utime(mercury / "aaa-old.md", (0, 0))
    listed = json.loads(sessions("list", "--json").text)["sessions"]
    assert [(one["instance"], one["id"], one["notes"] is None) for one in listed] == [
        ("mercury", "abb-new", True), ("venus", "ccc", True), ("mercury", "aaa-old", False),
    ]  # fmt: skip
    assert set(listed[0]) == SESSION
    assert [one["title"] for one in listed] == [
        "Request of abb-new\x1b[2J",
        "Request of ccc\x1b[2J",
        "Named",
    ]
    table = sessions("list", "mercury").text
    assert table.splitlines()[1].startswith("mercury   abb-new")
    assert "\x1b" not in table
    assert "ccc" not in table


def test_an_update_makes_notes_and_show_gives_them_back(sessions: Sessions, mercury: Path) -> None:
    sessions("update", "--section", "current state", "--body", "## Learnings\nhalf")
    path = mercury / "abb-new.md"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sessions("show").stdout == path.read_bytes()
    assert sessions("show", "--section", "CURRENT").stdout == b"## Learnings\nhalf\n"
    shown = json.loads(sessions("show", "mercury", "--session", "abb", "--json").text)
    assert list(shown["sections"]) == list(NAMES)
    assert shown["sections"]["Current State"] == "## Learnings\nhalf"
    assert (shown["path"], shown["excess"]) == (str(path), [])
    assert "no notes" in sessions("show", "--session", "aaa", ok=3).stderr.decode()


def test_a_text_comes_from_stdin_or_a_file_too(
    sessions: Sessions, mercury: Path, tmp_path: Path
) -> None:
    sessions("update", "--section", "Workflow", "--body", "-", stdin="ä\n\n".encode())
    assert sessions("show", "--section", "Workflow").stdout == "ä\n\n".encode()
    (tmp_path / "text").write_text("from a file\n", encoding="utf-8")
    sessions("update", "--section", "Workflow", "--body-file", str(tmp_path / "text"))
    assert sessions("show", "--section", "Workflow").stdout == b"from a file\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--body", "x", "--section", "Nope"), 2, "'Nope' is none of the ten"),
        (("--section", "Workflow"), 2, "either as --body or as --body-file"),
        (("--section", "Workflow", "--body", "x", "--body-file", "y"), 2, "either as --body"),
        (("--section", "Workflow", "--body", "x", "--session", "a"), 2, "beginning of several"),
        (("--section", "Workflow", "--body", "x", "--session", "../x"), 3, "no session '../x'"),
        (("--section", "Workflow", "--body", "x", "venus"), 3, "no sessions of 'venus'"),
        (("--section", "Workflow", "--body", "x", "../x"), 2, "not valid"),
        (("--section", "Workflow", "--body-file", "gone"), 1, "gone: No such file"),
    ],
)
def test_what_is_asked_wrongly_is_named(
    sessions: Sessions, mercury: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    assert said in sessions("update", *words, ok=code).stderr.decode()
    assert not list(mercury.glob("*.md*"))


def test_a_budget_that_is_exceeded_is_said_and_the_write_happens(
    sessions: Sessions, mercury: Path
) -> None:
    large = ("update", "--section", "Workflow", "--body", "x" * 9_000)
    done = sessions(*large, "--json")
    assert "Workflow has about 2250 tokens, more than 2000; nothing was cut" in done.stderr.decode()
    (excess,) = json.loads(done.text)["updated"]["excess"]
    assert excess == {"section": "Workflow", "tokens": 2250, "limit": 2000}
    assert len(sessions("show", "--section", "Workflow").stdout) == 9_001
    assert json.loads(sessions("show", "--json").text)["excess"] == [excess]


def checks(sessions: Sessions) -> list[str]:
    found = json.loads(sessions("doctor", "--json", ok=8).text)["diagnoses"]
    return sorted(one["check"] for one in found)


def test_doctor_finds_what_is_wrong_with_notes(sessions: Sessions, mercury: Path) -> None:
    assert sessions("doctor").text == "nothing found"
    path = mercury / "abb-new.md"
    path.write_text(replace_section(EMPTY, "Workflow", "x" * 50_000), encoding="utf-8")
    assert checks(sessions) == ["budget", "budget"]
    swapped = EMPTY.replace("## Learnings\n", "").replace("## Workflow", "### worklog")
    path.write_text(swapped, encoding="utf-8")
    assert checks(sessions) == [
        "duplicate-section", "misordered-sections", "missing-section", "missing-section",
    ]  # fmt: skip
    path.rename(mercury / "lost.md")
    assert "without-transcript" in checks(sessions)
    (mercury / "lost.md").write_bytes(b"x" * 300_000)
    assert checks(sessions) == ["unreadable", "without-transcript"]


@pytest.mark.parametrize("kind", ["fifo", "directory", "large"])
def test_notes_that_are_none_hazard_their_path_is_named(
    sessions: Sessions, mercury: Path, kind: str
) -> None:
    path = mercury / "abb-new.md"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.write_bytes(b"x" * (256 * 1024 + 1))
    for words in (("show",), ("update", "--section", "Workflow", "--body", "x")):
        said = sessions(*words, "--session", "abb-new", ok=1).stderr.decode()
        assert said.startswith(f"error: {path}: ")
        assert f"hint: look at it: ls -ld {path}" in said


def test_doctor_names_odd_files_and_follows_no_link(sessions: Sessions, mercury: Path) -> None:
    outside = mercury.parent.parent / "outside"
    outside.mkdir()
    (mercury / "linked.md").symlink_to(outside)
    (mercury / "aaa-old.md").symlink_to(outside)
    (mercury.parent / "-linked").symlink_to(outside)
    os.mkfifo(mercury / "pipe.jsonl")
    (mercury / "read me.md").touch()
    (mercury / "gone.md.lock").touch()
    (mercury / ".aaa.md.123.cspace-tmp").touch()
    (mercury / "memory").mkdir()
    assert checks(sessions) == ["odd-file"] * 6
    said = sessions("doctor", ok=8).text
    for problem in ("a link, a pipe", "killed writer", "lock of no notes", "after no session"):
        assert problem in said
    assert {one["notes"] for one in json.loads(sessions("list", "--json").text)["sessions"]} == {
        None
    }


def test_inside_an_instance_only_its_own_sessions_are_there(
    sessions: Sessions, mercury: Path
) -> None:
    said = sessions("list", "mercury", ok=2, CSPACE_INSTANCE="venus").stderr.decode()
    assert "can not be given inside an instance" in said


def test_an_instance_whose_directory_is_a_link_hazard_is_not_entered(
    sessions: Sessions, mercury: Path
) -> None:
    (mercury.parent.parent / "venus").symlink_to(mercury.parent)
    listed = json.loads(sessions("list", "--json").text)["sessions"]
    assert {one["instance"] for one in listed} == {"mercury"}


def test_one_id_in_two_instances_hazard_none_of_them_is_guessed(
    sessions: Sessions, mercury: Path, repo: Path, home: Path
) -> None:
    venus = planted(repo, home, "venus", {"abb-new": 1})
    words = ("--session", "abb", "--section", "Workflow", "--body", "x")
    said = sessions("update", *words, ok=2).stderr.decode()
    assert "'abb' is a session of mercury and of venus" in said
    sessions("update", "mercury", *words)
    assert (mercury / "abb-new.md").is_file()
    assert not (venus / "abb-new.md").exists()


def test_a_shell_completes_instances_sessions_and_sections(
    repo: Path, mercury: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo)
    assert complete_instance("m") == ["mercury"]
    assert complete_session("ab") == ["abb-new"]
    assert complete_section("w") == ["Workflow", "Worklog"]
    monkeypatch.chdir("/")
    assert (complete_instance(""), complete_session("")) == ([], [])


def test_a_killed_update_leaves_whole_notes(
    repo: Path, mercury: Path, counts: Callable[[int, int], int]
) -> None:
    text = "x" * 7_000
    words = (*PROGRAM, "sessions", "update", "--section", "Learnings", "--body", text)
    subprocess.run(words, cwd=repo, check=True, stdout=subprocess.DEVNULL)
    before = (mercury / "abb-new.md").read_bytes()
    killed = 0
    for number in range(counts(5, 100)):
        with subprocess.Popen((*words[:-1], text.replace("x", "y")), cwd=repo) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(random.Random(number).uniform(0.02, 0.4))  # noqa: S311  a test
            process.kill()
        killed += process.returncode == -signal.SIGKILL
        assert (mercury / "abb-new.md").read_bytes() in (before, before.replace(b"x", b"y"))
    assert killed
