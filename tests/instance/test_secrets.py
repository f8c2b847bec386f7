"""What an instance is given, how it rotates, and what takes it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.files import Owner
from cspace.instance.secret_sources import Secret, Secrets, Source, find_secrets
from cspace.instance.secrets import (
    Delivered,
    deliver_secrets,
    is_delivered,
    list_delivered,
    update_secrets,
)

OWNER = Owner(1000, 1000)


def given(source: Source = Source.USER, **values: str) -> Secrets:
    return Secrets(tuple(Secret(name, value, source, "there") for name, value in values.items()))


def ended(source: Source, *names: str) -> Secrets:
    return Secrets(ended=frozenset((source, name) for name in names))


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


LASTING = {
    Source.FLAG: (True, True),
    Source.PROJECT: (False, False),
    Source.USER: (False, False),
    Source.ENVIRONMENT: (True, False),
    Source.GH: (True, False),
}


@pytest.mark.parametrize("source", Source)
def test_what_a_source_gave_and_does_not_give_now_lasts_as_documented(
    tmp_path: Path, source: Source
) -> None:
    """While the instance runs, and when it starts again."""
    directory = tmp_path / "run"
    lasted = []
    for act in (update_secrets, deliver_secrets):
        deliver_secrets(directory, given(source, secret="1"), OWNER)
        act(directory, given(), OWNER)
        act(directory, given(), OWNER)
        lasted.append(held(directory) == {"secret": "1"})
    assert tuple(lasted) == LASTING[source]


@pytest.mark.parametrize(
    ("before", "now", "wins"),
    [
        (Source.FLAG, Source.USER, "before"),
        (Source.FLAG, Source.FLAG, "now"),
        (Source.ENVIRONMENT, Source.GH, "before"),
        (Source.ENVIRONMENT, Source.ENVIRONMENT, "now"),
        (Source.GH, Source.PROJECT, "now"),
        (Source.USER, Source.GH, "now"),
    ],
)
def test_a_running_instance_keeps_what_stands_before_in_the_order(
    tmp_path: Path, before: Source, now: Source, wins: str
) -> None:
    deliver_secrets(tmp_path / "run", given(before, secret="before"), OWNER)
    update_secrets(tmp_path / "run", given(now, secret="now"), OWNER)
    assert held(tmp_path / "run") == {"secret": wins}


@pytest.mark.parametrize("source", [Source.FLAG, Source.GH])
def test_what_a_person_ended_is_taken_from_a_running_instance_and_nothing_else(
    tmp_path: Path, source: Source
) -> None:
    directory = tmp_path / "run"
    deliver_secrets(directory, given(source, one="1", two="2"), OWNER)
    update_secrets(directory, ended(source, "one"), OWNER)
    assert held(directory) == {"two": "2"}


def test_what_was_delivered_is_told_with_its_source_and_without_its_value(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    assert list_delivered(directory) == ()
    deliver_secrets(directory, given(Source.GH, b="marker-b", a="marker-a"), OWNER)
    found = list_delivered(directory)
    assert found == (Delivered("a", Source.GH, "there"), Delivered("b", Source.GH, "there"))
    (memory,) = [path for path in tmp_path.iterdir() if path.is_file()]
    assert "marker" not in memory.read_text("utf-8")
    memory.write_text('[{"name": "../a"}, 3]', encoding="utf-8")
    assert list_delivered(directory)[0] == Delivered("a", None, "")


def test_whether_a_value_is_the_delivered_one_is_known(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    deliver_secrets(directory, given(a="1"), OWNER)
    assert is_delivered(directory, given(a="1").found[0])
    assert not is_delivered(directory, given(a="2").found[0])
    assert not is_delivered(directory, given(b="1").found[0])


def test_a_removed_file_gives_way_to_the_variable(home: Path, tmp_path: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "github_token").write_text("file", encoding="utf-8")
    environ = {"GH_TOKEN": "variable"}
    update_secrets(tmp_path / "run", find_secrets(home, None, environ, {}), OWNER)
    assert held(tmp_path / "run") == {"github_token": "file"}
    (home / "secrets" / "github_token").unlink()
    update_secrets(tmp_path / "run", find_secrets(home, None, environ, {}), OWNER)
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
