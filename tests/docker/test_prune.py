"""What `prune` finds, takes away and leaves alone. Never the images: others use this engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from cspace import files, proc
from cspace.cli import render
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.events import ignore
from cspace.instance import labels
from cspace.lifecycle.down import down, stop
from cspace.lifecycle.host import Host
from cspace.lifecycle.leftovers import IN_USE, Kind, Leftover, Machine, find_leftovers
from cspace.lifecycle.prune import Pruned, discard, prune
from cspace.lifecycle.up import Wish, up
from cspace.migration.model import Target
from cspace.migration.staging import locked, staging
from cspace.paths import MEMORY, InstancePaths, instance_paths

pytestmark = pytest.mark.docker

NAME = "mercury"


@pytest.fixture
def host(repo: Path, home: Path) -> Iterator[Host]:
    host = Deps(repo, dict(os.environ), ignore).host()
    yield host
    if host.observe(NAME).exists:
        down(host, NAME, discard=True)


@pytest.fixture
def machine(repo: Path, host: Host) -> Machine:
    return Deps(repo, dict(os.environ), ignore).machine()


@pytest.fixture
def paths(host: Host) -> InstancePaths:
    return host.paths(NAME)


def found(machine: Machine) -> dict[str, Leftover]:
    """Return what is left over of this user's, by what it is."""
    return {one.what: one for one in find_leftovers(machine) if one.kind is not Kind.IMAGE}


def pruned(machine: Machine) -> Pruned:
    return prune(machine, found(machine).values())


def instance(machine: Machine, host: Host) -> str:
    return f"{host.project.id}/{NAME}"


def test_disk_fills_hazard_debris_of_killed_calls_goes_and_work_stays(
    host: Host, machine: Machine, paths: InstancePaths
) -> None:
    up(host, NAME, Wish())
    (paths.workspace / "work").write_text("work\n", encoding="utf-8")
    debris = [paths.state / "workspace.partial", paths.state / "archive-x", host.user / ".image"]
    for directory in debris:
        directory.mkdir()
        (directory / "big").write_bytes(b"x" * 100_000)
    torn = [
        place / ".x.cspace-tmp" for place in (paths.state, host.user, host.project.root / ".git")
    ]
    for path in torn:
        path.write_bytes(b"x" * 10)
    shown = found(machine)
    assert set(shown) == {str(path) for path in (*debris, *torn)}
    assert all(one.remedy is None for one in shown.values())
    assert all((shown[str(path)].size or 0) >= 100_000 for path in debris)
    assert all(path.exists() for path in (*debris, *torn))
    assert {one.what for one in pruned(machine).removed} == set(shown)
    assert not any(path.exists() for path in (*debris, *torn))
    assert (paths.workspace / "work").is_file()
    assert found(machine) == {}


def test_what_another_call_works_with_is_left_alone(
    host: Host, machine: Machine, paths: InstancePaths
) -> None:
    debris = paths.state / "workspace.partial"
    debris.mkdir(parents=True)
    with host.locked(NAME):
        assert found(machine)[str(debris)].remedy == IN_USE
        assert pruned(machine).removed == ()
        unaware = replace(found(machine)[str(debris)], remedy=None)
        (failure,) = prune(machine, [unaware]).failed
        assert "locked by cspace at work on mercury" in str(failure.error)
    assert debris.is_dir()
    with files.temporary(paths.state / "file", b"x") as written:
        assert str(written) not in found(machine)


def test_an_instance_at_rest_is_shown_with_its_size_and_kept(host: Host, machine: Machine) -> None:
    up(host, NAME, Wish())
    assert found(machine) == {}
    stop(host, NAME)
    left = found(machine)[instance(machine, host)]
    assert (left.kind, left.reason) == (Kind.INSTANCE, f"stopped, made on {host.now():%Y-%m-%d}")
    assert left.remedy == f"cd {host.project.root} && cspace down {NAME}"
    assert (left.size or 0) > 10_000
    assert pruned(machine).removed == ()
    archived = down(host, NAME).archive
    assert archived is not None
    left = found(machine)[str(host.project.root)]
    assert (left.kind, left.reason) == (Kind.ARCHIVES, "1 archive")
    assert (left.size or 0) > 100
    assert left.remedy is not None


