"""Work that can not be archived stops the teardown: nothing is changed, and the reason is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import NewPerson
from tests.e2e.person import Answer, Person, docker
from tests.e2e.test_bad_input import everything, harmless
from tests.instance.snapshot_trees import Seen, survey

pytestmark = [pytest.mark.docker, pytest.mark.e2e]


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    with new() as one:
        yield one


@pytest.fixture
def mercury(person: Person) -> Iterator[Path]:
    """Return the workspace of a stopped instance with some work."""
    person.cspace("up", "mercury")
    person.inside("mercury", "sh", "-c", "echo work >work")
    person.cspace("stop", "mercury")
    yield person.workspace("mercury")
    person.run(person.program, "down", "--discard", "mercury", ok=(0, 3))


def refused(person: Person, *words: str, code: int) -> Answer:
    """Check that a command fails with a code, message and hint, and changes nothing."""
    before, refs = everything(person), person.git("for-each-ref")
    answer = person.cspace(*words, ok=code)
    assert person.git("for-each-ref") == refs
    after = everything(person)
    changed = {path for path in after.keys() | before.keys() if after.get(path) != before.get(path)}
    assert {path for path in changed if not harmless(person, path)} == set()
    (row,) = person.cspace("list", "--json").json["instances"]
    assert row["status"] in ("stopped", "incomplete")
    assert "error: " in answer.err
    assert "hint: " in answer.err
    return answer


def files_of(workspace: Path) -> Seen:
    """Return every path of a workspace but those of git."""
    seen = survey(workspace)
    return {path: what for path, what in seen.items() if path.split(b"/")[0] != b".git"}


def test_an_unreadable_file(person: Person, mercury: Path) -> None:
    (mercury / "work").chmod(0)
    answer = refused(person, "down", "mercury", code=1)
    assert "/workspace/work can not be packed: Permission denied" in answer.err
    assert "then: cspace down mercury" in answer.err
    person.cspace("start", "mercury")
    person.inside("mercury", "chmod", "644", "work")
    person.cspace("down", "mercury")


def test_a_broken_repository_inside(person: Person, mercury: Path) -> None:
    person.cspace("start", "mercury")
    script = "git init -q nested; cd nested; git commit -q --allow-empty -m x; rm .git/HEAD"
    person.inside("mercury", "bash", "-euc", script)
    person.cspace("stop", "mercury")
    answer = refused(person, "down", "mercury", code=1)
    assert "the repository nested/.git is broken" in answer.err
    person.cspace("start", "mercury")
    assert person.inside("mercury", "cat", "work") == "work\n"


@pytest.mark.parametrize("damage", ["gone", "HEAD"])
def test_a_workspace_whose_git_is_gone_or_damaged_keeps_its_files(
    person: Person, mercury: Path, damage: str
) -> None:
    directory = mercury / ".git"
    if damage == "gone":
        shutil.rmtree(directory)
    else:
        (directory / damage).write_bytes(b"\0broken")
    seen = files_of(mercury)
    person.cspace("down", "mercury")
    assert not mercury.exists()
    said = person.cspace("archive", "show", "mercury").out
    assert "GIT COULD NOT FOLLOW" in said
    # An instance can not start on a broken repository, but its files are back before it tries.
    person.run(person.program, "restore", "mercury", ok=(0, 5))
    assert files_of(mercury).items() >= seen.items()
    assert (mercury / "work").read_text(encoding="utf-8") == "work\n"


def test_a_record_of_a_newer_version_is_left_to_the_cspace_that_wrote_it(
    person: Person, mercury: Path
) -> None:
    record = person.state("mercury").record
    known = json.loads(record.read_text(encoding="utf-8"))
    record.write_text(json.dumps(known | {"schema": 2, "more": {}}), encoding="utf-8")
    for words in (
        ("up", "mercury"),
        ("start", "mercury"),
        ("stop", "--all"),
        ("down", "mercury"),
        ("down", "--all"),
        ("down", "mercury", "--dry-run"),
        ("restore", "mercury"),
    ):
        answer = refused(person, *words, code=1)
        assert f"{record} has schema 2, this cspace knows 1" in answer.err, words
        assert "hint: use the newer cspace that wrote it" in answer.err, words
    assert "has schema 2" in person.cspace("status", "mercury").out
    (row,) = person.cspace("list", "--json").json["instances"]
    assert row["name"] == "mercury"
    assert person.cspace("down", "--discard", "mercury").out.startswith("mercury removed")
    assert person.leftovers() == []


def test_a_damaged_record_is_archived_all_the_same(person: Person, mercury: Path) -> None:
    person.state("mercury").record.write_text('{"schema": 0}', encoding="utf-8")
    assert "cspace restore mercury" in person.cspace("down", "mercury").out
    assert person.leftovers() == []


def test_a_secret_that_is_no_text_stops_no_teardown(person: Person, mercury: Path) -> None:
    person.cspace("start", "mercury")
    secret = person.home / ".cspace/secrets/token"
    secret.parent.mkdir(exist_ok=True)
    secret.write_bytes(b"\xff\xfe")
    try:
        assert "is not UTF-8 text" in person.cspace("up", "mercury", ok=2).err
        person.cspace("stop", "mercury")
        person.cspace("down", "mercury")
    finally:
        secret.unlink()


def test_a_container_started_by_hand_that_writes_meanwhile_is_a_conflict(
    person: Person, mercury: Path
) -> None:
    image = person.run("docker", "inspect", "--format={{.Image}}", person.container("mercury")).out
    writer = docker(
        "run", "--detach", "--network=none", f"--volume={mercury}:/w", "--entrypoint=sh",
        image.strip(), "-c", "n=0; while :; do n=$((n+1)); echo $n >/w/written.$((n % 50)); done",
    ).strip()  # fmt: skip
    refs = person.git("for-each-ref")
    try:
        answer = person.cspace("down", "mercury", ok=4)
    finally:
        docker("rm", "--force", writer)
    assert "hint: stop what writes there" in answer.err
    assert person.git("for-each-ref") == refs
    before = files_of(mercury)
    assert len(before) > 3
    person.cspace("down", "mercury")
    person.cspace("restore", "mercury")
    assert files_of(mercury).items() >= before.items()


def small_disk(person: Person, where: Path, size: str) -> None:
    """Put a file system of that size in the place of a directory, with the same content."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    copy = where.with_name(f"{where.name}.copy")
    if where.is_dir():
        person.run("cp", "-a", where, copy)
    else:
        where.mkdir()
    person.run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", where)
    if copy.is_dir():
        person.run("cp", "-a", f"{copy}/.", where, cwd=person.home)


