"""No name and no text from elsewhere moves the cursor, rings a bell or turns the writing around.

Each command writes into a pipe and onto a terminal of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import termios
import unicodedata
from collections.abc import Iterator

import pytest

from cspace.paths import INSIDE
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

# Clear the screen, set the title, write the clipboard, a link, C1's CSI, turn the writing around.
HOSTILE = (
    "a\x1b[2J\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]8;;x:y\x07\x9b31m\x7f\x08\r"
    "\u202egpj\u2066\u200b\u2028b\nhint: forged\rhint: forged\x85hint: forged"
)
# What git allows of it.
BRANCH = "feature/\u202egpj\x9b31m\u200b"
UNSAFE = ("Cc", "Cf", "Zl", "Zp", "Cs", "Co")


def unsafe(said: bytes) -> set[str]:
    """Return the characters that do something else than stand there."""
    text = os.fsdecode(said)
    return {c for c in text if c not in "\n\t" and unicodedata.category(c) in UNSAFE}


def on_a_terminal(person: Person, *words: str) -> bytes:
    """Return what a command writes when stdout and stderr are a terminal, which changes nothing."""
    ours, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    identity = person._identity()
    with subprocess.Popen(
        [*identity, str(person.program), *words], cwd=person.repo, env=person.environment,
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
    ):  # fmt: skip
        os.close(theirs)
        said = b""
        # A terminal that nobody writes to any more is an error, and not an end.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                said += part
    os.close(ours)
    return said


def check(person: Person, *words: str, ok: tuple[int, ...] = (0,)) -> str:
    """Run a command both ways; return what it wrote into the pipes."""
    answer = person.run(person.program, *words, ok=ok)
    said = answer.out + answer.err
    assert unsafe(os.fsencode(said)) == set(), words
    assert not [line for line in answer.err.split("\n") if line.startswith("hint: forged")], words
    assert unsafe(on_a_terminal(person, *words)) == set(), words
    return said


def test_the_check_finds_what_a_plain_program_writes(new: NewPerson) -> None:
    with new() as person:
        said = person.run("printf", "%s", HOSTILE).out
        assert {"\x1b", "\x07", "\r", "\x7f", "\x9b", "\u202e", "\u200b"} <= unsafe(
            os.fsencode(said)
        )
        print_it = person.write("print-it", f"#!/bin/sh\nprintf '{HOSTILE}'\n")
        print_it.chmod(0o755)
        plain = Person(print_it, person.engine, person.home, person.repo, person.uid)
        assert unsafe(on_a_terminal(plain)) == unsafe(os.fsencode(said))


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    """Return somebody whose directory, settings and instance are full of escapes."""
    with new(repo="pro\x1b[2J\u202eject") as one:
        one.commit(".cspace.json", json.dumps({"env": {"TEXT": HOSTILE}}))
        assert "\\u001b[2J" in check(one, "trust", ok=(2,))
        one.cspace("trust", "--yes")
        one.cspace("up", "mercury", "--branch", BRANCH)
        yield one


def test_tables_and_texts_show_them_as_escapes(person: Person) -> None:
    assert "\\u202egpj\\x9b31m" in check(person, "list")
    assert "\\u202eject" in check(person, "status", "mercury")
    assert "\\x1b[2J" in check(person, "config", "show").replace("\\u001b", "\\x1b")
    assert "\\x9b31m" in check(person, "up", "mercury")
    for words in (("ports", "mercury"), ("down", "mercury", "--dry-run"), ("init",), ("trust",)):
        check(person, *words)


def test_what_went_into_quarantine_is_named_as_text(person: Person) -> None:
    name = HOSTILE.replace("/", "")
    person.inside("mercury", "ln", "-s", "/etc", f"{INSIDE.memory}/{name}")
    assert "\\x1b[2J" in check(person, "doctor", ok=(8,))
    assert "\\x1b[2J" in person.cspace("init").err
    assert "\\x1b[2J" in check(person, "quarantine", "list")
    (thing,) = person.cspace("quarantine", "list", "--json").json["quarantined"]
    assert thing["path"] == f".cspace/memory/{name}"
    assert "\\x1b[2J" in check(person, "doctor", ok=(8,))
    person.cspace("quarantine", "remove", thing["id"], "--yes")


def test_documents_hold_them_escaped_and_whole(person: Person) -> None:
    for words in (("list",), ("status",), ("config", "show"), ("up", "mercury"), ("init",)):
        said = person.cspace(*words, "--json").out
        assert said.isascii()
        assert unsafe(said.encode()) == set()
        check(person, *words, "--json")
    (row,) = person.cspace("list", "--json").json["instances"]
    assert row["branch"] == BRANCH
    settings = {
        s["key"]: s["value"] for s in person.cspace("config", "show", "--json").json["settings"]
    }
    assert settings["env.TEXT"] == HOSTILE


def test_an_instances_log_is_shown_as_text(person: Person) -> None:
    person.inside("mercury", "sh", "-c", 'printf "%s\\n" "$TEXT" >/proc/1/fd/1')
    assert "\x1b[2J" in person.run("docker", "logs", person.container("mercury")).out
    assert "\\x1b[2J\\x1b]0;title\\x07" in check(person, "logs", "mercury")


def test_words_of_the_command_line_come_back_as_text(person: Person) -> None:
    for words in ((HOSTILE,), ("up", f"--{HOSTILE}"), ("up", HOSTILE), ("down", HOSTILE)):
        assert "\\x1b[2J" in check(person, *words, ok=(2,))
    check(person, "up", "venus", "--branch", HOSTILE, ok=(2,))
    check(person, "up", "venus", "--set", f"{HOSTILE}=1", ok=(2,))


def test_what_a_failing_start_said_is_shown_as_text(person: Person) -> None:
    words = ("up", "venus", "--set", 'post_create=printf "%s\\n" "$TEXT"; exit 3')
    assert "\\x1b[2J" in check(person, *words, ok=(5,))
    person.cspace("down", "--discard", "venus")


def test_a_settings_file_that_is_wrong_is_quoted_as_text(person: Person) -> None:
    before = (person.repo / ".cspace.json").read_text(encoding="utf-8")
    for wrong in (
        {HOSTILE: 1},
        {"env": {HOSTILE: "x"}},
        {"base_image": HOSTILE},
        {"ports": [HOSTILE]},
    ):
        person.write(".cspace.json", json.dumps(wrong))
        check(person, "config", "show", ok=(2,))
        check(person, "up", "mercury", ok=(2,))
    person.write(".cspace.json", f"{{{HOSTILE}")
    check(person, "config", "show", ok=(2,))
    person.write(".cspace.json", before)


def test_a_file_name_in_an_archives_error_is_text(person: Person) -> None:
    script = 'mkdir "work$TEXT" && echo x >"work$TEXT/file" && chmod 000 "work$TEXT/file"'
    person.inside("mercury", "sh", "-c", script)
    assert "worka\\x1b[2J" in check(person, "down", "mercury", ok=(1, 5))
    person.cspace("start", "mercury")
    person.inside("mercury", "sh", "-c", 'chmod 600 "work$TEXT/file"')
    check(person, "stop", "mercury")
    person.cspace("down", "mercury")
    check(person, "restore", "mercury", ok=(0, 4))
    assert person.inside("mercury", "sh", "-c", 'cat "work$TEXT/file"') == "x\n"


def test_a_git_directory_that_is_broken_is_named_as_text(person: Person) -> None:
    person.cspace("up", "earth", "--branch", "plain")
    script = 'git init --quiet "sub$TEXT" && echo "$TEXT" >"sub$TEXT/.git/HEAD"'
    person.inside("earth", "sh", "-c", script)
    check(person, "down", "earth", ok=(0, 1, 3, 5))