def test_an_instance_whose_project_is_gone_goes_only_when_it_is_named(
    host: Host, machine: Machine, paths: InstancePaths, tmp_path: Path
) -> None:
    up(host, NAME, Wish())
    what, elsewhere = instance(machine, host), replace(machine, here=None)
    with pytest.raises(UsageError, match="is there"):
        discard(elsewhere, what)
    moved = host.project.root.rename(tmp_path / "moved")
    left = found(elsewhere)[what]
    assert left.kind is Kind.ORPHAN
    assert f"cspace prune --discard {what}" in str(left.remedy)
    assert pruned(elsewhere).removed == ()
    discard(elsewhere, what, dry_run=True)
    assert paths.workspace.is_dir()
    transcript = paths.sessions / "-workspace/one.jsonl"
    transcript.write_text("{}\n", encoding="utf-8")
    discard(elsewhere, what)
    assert not paths.state.exists()
    assert transcript.is_file()
    (paths.sessions.parent / f".{paths.sessions.name}.md.lock").touch()
    everything = found(elsewhere)
    assert not [what for what in everything if what.endswith(".lock")]
    left = everything[str(paths.sessions)]
    assert left.kind is Kind.SESSIONS
    assert left.remedy == f"if nobody needs them: rm -r {paths.sessions}"
    assert pruned(elsewhere).removed == ()
    assert machine.engine.list_labels(labels.of_project(host.project.id)) == ()
    moved.rename(host.project.root)


def test_an_instance_whose_record_is_not_understood_is_not_said_to_lack_its_project(
    host: Host, machine: Machine, paths: InstancePaths
) -> None:
    paths.workspace.mkdir(parents=True)
    paths.record.write_text('{"schema": 99}', encoding="utf-8")
    left = found(replace(machine, here=None))[instance(machine, host)]
    assert left.reason.startswith(f"its project is not known: {paths.record} has schema 99")
    assert str(left.remedy).startswith(f"in its project: cspace down {NAME}")


def test_an_outbox_of_an_instance_that_is_gone_goes_when_nothing_is_in_it(
    machine: Machine, paths: InstancePaths
) -> None:
    paths.outbox.mkdir(parents=True)
    proposal = paths.outbox / "one.yaml"
    proposal.write_text("scope: user\n", encoding="utf-8")
    left = found(machine)[str(paths.outbox)]
    assert left.kind is Kind.OUTBOX
    assert str(left.remedy).startswith("cspace memory proposals;")
    assert pruned(machine).removed == ()
    proposal.unlink()
    (removed,) = pruned(machine).removed
    assert removed.kind is Kind.OUTBOX
    assert not paths.outbox.parent.exists()


def test_an_outbox_that_its_agent_closed_is_named_and_stays(
    machine: Machine, paths: InstancePaths
) -> None:
    paths.outbox.mkdir(parents=True)
    (paths.outbox / "one.yaml").write_text("scope: user\n", encoding="utf-8")
    paths.outbox.chmod(0)
    try:
        assert str(found(machine)[str(paths.outbox)].remedy).startswith("cspace memory proposals;")
    finally:
        paths.outbox.chmod(0o755)


def test_an_outbox_of_an_instance_that_is_there_stays(
    machine: Machine, paths: InstancePaths
) -> None:
    paths.outbox.mkdir(parents=True)
    paths.workspace.mkdir(parents=True)
    assert str(paths.outbox) not in found(machine)


