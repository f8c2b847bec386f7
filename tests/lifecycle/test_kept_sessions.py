"""Sessions of instances that an earlier cspace made come to where they outlive them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cspace import proc
from cspace.beneath import MAX_DEPTH
from cspace.errors import CspaceError
from cspace.files import Owner
from cspace.lifecycle.kept_sessions import ensure_sessions, forget_empty, move_earlier
from cspace.paths import InstancePaths, instance_paths

OWNER = Owner(os.geteuid(), os.getegid())
TRANSCRIPT = "-workspace/5f0c9a21.jsonl"
MEMORY = "-workspace/memory"


@pytest.fixture
def paths(home: Path) -> InstancePaths:
    made = instance_paths(home / ".cspace", "sample-1", "mercury")
    (made.claude / "projects" / MEMORY).mkdir(parents=True)
    return made


def write(place: Path, text: str = "{}\n") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return place


def earlier(paths: InstancePaths, name: str = TRANSCRIPT, text: str = "{}\n") -> Path:
    """Write what an instance of an earlier cspace has in its own directory."""
    return write(paths.claude / "projects" / name, text)


def kept(paths: InstancePaths) -> dict[str, str]:
    found = (path for path in paths.sessions.rglob("*") if path.is_file())
    return {str(path.relative_to(paths.sessions)): path.read_text("utf-8") for path in found}


def test_the_directories_of_a_new_instance_are_there_and_its_own_alone(
    paths: InstancePaths,
) -> None:
    ensure_sessions(paths, OWNER)
    assert (paths.sessions / MEMORY).is_dir()
    assert paths.sessions.stat().st_mode & 0o777 == 0o700
    assert paths.sessions.parent.stat().st_mode & 0o777 == 0o700


def test_every_regular_file_comes_along_with_its_time(paths: InstancePaths) -> None:
    names = (TRANSCRIPT, "-workspace/5f0c9a21/subagents/agent-1.jsonl", "-tmp/other.jsonl")
    for name in names:
        os.utime(earlier(paths, name, name), (1, 1))
    ensure_sessions(paths, OWNER)
    move_earlier(paths, OWNER)
    assert kept(paths) == {name: name for name in names}
    assert {(paths.sessions / name).stat().st_mtime for name in names} == {1}
    assert not [path for path in (paths.claude / "projects").rglob("*") if path.is_file()]


def test_what_is_there_already_is_never_overwritten(paths: InstancePaths) -> None:
    write(paths.sessions / TRANSCRIPT, "new\n")
    write(paths.sessions / "-workspace/same.jsonl", "same\n")
    for text in ("old\n", "older\n", "old\n"):
        earlier(paths, TRANSCRIPT, text)
        earlier(paths, "-workspace/same.jsonl", "same\n")
        move_earlier(paths, OWNER)
    assert kept(paths) == {
        TRANSCRIPT: "new\n",
        "-workspace/5f0c9a21.older.jsonl": "old\n",
        "-workspace/5f0c9a21.older-2.jsonl": "older\n",
        "-workspace/same.jsonl": "same\n",
    }


def test_a_name_as_long_as_names_can_be_is_kept_beside_too(paths: InstancePaths) -> None:
    long = f"-workspace/{'a' * 249}.jsonl"
    write(paths.sessions / long, "new\n")
    for text in ("old\n", "older\n"):
        earlier(paths, long, text)
        move_earlier(paths, OWNER)
    assert kept(paths) == {
        long: "new\n",
        f"-workspace/{'a' * 243}.older.jsonl": "old\n",
        f"-workspace/{'a' * 241}.older-2.jsonl": "older\n",
    }


def test_a_move_that_was_killed_between_its_two_steps_goes_on(paths: InstancePaths) -> None:
    ensure_sessions(paths, OWNER)
    os.link(earlier(paths), paths.sessions / TRANSCRIPT)
    with (paths.sessions / TRANSCRIPT).open("a", encoding="utf-8") as grown:
        grown.write("{}\n")
    move_earlier(paths, OWNER)
    assert kept(paths) == {TRANSCRIPT: "{}\n{}\n"}
    assert not (paths.claude / "projects" / TRANSCRIPT).exists()


def test_links_and_special_files_lead_nowhere(paths: InstancePaths, tmp_path: Path) -> None:
    private = write(tmp_path / "private", "private")
    for name, target in (("-workspace/link.jsonl", private), ("-linked", tmp_path)):
        (paths.claude / "projects" / name).symlink_to(target)
    os.mkfifo(paths.claude / "projects/-workspace/fifo.jsonl")
    ensure_sessions(paths, OWNER)
    earlier(paths)
    move_earlier(paths, OWNER)
    assert {path.name for path in paths.sessions.rglob("*")} == {*TRANSCRIPT.split("/"), "memory"}
    assert private.read_text(encoding="utf-8") == "private"


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_link_or_a_fifo_of_that_name_is_not_written_through(
    paths: InstancePaths, tmp_path: Path, kind: str
) -> None:
    target = write(tmp_path / "outside/private", "private")
    there = paths.sessions / TRANSCRIPT
    there.parent.mkdir(parents=True)
    if kind == "link":
        there.symlink_to(target)
        (paths.sessions / "-other").symlink_to(target.parent)
    else:
        os.mkfifo(there)
    earlier(paths)
    earlier(paths, "-other/one.jsonl")
    move_earlier(paths, OWNER)
    assert (paths.sessions / "-workspace/5f0c9a21.older.jsonl").read_text("utf-8") == "{}\n"
    assert [path.name for path in target.parent.iterdir()] == ["private"]
    assert target.read_text(encoding="utf-8") == "private"


@pytest.fixture
def deep_paths(paths: InstancePaths) -> Iterator[InstancePaths]:
    """Give paths below which a test may go deeper than pytest, which removes them, recurses."""
    yield paths
    proc.run("rm", "-r", paths.sessions, paths.state)


def test_directories_that_are_closed_or_deeper_than_python_recurses_come_along(
    deep_paths: InstancePaths,
) -> None:
    paths = deep_paths
    for top in (paths.claude / "projects", paths.sessions):
        write(top / "-workspace/closed/one.jsonl")
        place = top / "-workspace"
        proc.run("mkdir", "-p", place / "/".join(["d"] * 1500))
    earlier(paths, "-workspace/closed/two.jsonl").parent.chmod(0)
    move_earlier(paths, OWNER)
    assert (paths.sessions / "-workspace/closed/two.jsonl").is_file()
    deep = paths.sessions / "-workspace" / "/".join(["d"] * MAX_DEPTH)
    assert (deep.parent / "d.older").is_dir()


def test_what_can_not_be_moved_is_an_error_that_says_how_it_is_kept(paths: InstancePaths) -> None:
    earlier(paths)
    paths.sessions.parent.parent.mkdir()
    paths.sessions.parent.write_text("in the way", encoding="utf-8")
    with pytest.raises(CspaceError, match="can not be moved") as caught:
        move_earlier(paths, OWNER)
    assert caught.value.hint is not None
    assert "cp -an" in caught.value.hint
    assert "--discard mercury" in caught.value.hint
    assert (paths.claude / "projects" / TRANSCRIPT).is_file()


def test_the_hint_is_enough_where_the_sessions_lie_on_another_file_system(
    paths: InstancePaths,
) -> None:
    earlier(paths)
    ensure_sessions(paths, OWNER)
    source, target = paths.claude / "projects", paths.sessions
    proc.run("cp", "-an", f"{source}/.", target)
    move_earlier(paths, OWNER)
    assert kept(paths) == {TRANSCRIPT: "{}\n"}


def test_a_directory_in_which_nothing_lies_goes_and_any_other_stays(paths: InstancePaths) -> None:
    ensure_sessions(paths, OWNER)
    assert not forget_empty(paths)
    assert not paths.sessions.exists()
    assert not forget_empty(paths)
    note = write(paths.sessions / "-workspace/5f0c9a21.md")
    ensure_sessions(paths, OWNER)
    assert forget_empty(paths)
    assert note.is_file()
