"""What bad input gets: a clear error, its exit code, and nothing changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.person import Answer, Person, docker, labelled

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

BROKEN_BASE = "cspace-e2e-broken:base"
Everything = dict[Path, bytes | None]


def everything(person: Person) -> Everything:
    """Return every path of the person's home and repository, with its content."""
    paths = (*person.home.rglob("*"), *person.repo.rglob("*"))
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in paths
        if person.home / ".docker" not in (path, *path.parents)
    }


def refused(person: Person, *words: str, code: int) -> Answer:
    """Check that a command fails with a code, a message and a hint, and changes nothing."""
    before = everything(person)
    answer = person.cspace(*words, ok=code)
    after = everything(person)
    # A lock file outlives what it guards, and holds nothing.
    changed = {path for path in after.keys() | before.keys() if after.get(path) != before.get(path)}
    assert {path for path in changed if not harmless(person, path)} == set()
    assert person.leftovers() == []
    assert "error: " in answer.err
    assert "Traceback" not in answer.err
    return answer


def harmless(person: Person, path: Path) -> bool:
    place = person.home / ".cspace"
    return path.name.endswith(".lock") or path in (
        place,
        place / "instances",
        place / "instances" / person.id,
        person.repo / ".git/cspace",  # where a context's history would be kept
    )


def test_docker_down_hazard_an_engine_that_does_not_answer_is_an_error_of_its_own(
    person: Person,
) -> None:
    lost = person.having(DOCKER_HOST="unix:///nonexistent/docker.sock")
    for words in (
        ("up", "mercury"),
        ("list",),
        ("down", "--all"),
        ("status",),
        ("up", "--dry-run"),
    ):
        answer = refused(lost, *words, code=6)
        assert "Docker does not answer" in answer.err
        assert "hint: " in answer.err


def test_a_docker_context_that_does_not_exist_is_named(person: Person) -> None:
    variables = {name: value for name, value in person.environment.items() if name != "DOCKER_HOST"}
    words = ["env", "-i", *(f"{key}={value}" for key, value in variables.items())]
    answer = person.run(*words, "DOCKER_CONTEXT=nowhere", str(person.program), "list", ok=(6,))
    assert "nowhere" in answer.err
    assert "hint: docker context ls" in answer.err


def test_a_directory_without_a_repository(person: Person) -> None:
    answer = refused(person.at(person.home), "up", "mercury", code=2)
    assert "is not inside a git repository" in answer.err
    assert "hint: " in answer.err


def test_a_repository_without_commits(person: Person) -> None:
    empty = person.at(person.repo.parent / "empty")
    empty.repo.mkdir()
    empty.git("init", "--quiet")
    answer = refused(empty, "up", "mercury", code=2)
    assert "has no commits" in answer.err
    assert "hint: git commit" in answer.err


@pytest.mark.parametrize("name", ["Mercury", "../up", "-x", "a" * 41, "mer cury", ""])
def test_an_invalid_name(person: Person, name: str) -> None:
    answer = refused(person, "up", "--", name, code=2)
    assert f"name {name!r} is not valid" in answer.err


def test_a_taken_name_with_another_branch(person: Person) -> None:
    person.cspace("up", "mercury")
    answer = person.cspace("up", "mercury", "--branch", "other", ok=2)
    assert "mercury exists and was made on branch cspace/mercury, not on other" in answer.err
    assert "hint: switch inside" in answer.err


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"ports": "3000"}', ("ports", '"3000"')),
        ('{"limits": {"cpus": -1}}', ("limits.cpus", "-1")),
        ('{"portz": [3000]}', ('unknown key "portz"', '"ports"')),
        ("{", ("not valid JSON",)),
        ('{"firewall": {"domains": ["10.0.0.1"]}}', ("firewall.domains.0", "an address")),
        ('{"env": {"GH_TOKEN": "x"}}', ("env.GH_TOKEN", "looks like a secret")),
        ('{"post_create": "make"}', ("widens access (post_create)", "not trusted")),
    ],
    ids=["wrong type", "out of range", "unknown key", "no JSON", "firewall", "secret", "untrusted"],
)
def test_settings_that_are_wrong_name_file_and_key(
    person: Person, text: str, named: tuple[str, ...]
) -> None:
    person.write(".cspace.json", text)
    answer = refused(person, "up", "mercury", code=2)
    for words in (str(person.repo / ".cspace.json"), *named):
        assert words in answer.err


