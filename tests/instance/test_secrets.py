from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.errors import UsageError
from cspace.files import Owner
from cspace.instance.secrets import Secrets, deliver_secrets, find_secrets, update_secrets

OWNER = Owner(1000, 1000)


def test_a_file_wins_over_the_environment(home: Path) -> None:
    (home / "secrets").mkdir()
    environ = {"ANTHROPIC_API_KEY": "from-env", "GITHUB_TOKEN": "gh"}
    assert find_secrets(home, environ).values == {
        "anthropic_api_key": "from-env",
        "github_token": "gh",
    }
    (home / "secrets" / "anthropic_api_key").write_text("from-file\n", encoding="utf-8")
    assert find_secrets(home, environ).values["anthropic_api_key"] == "from-file"


def test_an_empty_file_falls_through_to_the_environment(home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "github_token").write_text("\n", encoding="utf-8")
    assert find_secrets(home, {"GH_TOKEN": "gh"}).values == {"github_token": "gh"}


def test_any_file_in_the_directory_is_a_secret_of_that_name(home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "npm_token").write_text("n", encoding="utf-8")
    (home / "secrets" / ".hidden").write_text("h", encoding="utf-8")
    assert find_secrets(home, {}).values == {"npm_token": "n"}


def test_a_key_keeps_its_last_line_break_and_a_token_loses_it(home: Path) -> None:
    (home / "secrets").mkdir()
    for name in ("id_ed25519", "github_token"):
        (home / "secrets" / name).write_text("value\n", encoding="utf-8")
    assert find_secrets(home, {}).values == {"id_ed25519": "value\n", "github_token": "value"}


def given(*from_files: str, **values: str) -> Secrets:
    return Secrets(values, frozenset(from_files))


def held(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


def test_delivery_is_exact_private_and_rotates_in_place(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    deliver_secrets(directory, given(a="1", b="2"), OWNER)
    before = directory.stat().st_ino
    deliver_secrets(directory, given(a="rotated"), OWNER)
    assert held(directory) == {"a": "rotated"}
    assert directory.stat().st_ino == before
    assert (directory / "a").stat().st_mode & 0o777 == 0o400
    assert directory.stat().st_mode & 0o777 == 0o700


def test_an_update_revokes_what_a_file_gave_and_keeps_what_a_variable_gave(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    deliver_secrets(directory, given("file", file="1", variable="2"), OWNER)
    update_secrets(directory, given(), OWNER)
    assert held(directory) == {"variable": "2"}
    update_secrets(directory, given(), OWNER)
    assert held(directory) == {"variable": "2"}


def test_a_removed_file_gives_way_to_the_variable(home: Path, tmp_path: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "github_token").write_text("file", encoding="utf-8")
    environ = {"GH_TOKEN": "variable"}
    update_secrets(tmp_path / "run", find_secrets(home, environ), OWNER)
    assert held(tmp_path / "run") == {"github_token": "file"}
    (home / "secrets" / "github_token").unlink()
    update_secrets(tmp_path / "run", find_secrets(home, environ), OWNER)
    assert held(tmp_path / "run") == {"github_token": "variable"}


@pytest.mark.parametrize("act", [deliver_secrets, update_secrets])
def test_a_link_in_the_place_of_the_directory_is_not_followed(
    tmp_path: Path, act: Callable[[Path, Secrets, Owner], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").touch()
    (tmp_path / "run").symlink_to(outside)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["theirs"]
    with pytest.raises(OSError, match="run"):
        act(tmp_path / "run", given(a="1"), OWNER)
    assert [path.name for path in outside.iterdir()] == ["theirs"]


def test_a_secret_that_is_not_text_is_named(home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "blob").write_bytes(b"\xff\x00")
    with pytest.raises(UsageError, match="secrets/blob"):
        find_secrets(home, {})