def test_transcripts_that_can_not_be_kept_when_an_orphan_goes_are_named(
    repo: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Deps(repo, dict(os.environ), render.progress).machine()
    lost = instance_paths(home / ".cspace", "gone-1234abcd", NAME)
    (lost.claude / "projects/-workspace").mkdir(parents=True)
    (lost.claude / "projects/-workspace/5f0c9a21.jsonl").write_text("{}\n", encoding="utf-8")
    lost.sessions.parents[1].write_text("a file in the way\n", encoding="utf-8")
    discard(machine, f"gone-1234abcd/{NAME}")
    assert not lost.state.exists()
    assert "the transcripts in" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["mercury", "../mercury", "a/../b", "nowhere-12345678/mercury"])
def test_what_is_discarded_has_to_be_an_instance(machine: Machine, what: str) -> None:
    with pytest.raises(UsageError):
        discard(machine, what)


def test_orphans_after_a_crash_hazard_containers_without_a_directory_go_but_nobody_elses(
    host: Host, machine: Machine, paths: InstancePaths
) -> None:
    name = f"cspace-test-{host.project.id}"
    ours = labels.of_instance(host.project.id, NAME) | {labels.FOLDER: str(paths.workspace)}
    others = ours | {labels.INSTANCE: "venus", labels.FOLDER: "/home/other/venus/workspace"}
    forged = others | {labels.FOLDER: f"{host.user}/instances/../instances/a/workspace"}
    for suffix, marks in (("ours", ours), ("others", others), ("forged", forged)):
        words = [f"--label={key}={value}" for key, value in marks.items()]
        proc.run("docker", "network", "create", *words, f"{name}-{suffix}")
    try:
        assert {one.kind for one in found(machine).values()} == {Kind.CONTAINERS}
        assert [one.what for one in pruned(machine).removed] == [instance(machine, host)]
        listed = proc.run("docker", "network", "ls", f"--filter=name={name}").text
        assert f"{name}-others" in listed
        assert f"{name}-ours" not in listed
    finally:
        proc.run("docker", "network", "rm", f"{name}-others", f"{name}-forged")


def test_a_task_of_a_killed_call_goes_unless_its_instance_is_locked(
    host: Host, machine: Machine, paths: InstancePaths
) -> None:
    label = f"--label={labels.TASK}={paths.state}"
    base = ("--network=none", "debian:bookworm-slim", "sleep", "600")
    task = proc.run("docker", "run", "--detach", "--init", label, *base).text
    with host.locked(NAME):
        assert found(machine)[instance(machine, host)].remedy == IN_USE
        assert pruned(machine).removed == ()
    assert [one.kind for one in pruned(machine).removed] == [Kind.CONTAINERS]
    assert task[:12] not in proc.run("docker", "ps", "--all", "--quiet").text


def test_a_name_that_was_taken_and_never_used_is_free_again_after_a_minute(
    host: Host, machine: Machine, paths: InstancePaths
) -> None:
    paths.state.mkdir(parents=True)
    assert found(machine)[instance(machine, host)].kind is Kind.INSTANCE
    os.utime(paths.state, (1_700_000_000, 1_700_000_000))
    assert [one.kind for one in pruned(machine).removed] == [Kind.NAME]
    assert not paths.state.exists()


@pytest.mark.parametrize("what", ["memory", "sessions"])
def test_half_a_migration_that_was_killed_goes_unless_one_is_at_work(
    machine: Machine, host: Host, paths: InstancePaths, what: str
) -> None:
    root = {"memory": host.project.root, "sessions": machine.user}[what]
    root.mkdir(exist_ok=True)
    whole = {"memory": root / MEMORY, "sessions": paths.sessions}[what]
    place = PurePosixPath(whole.relative_to(root))
    target = Target(root, place, host.owner, lambda path: path)
    with locked(target) as above, staging(target, above):
        (at_work,) = found(machine).values()
        (root / place.parent / f".{place.name}.migration.cspace-tmp").rename(root / "left")
    assert at_work.remedy == IN_USE
    assert found(machine) == {}
    (root / "left").rename(at_work.what)
    (Path(at_work.what) / "0").write_text("half", encoding="utf-8")
    (gone,) = pruned(machine).removed
    assert (gone.what, gone.kind, Path(gone.what).exists()) == (
        *(at_work.what, Kind.DIRECTORY, False),
    )
