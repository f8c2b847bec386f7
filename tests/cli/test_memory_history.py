"""`cspace memory init|history|undo|sync`, as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cspace import proc
from tests.cli.memories import cspace
from tests.cli.terminal import on_terminal
from tests.memory.machines import make_remote


def memory(*words: str, home: Path) -> str:
    """Run a command that has to succeed."""
    done = cspace("memory", *words, cwd=home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(slug: str, body: str, *more: str, home: Path) -> None:
    memory("write", slug, "--body", body, "--scope", "user", "--yes", *more, home=home)


@pytest.fixture
def kept(home: Path) -> Path:
    """Return a home whose memories are kept in git, with one entry in two versions."""
    memory("init", "--git", home=home)
    write("testing", "Use a real database.", home=home)
    write("testing", "Always.", "--append", home=home)
    return home


def test_approved_writes_are_commits_and_the_history_lists_them(kept: Path) -> None:
    memory("propose", "style", "--body", "Short sentences.", "--scope", "user", home=kept)
    [proposal] = json.loads(memory("proposals", "--json", home=kept))["proposals"]
    memory("approve", proposal["id"], "--yes", home=kept)
    changes = json.loads(memory("history", "--json", home=kept))["changes"]
    told = [(one["operation"], one["entry"], one["proposal"]) for one in changes]
    assert told == [
        ("create", "user/style", proposal["id"]),
        ("append", "user/testing", ""),
        ("create", "user/testing", ""),
    ]
    assert set(changes[0]) == {*("time", "operation", "by", "entry", "id", "proposal", "subject")}
    head, *rows = memory("history", "testing", "--scope", "user", home=kept).splitlines()
    assert head.split() == ["TIME", "WHAT", "WHO", "ENTRY", "ID", "PROPOSAL"]
    assert len(rows) == 2


def test_without_git_there_is_a_history_and_no_undo(home: Path) -> None:
    write("testing", "one", home=home)
    assert "user/testing" in memory("history", home=home)
    for words in (("undo",), ("sync",)):
        refused = cspace("memory", *words, cwd=home)
        assert (refused.returncode, "hint: cspace memory init --git" in refused.stderr) == (2, True)
    assert cspace("memory", "init", cwd=home).returncode == 2


def test_an_undo_shows_what_changes_and_asks(kept: Path) -> None:
    path = kept / ".cspace/memory/user/testing.md"
    before = path.read_bytes()
    refused = cspace("memory", "undo", cwd=kept)
    assert (refused.returncode, path.read_bytes()) == (2, before)
    assert "-Always." in refused.stdout
    newest = json.loads(memory("history", "--json", home=kept))["changes"][0]["id"]
    assert f"hint: cspace memory undo {newest[:12]} --yes\n" in refused.stderr
    denied = on_terminal("memory", "undo", cwd=kept, said=b"n\n")
    assert (denied.code, path.read_bytes()) == (1, before)
    assert on_terminal("memory", "undo", cwd=kept, said=b"y\n").code == 0
    assert b"Always." not in path.read_bytes()
    past = json.loads(memory("history", "--json", home=kept))["changes"]
    assert [one["operation"] for one in past] == ["undo", "append", "create"]


def test_an_undo_of_what_was_changed_since_is_a_conflict(kept: Path) -> None:
    changes = json.loads(memory("history", "--json", home=kept))["changes"]
    write("testing", "More.", "--append", home=kept)
    refused = cspace("memory", "undo", changes[0]["id"], "--yes", cwd=kept)
    assert (refused.returncode, "changed since" in refused.stderr) == (4, True)


def test_hidden_characters_that_would_come_back_block_an_undo(kept: Path) -> None:
    path = kept / ".cspace/memory/user/testing.md"
    path.write_text(path.read_text(encoding="utf-8") + "a\u200bb\n", encoding="utf-8")
    write("testing", "Clean.", "--force", home=kept)
    refused = cspace("memory", "undo", "--yes", cwd=kept)
    assert (refused.returncode, "U+200B" in refused.stderr) == (1, True)
    assert "a<U+200B>b" in refused.stdout
    memory("undo", "--yes", "--allow-hidden", home=kept)
    assert "\u200b" in path.read_text(encoding="utf-8")


@pytest.fixture
def synced(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return two homes with one remote: the first has pushed, the second has nothing."""
    remote, other = make_remote(tmp_path / "remote.git"), tmp_path / "other"
    other.mkdir()
    for home in (kept, other):
        monkeypatch.setenv("HOME", str(home))
        memory("init", "--git", home=home)
        root = home / ".cspace/memory"
        words = ("-c", "safe.directory=*", "remote", "add", "origin", str(remote))
        proc.run("git", "-C", root, *words)
        if home == kept:
            assert "nothing to push" not in cspace("memory", "sync", cwd=home).stderr
    return kept, other


def test_a_sync_shows_what_comes_and_asks(synced: tuple[Path, Path]) -> None:
    _, other = synced
    path = other / ".cspace/memory/user/testing.md"
    refused = cspace("memory", "sync", cwd=other)
    assert (refused.returncode, path.exists()) == (2, False)
    assert "+Always." in refused.stdout
    said = on_terminal("memory", "sync", cwd=other, said=b"y\n")
    assert (said.code, path.is_file()) == (0, True)
    assert "1 change applied; nothing to push" in said.err
    assert "fetch" in said.err
    again = json.loads(memory("sync", "--json", home=other))
    assert (again["applied"], again["pushed"], again["remote"]) == ([], None, "origin")


def test_what_both_changed_is_named_with_what_to_do(
    synced: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = synced
    memory("sync", "--yes", home=other)
    for home, body in ((other, "other's"), (first, "first's")):
        monkeypatch.setenv("HOME", str(home))
        write("testing", body, "--force", home=home)
        if home == other:
            memory("sync", home=home)
    refused = cspace("memory", "sync", "--yes", cwd=first)
    assert (refused.returncode, "changed on both sides: user/testing" in refused.stderr) == (
        4,
        True,
    )
    assert "hint: cspace memory sync --ours user/testing" in refused.stderr
    assert "-first's" in refused.stdout
    assert "+other's" in refused.stdout
    memory("sync", "--yes", "--theirs", "testing", home=first)
    assert "other's" in memory("show", "testing", "--scope", "user", home=first)


def test_hidden_characters_that_come_in_block_a_sync(
    synced: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = synced
    memory("sync", "--yes", home=other)
    path = other / ".cspace/memory/user/testing.md"
    path.write_text(path.read_text(encoding="utf-8") + "a\u202eb\x1b[2J\n", encoding="utf-8")
    memory("sync", home=other)
    monkeypatch.setenv("HOME", str(first))
    refused = cspace("memory", "sync", "--yes", cwd=first)
    assert (refused.returncode, "U+202E" in refused.stderr) == (1, True)
    assert "\x1b" not in refused.stdout + refused.stderr
    assert "\u202e" not in memory("show", "testing", "--scope", "user", home=first)
    memory("sync", "--yes", "--allow-hidden", home=first)


def test_an_instance_has_no_history_of_its_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    for words in (("init", "--git"), ("undo", "--yes"), ("sync", "--yes")):
        refused = cspace("memory", *words, cwd=home)
        assert (refused.returncode, "on the host" in refused.stderr) == (2, True)
    assert list(home.iterdir()) == []
