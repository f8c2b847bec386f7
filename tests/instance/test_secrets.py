from __future__ import annotations

from pathlib import Path

import pytest

from cspace.errors import UsageError
from cspace.files import Owner
from cspace.instance.secrets import deliver_secrets, find_secrets

OWNER = Owner(1000, 1000)


def test_a_file_wins_over_the_environment(home: Path) -> None:
    (home / "secrets").mkdir()
    environ = {"ANTHROPIC_API_KEY": "from-env", "GITHUB_TOKEN": "gh"}
    assert find_secrets(home, environ) == {"anthropic_api_key": "from-env", "github_token": "gh"}
    (home / "secrets" / "anthropic_api_key").write_text("from-file\n", encoding="utf-8")
    assert find_secrets(home, environ)["anthropic_api_key"] == "from-file"


def test_an_empty_file_falls_through_to_the_environment(home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "github_token").write_text("\n", encoding="utf-8")
    assert find_secrets(home, {"GH_TOKEN": "gh"}) == {"github_token": "gh"}


def test_any_file_in_the_directory_is_a_secret_of_that_name(home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "npm_token").write_text("n", encoding="utf-8")
    (home / "secrets" / ".hidden").write_text("h", encoding="utf-8")
    assert find_secrets(home, {}) == {"npm_token": "n"}


def test_a_key_keeps_its_last_line_break_and_a_token_loses_it(home: Path) -> None:
    (home / "secrets").mkdir()
    for name in ("id_ed25519", "github_token"):
        (home / "secrets" / name).write_text("value\n", encoding="utf-8")
    assert find_secrets(home, {}) == {"id_ed25519": "value\n", "github_token": "value"}


def test_delivery_is_exact_private_and_rotates_in_place(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    deliver_secrets(directory, {"a": "1", "b": "2"}, OWNER)
    before = directory.stat().st_ino
    deliver_secrets(directory, {"a": "rotated"}, OWNER)
    assert {path.name: path.read_text() for path in directory.iterdir()} == {"a": "rotated"}
    assert directory.stat().st_ino == before
    assert (directory / "a").stat().st_mode & 0o777 == 0o400
    assert directory.stat().st_mode & 0o777 == 0o700


def test_a_secret_that_is_not_text_is_named(home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "blob").write_bytes(b"\xff\x00")
    with pytest.raises(UsageError, match="secrets/blob"):
        find_secrets(home, {})
