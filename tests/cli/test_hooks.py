"""`cspace hooks`, as processes: it changes one file, and only when it may."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import on_terminal
from tests.cli.test_app import cspace

SETTINGS = '{\n    "model": "opus",\n    "permissions": {"allow": ["Bash(ls:*)"]}\n}\n'


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS, encoding="utf-8")
    path.chmod(0o640)
    return path


def test_the_hook_comes_and_goes_and_the_file_is_the_same_again(settings: Path) -> None:
    said = cspace("hooks", "install", "--yes", cwd=settings.parent)
    assert (said.returncode, f"+++ {settings}" in said.stdout) == (0, True)
    assert f"{sys.executable} -I -m cspace.hooks memory" in settings.read_text(encoding="utf-8")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    again = cspace("hooks", "install", "--yes", cwd=settings.parent)
    assert (again.stdout, again.stderr) == ("", "nothing to do: it is so already\n")
    cspace("hooks", "uninstall", "--yes", cwd=settings.parent)
    assert settings.read_text(encoding="utf-8") == SETTINGS
    assert [one.name for one in settings.parent.iterdir()] == ["settings.json"]


def test_the_status_says_where_and_what(settings: Path) -> None:
    states = []
    for words in ("status", "install", "status", "uninstall", "status"):
        yes = () if words == "status" else ("--yes",)
        said = json.loads(cspace("hooks", words, "--json", *yes, cwd=settings.parent).stdout)
        states.append(said.get("state", said.get("changed")))
    assert states == ["absent", True, "installed", True, "absent"]
    assert cspace("hooks", "status", cwd=settings.parent).stdout == f"absent in {settings}\n"


def test_nothing_is_written_where_nobody_can_be_asked_or_the_answer_is_no(settings: Path) -> None:
    refused = cspace("hooks", "install", cwd=settings.parent)
    assert (refused.returncode, "nobody is there to ask" in refused.stderr) == (2, True)
    denied = on_terminal("hooks", "install", cwd=settings.parent, said=b"n\n")
    assert (denied.code, "nothing was written" in denied.err) == (1, True)
    assert settings.read_text(encoding="utf-8") == SETTINGS
    assert on_terminal("hooks", "install", cwd=settings.parent, said=b"y\n").code == 0
    assert settings.read_text(encoding="utf-8") != SETTINGS


def test_where_claude_code_has_its_own_directory_that_one_is_changed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "deep/config"))
    cspace("hooks", "install", "--yes", cwd=tmp_path)
    assert json.loads((tmp_path / "deep/config/settings.json").read_text(encoding="utf-8"))
    assert not (home / ".claude").exists()


def test_a_link_stays_a_link_and_its_target_is_changed(settings: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    settings.rename(kept)
    settings.symlink_to(kept)
    said = cspace("hooks", "install", "--yes", cwd=tmp_path)
    assert f"{settings} is a link; the change goes to {kept}" in said.stderr
    assert settings.is_symlink()
    assert "cspace.hooks memory" in kept.read_text(encoding="utf-8")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("uid", [0, 12345])
def test_the_file_keeps_its_owner_under_root(settings: Path, uid: int) -> None:
    os.chown(settings, uid, uid)
    cspace("hooks", "install", "--yes", cwd=settings.parent)
    assert "cspace.hooks memory" in settings.read_text(encoding="utf-8")
    assert (settings.stat().st_uid, settings.stat().st_gid) == (uid, uid)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff{}", b'{"hooks": 3}'])
def test_broken_settings_hazard_they_are_named_and_left(settings: Path, content: bytes) -> None:
    settings.write_bytes(content)
    for words in ("install", "uninstall", "status"):
        yes = () if words == "status" else ("--yes",)
        said = cspace("hooks", words, *yes, cwd=settings.parent)
        assert (said.returncode, str(settings) in said.stderr) == (1, True)
        assert "hint: " in said.stderr
    assert settings.read_bytes() == content


def test_a_place_that_is_no_file_of_ones_own_hazard_it_is_refused(
    settings: Path, home: Path, tmp_path: Path
) -> None:
    settings.unlink()
    settings.symlink_to(tmp_path / "nothing")
    assert "and there is nothing" in cspace("hooks", "install", "--yes", cwd=home).stderr
    workspace = home / ".cspace/instances/p-01234567/mercury/workspace"
    workspace.mkdir(parents=True)
    (workspace / "s.json").write_text("{}", encoding="utf-8")
    settings.unlink()
    settings.symlink_to(workspace / "s.json")
    said = cspace("hooks", "install", "--yes", cwd=home)
    assert (said.returncode, "which an agent can write" in said.stderr) == (2, True)
    settings.unlink()
    settings.mkdir()
    assert "is not a regular file of yours" in cspace("hooks", "status", cwd=home).stderr


def test_an_instance_is_told_that_it_has_its_hooks(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    said = cspace("hooks", "install", "--yes", cwd=tmp_path)
    assert (said.returncode, list(home.iterdir())) == (2, [])
    assert "hint: on the host: cspace hooks install" in said.stderr


def test_hooks_that_are_switched_off_are_told(settings: Path) -> None:
    settings.write_text('{"disableAllHooks": true}', encoding="utf-8")
    said = cspace("hooks", "install", "--yes", cwd=settings.parent)
    assert "disableAllHooks, so Claude Code runs no hook" in said.stderr