@pytest.fixture
def broken_base() -> Iterator[str]:
    """Make an image in which not even a shell is."""
    empty = b"\0" * 10240
    docker("import", "-", BROKEN_BASE, stdin=empty)
    yield BROKEN_BASE
    docker("image", "rm", BROKEN_BASE)


def test_an_image_build_that_fails_shows_the_last_lines_of_its_log(
    person: Person, broken_base: str
) -> None:
    person.configure({"base_image": broken_base})
    answer = refused(person, "up", "mercury", code=5)
    assert "error: the image can not be built" in answer.err
    assert "stat /bin/bash: no such file or directory" in answer.err.partition("error: ")[2]
    assert "hint: cspace config show" in answer.err
    assert labelled(person.id) == []


def test_a_full_disk_while_cloning_leaves_nothing_and_up_works_after_room_was_made(
    person: Person,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = person.home / ".cspace"
    disk.mkdir()
    (person.repo / "large").write_bytes(os.urandom(12 << 20))
    person.git("add", "large")
    person.git("commit", "--quiet", "--message", "Large")
    person.run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk)
    try:
        answer = person.cspace("up", "mercury", ok=5)
        # git's words for it differ from program to program
        assert "No space left on device" in answer.err or "Out of diskspace" in answer.err
        assert person.leftovers() == []
        person.run("mount", "-o", "remount,size=200m", disk)
        person.cspace("up", "mercury")
        assert person.inside("mercury", "git", "status", "--porcelain") == ""
        person.cspace("down", "mercury")
    finally:
        person.run("umount", "--lazy", disk)


def test_a_post_create_that_fails_shows_its_phase_and_output_and_can_be_repaired(
    person: Person,
) -> None:
    person.write(".cspace.json", json.dumps({"post_create": "echo the reason >&2; exit 3"}))
    person.cspace("trust", "--yes")
    answer = person.cspace("up", "mercury", ok=5)
    assert "mercury did not become ready in phase post-create" in answer.err
    assert "the reason" in answer.err
    assert "hint: cspace logs mercury" in answer.err
    person.cspace("up", "mercury", ok=5)
    person.write(".cspace.json", json.dumps({"post_create": "echo repaired >/tmp/how"}))
    person.cspace("trust", "--yes")
    person.cspace("up", "mercury", "--recreate")
    assert person.inside("mercury", "cat", "/tmp/how") == "repaired\n"


@pytest.mark.parametrize("hidden", ["home", "repo"])
def test_an_engine_that_does_not_see_this_file_system(person: Person, hidden: str) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root can have a mount of its own")
    before = everything(person)
    # Nobody outside of this process sees the mount: as in a container that got the engine's socket.
    script = """
        mount -t tmpfs tmpfs "$3"; cp -a "$0/." "$3"
        mount --move "$3" "$0"; cd "$1"; exec "$2" up mercury
    """
    spare = person.home.parent / "spare"
    spare.mkdir()
    place = getattr(person, hidden)
    words = ("unshare", "--mount", "sh", "-euc", script, place, person.repo, person.program, spare)
    answer = person.run(*words, ok=(1,))
    assert "the Docker engine does not see this file system" in answer.err
    assert "hint: run cspace where the engine runs" in answer.err
    assert person.leftovers() == []
    after = everything(person)
    assert {path for path in after if path not in before and not harmless(person, path)} == set()


def test_asking_hazard_without_a_terminal_up_never_asks_and_never_attaches(person: Person) -> None:
    answer = person.cspace("up")
    assert answer.out.startswith("mercury is ready")
    assert "?" not in answer.err
