"""`cspace config show` and `cspace config schema` as a user runs them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cspace import proc
from tests.conftest import CHECKOUT

CONFIG = (sys.executable, "-m", "cspace.cli.app", "config")


def config(*words: str, cwd: Path, **environ: str) -> str:
    env = os.environ | environ | {"PYTHONPATH": str(CHECKOUT)}
    env.pop("SSL_CERT_FILE", None)
    return proc.run(*CONFIG, *words, cwd=cwd, env=env).text


def test_show_names_the_source_of_every_value(repo: Path) -> None:
    (repo / ".cspace.json").write_text('{"ready_timeout": 9}', encoding="utf-8")
    shown = config("show", cwd=repo, CSPACE_LIMITS__CPUS="2")
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines()}
    assert rows["KEY"] == ["VALUE", "SOURCE"]
    assert rows["ready_timeout"] == ["9", str(repo / ".cspace.json")]
    assert rows["limits.cpus"] == ["2.0", "CSPACE_LIMITS__CPUS"]
    assert rows["ports"] == ["[]", "default"]


def test_show_tells_what_is_not_trusted_from_what_is_in_force(repo: Path) -> None:
    file = repo / ".cspace.json"
    file.write_text('{"ports": [3000], "firewall": {"enabled": false}}', encoding="utf-8")
    lines = [line.split(maxsplit=2) for line in config("show", cwd=repo).splitlines()]
    assert ["ports", "[]", "default"] in lines
    assert lines[-2:] == [
        ["ports", "[3000]", f"not in force: {file}"],
        ["firewall.enabled", "false", f"not in force: {file}"],
    ]
    document = json.loads(config("show", "--json", cwd=repo))
    assert {"key": "ports", "value": [], "source": "default"} in document["settings"]
    assert {"key": "ports", "value": [3000], "source": str(file)} in document["untrusted"]


def test_show_as_json_keeps_its_contract(repo: Path, home: Path) -> None:
    (home / ".cspace").mkdir()
    (home / ".cspace/config.json").write_text('{"env": {"A": "1"}}', encoding="utf-8")
    document = json.loads(config("show", "--json", cwd=repo))
    assert document["schema_version"] == 1
    assert set(document) == {"schema_version", "settings", "untrusted"}
    assert all(set(entry) == {"key", "value", "source"} for entry in document["settings"])
    from_home = {"key": "env.A", "value": "1", "source": str(home / ".cspace/config.json")}
    assert from_home in document["settings"]


def test_a_linked_worktree_has_the_settings_of_its_project(repo: Path, tmp_path: Path) -> None:
    (repo / ".cspace.json").write_text('{"ready_timeout": 9}', encoding="utf-8")
    proc.run("git", "-C", repo, "worktree", "add", "--quiet", tmp_path / "linked")
    assert str(repo / ".cspace.json") in config("show", cwd=tmp_path / "linked")


def test_show_works_outside_of_a_project_and_creates_nothing(tmp_path: Path, home: Path) -> None:
    assert "base_image" in config("show", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert list(home.iterdir()) == []


def test_a_hostile_value_is_shown_without_control_characters(repo: Path) -> None:
    hostile = json.dumps({"post_create": "\x1b[2J\x9b\u202e\n"})
    (repo / ".cspace.json").write_text(hostile, encoding="utf-8")
    shown = config("show", cwd=repo)
    assert shown.replace("\n", "").isprintable()
    assert r"\u001b[2J" in shown


def test_a_mistake_in_the_settings_ends_with_its_exit_code_and_the_next_step(repo: Path) -> None:
    (repo / ".cspace.json").write_text('{"prots": []}', encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    done = proc.run(*CONFIG, "show", cwd=repo, env=env, ok=(2,))
    assert done.stdout == b""
    assert b'unknown key "prots"; the nearest known one is "ports"' in done.stderr
    assert b"hint: cspace config schema" in done.stderr


@pytest.mark.parametrize("key", ["ports", "limits", "ready_timeout"])
def test_schema_is_a_json_schema_of_the_settings_files(tmp_path: Path, key: str) -> None:
    schema = json.loads(config("schema", cwd=tmp_path))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert key in schema["properties"]