@pytest.mark.parametrize("full", ["repo", ".cspace"])
def test_a_full_disk_on_either_side(new: NewPerson, full: str) -> None:
    with new() as person:
        disk = person.repo if full == "repo" else person.home / ".cspace"
        small_disk(person, disk, "200m")
        try:
            person.cspace("up", "mercury")
            person.inside("mercury", "sh", "-c", "head -c 12000000 /dev/urandom >work")
            person.cspace("stop", "mercury")
            used = int(person.run("du", "-sk", disk).out.split()[0])
            person.run("mount", "-o", f"remount,size={used + 6000}k", disk)
            answer = refused(person, "down", "mercury", code=5)
            assert "the work of mercury can not be archived" in answer.err
            # git's words for it differ from program to program
            assert "No space left on device" in answer.err or "Out of diskspace" in answer.err
            assert str(person.repo if full == "repo" else person.home / ".cspace") in answer.err
            person.run("mount", "-o", "remount,size=200m", disk)
            person.cspace("start", "mercury")
            person.cspace("down", "mercury")
            person.cspace("restore", "mercury")
            assert (person.workspace("mercury") / "work").stat().st_size == 12_000_000
            person.cspace("down", "--discard", "mercury")
        finally:
            person.run("umount", "--lazy", disk, cwd=person.home)
