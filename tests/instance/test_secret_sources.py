"""One order says whose value of a secret is used, and the source is told without the value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.errors import UsageError
from cspace.instance.secret_sources import Secret, Secrets, Source, find_secrets

NO_FLAGS: dict[str, Path] = {}
PROJECT = "sample-12345678"
ALL = (Source.FLAG, Source.PROJECT, Source.USER, Source.ENVIRONMENT, Source.GH)


def put(path: Path, value: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value, encoding="utf-8")
    return path


def login(home: Path, token: str) -> dict[str, str]:
    """Log the real gh in, without network: return the variables that it is found with."""
    put(home / ".config/gh/hosts.yml", f"github.com:\n    oauth_token: {token}\n    user: me\n")
    return {"HOME": str(home), "PATH": os.environ["PATH"]}


def find(user: Path, **environ: str) -> Secrets:
    return find_secrets(user, PROJECT, environ, NO_FLAGS)


@pytest.mark.parametrize("number", range(len(ALL)))
def test_the_first_source_in_the_order_that_has_a_value_gives_it(home: Path, number: int) -> None:
    user = home / ".cspace"
    present = ALL[number:]
    places = {
        Source.FLAG: home / "named",
        Source.PROJECT: user / "secrets/projects" / PROJECT / "github_token",
        Source.USER: user / "secrets/github_token",
    }
    for source in present:
        if source in places:
            put(places[source], f"of-{source}\n")
    environ = login(home, f"of-{Source.GH}")
    if Source.ENVIRONMENT in present:
        environ["GH_TOKEN"] = f"of-{Source.ENVIRONMENT}"
    flags = {"github_token": places[Source.FLAG]} if Source.FLAG in present else NO_FLAGS
    (found,) = find_secrets(user, PROJECT, environ, flags).found
    assert (found.value, found.source) == (f"of-{ALL[number]}", ALL[number])


def test_each_secret_has_its_own_source_and_place(home: Path) -> None:
    file = put(home / "secrets/npm_token", "n")
    found = find(home, ANTHROPIC_API_KEY="key").found
    assert [(one.name, one.source, one.place) for one in found] == [
        ("anthropic_api_key", Source.ENVIRONMENT, "$ANTHROPIC_API_KEY"),
        ("npm_token", Source.USER, str(file)),
    ]


def test_a_project_has_its_own_file_and_others_have_the_users(home: Path) -> None:
    put(home / "secrets/github_token", "mine")
    put(home / "secrets/projects" / PROJECT / "github_token", "theirs")
    assert find(home).values == {"github_token": "theirs"}
    assert find_secrets(home, "other-1", {}, NO_FLAGS).values == {"github_token": "mine"}
    assert find_secrets(home, None, {}, NO_FLAGS).values == {"github_token": "mine"}


def test_the_representation_holds_no_value(home: Path) -> None:
    put(home / "secrets/github_token", "marker-one")
    found = find(home)
    assert "marker-one" in found.values.values()
    assert "marker-one" not in f"{found!r} {found} {found.found[0]!r} {found.found[0]}"


def test_an_empty_file_falls_through_to_the_environment(home: Path) -> None:
    put(home / "secrets/github_token", "\n")
    assert find(home, GH_TOKEN="gh").values == {"github_token": "gh"}


def test_an_empty_file_keeps_the_login_of_gh_out(home: Path) -> None:
    environ = login(home, "gho-marker")
    assert find(home / ".cspace", **environ).values == {"github_token": "gho-marker"}
    put(home / ".cspace/secrets/github_token", "")
    found = find(home / ".cspace", **environ)
    assert found.found == ()
    assert found.ended == {(Source.GH, "github_token")}


def test_gh_that_nobody_logged_in_gives_nothing(home: Path) -> None:
    assert find(home, HOME=str(home), PATH=os.environ["PATH"]).found == ()
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("script", ["exit 4", "echo; echo oops >&2", "printf 'two words'"])
def test_gh_that_is_broken_gives_nothing(tmp_path: Path, script: str) -> None:
    put(tmp_path / "gh", f"#!/bin/sh\n{script}\n").chmod(0o755)
    assert find(tmp_path, PATH=f"{tmp_path}:{os.environ['PATH']}").found == ()


def test_gh_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    put(tmp_path / "gh", f"#!/bin/sh\ntouch {asked}\nexec sleep 600\n").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert find(tmp_path, **environ).found == ()
    assert asked.exists()


def test_gh_is_not_asked_where_something_else_gives_the_token(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    put(tmp_path / "gh", f"#!/bin/sh\ntouch {asked}\n").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert find(tmp_path, GITHUB_TOKEN="given", **environ).values == {"github_token": "given"}
    assert not asked.exists()
    find(tmp_path, **environ)
    assert asked.exists()


def test_any_file_in_the_directory_is_a_secret_of_that_name(home: Path) -> None:
    put(home / "secrets/npm_token", "n")
    put(home / "secrets/.hidden", "h")
    put(home / "secrets/projects/other-1/pypi_token", "p")
    assert find(home).values == {"npm_token": "n"}


def test_a_key_keeps_its_last_line_break_and_a_token_loses_it(home: Path) -> None:
    for name in ("id_ed25519", "github_token"):
        put(home / "secrets" / name, "value\n")
    assert find(home).values == {"id_ed25519": "value\n", "github_token": "value"}


def test_an_empty_flag_gives_nothing_and_is_known_as_such(home: Path) -> None:
    put(home / "secrets/github_token", "mine")
    found = find_secrets(home, PROJECT, {}, {"github_token": Path(os.devnull)})
    assert found.values == {"github_token": "mine"}
    assert (Source.FLAG, "github_token") in found.ended


@pytest.mark.parametrize("content", [b"\xff\x00 marker", b"m" * (1024 * 1024 + 1)])
def test_a_secret_that_can_not_be_one_is_named_without_its_content(
    home: Path, content: bytes
) -> None:
    (home / "secrets").mkdir()
    (home / "secrets/blob").write_bytes(content)
    with pytest.raises(UsageError, match="secrets/blob") as caught:
        find(home)
    assert "mmm" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_flags_file_that_is_missing_is_named(home: Path) -> None:
    with pytest.raises(UsageError, match="--secret x=/nonexistent: No such file"):
        find_secrets(home, PROJECT, {}, {"x": Path("/nonexistent")})


def test_a_secret_without_its_value_is_another_one() -> None:
    one, other = (Secret("a", value, Source.USER, "p") for value in ("1", "2"))
    assert one != other
