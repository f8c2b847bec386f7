"""The seal around every test holds, and the guard of the real home is awake."""

from __future__ import annotations

import os
import pwd
import sqlite3
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cspace import git, proc
from tests.conftest import ALLOWED, CHECKOUT, HOMES, OUTSIDE, Clock

REAL_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)

TOUCHES: dict[str, Callable[[Path], object]] = {
    "reading": lambda home: (home / ".gitconfig").read_bytes(),
    "writing": lambda home: (home / "cspace-was-here").write_bytes(b""),
    "making a directory": lambda home: (home / ".cspace").mkdir(),
    "listing": lambda home: list(home.iterdir()),
    "walking": lambda home: list(os.walk(home)),
    "removing": lambda home: (home / "cspace-was-here").unlink(),
    "renaming into": lambda home: Path("/dev/null").rename(home / "cspace-was-here"),
    "a descriptor": lambda home: os.open(home / "cspace-was-here", os.O_CREAT),
    "a database": lambda home: sqlite3.connect(home / "cspace.db"),
    "bytes": lambda home: os.mkdir(os.fsencode(home / ".cspace")),  # noqa: PTH102  bytes on purpose
}


@pytest.mark.parametrize("how", TOUCHES)
def test_touching_the_real_home_is_an_assertion_error(how: str) -> None:
    with pytest.raises(AssertionError, match="touched the real home"):
        TOUCHES[how](REAL_HOME)


def test_the_home_that_the_developer_works_in_is_guarded_too() -> None:
    with pytest.raises(AssertionError, match="touched the real home"):
        (Path(OUTSIDE.get("HOME") or REAL_HOME) / ".cspace").mkdir()


def test_the_guard_leaves_python_the_checkout_and_temporary_files_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert (CHECKOUT / "pyproject.toml").read_bytes()
    assert list(Path(sys.prefix).iterdir())
    assert not set(ALLOWED) & set(HOMES) - {"/tmp/"}


def test_a_test_has_an_empty_home_of_its_own(home: Path) -> None:
    assert Path.home() == home
    assert list(home.iterdir()) == []
    assert home.resolve() != REAL_HOME.resolve()
    assert Path(os.environ["XDG_CONFIG_HOME"]).is_relative_to(home)


def test_git_knows_the_test_person_and_nothing_of_the_machine() -> None:
    listed = proc.run("git", "config", "--list", "--show-scope", cwd=Path("/")).text.splitlines()
    assert "global\tuser.email=test@example.com" in listed
    assert all(line.startswith("global\t") for line in listed)


def test_variables_of_cspace_and_of_an_agent_do_not_leak_into_tests() -> None:
    prefixes = ("CSPACE_", "CLAUDE_", "COMPOSE_", "SUDO_")
    assert [name for name in os.environ if name.startswith(prefixes)] == []


def test_the_ca_bundle_and_the_proxies_of_the_machine_stay() -> None:
    kept = ("SSL_CERT_FILE", "GIT_SSL_CAINFO", "HTTPS_PROXY", "https_proxy", "NO_PROXY")
    assert [os.environ.get(name) for name in kept] == [OUTSIDE.get(name) for name in kept]


def test_repo_is_a_clean_repository_with_one_commit(repo: Path) -> None:
    assert git.git(repo, "rev-list", "--count", "HEAD").text == "1"
    assert git.git(repo, "status", "--porcelain").text == ""
    assert git.git(repo, "branch", "--show-current").text == "main"


def test_the_clock_stands_still_until_it_is_moved(clock: Clock) -> None:
    before = clock()
    assert clock() == before == datetime(2026, 4, 14, 10, 30, tzinfo=UTC)
    clock.advance(hours=2)
    assert (clock() - before).total_seconds() == 7200


def test_counts_are_small_unless_soaking(counts: Callable[[int, int], int]) -> None:
    soaking = OUTSIDE.get("CSPACE_SOAK", "") not in {"", "0"}
    assert counts(8, 200) == (200 if soaking else 8)


@given(st.integers())
def test_the_seal_gets_along_with_property_tests(number: int) -> None:
    assert number + 0 == number


@pytest.mark.parametrize(
    ("ci", "code", "said"),
    [("", 0, "1 skipped"), ("true", 1, "CI needs a Docker engine: no engine answers")],
)
def test_without_an_engine_docker_tests_are_skipped_but_fail_in_ci(
    ci: str, code: int, said: str, tmp_path: Path
) -> None:
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/docker.sock", "CI": ci}
    done = proc.run(
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/docker/test_marker.py",
        cwd=CHECKOUT, env=os.environ | nowhere, ok=(0, 1),
    )  # fmt: skip
    assert done.code == code, done.text
    assert said in done.text
