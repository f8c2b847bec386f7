"""What people do to an instance behind cspace's back, and what `up`, `stop`, `down` make of it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cspace import files, git, proc
from cspace.deps import Deps
from cspace.errors import Conflict, CspaceError, NotFound
from cspace.events import ignore
from cspace.instance import labels
from cspace.instance.observe import Status, list_instances
from cspace.instance.record import NewerRecord, load_record, save_record
from cspace.instance.snapshot_pack import IGNORED_EACH
from cspace.lifecycle.down import down, stop
from cspace.lifecycle.host import Blueprint, Host
from cspace.lifecycle.steps import prove_file_system
from cspace.lifecycle.up import MOVED, Ready, Wish, start, up
from cspace.paths import INSIDE

pytestmark = pytest.mark.docker

NAME = "mercury"
TRANSCRIPTS = "/home/dev/.claude/projects/-workspace"


@pytest.fixture
def host(repo: Path, home: Path) -> Iterator[Host]:
    """Return a project without settings; what its tests leave is removed."""
    host = Deps(repo, dict(os.environ), ignore).host()
    yield host
    if host.observe(NAME).exists:
        down(host, NAME, discard=True)
    assert host.engine.list_containers(labels.of_project(host.project.id)) == ()


@pytest.fixture
def mercury(host: Host) -> Ready:
    return up(host, NAME, Wish())


def inside(ready: Ready, *words: str) -> str:
    return proc.run("docker", "exec", ready.container, *words).text


def test_a_workspace_deleted_under_a_running_instance_is_made_anew(
    host: Host, mercury: Ready
) -> None:
    shutil.rmtree(mercury.workspace)
    assert host.observe(NAME).status is Status.INCOMPLETE
    assert inside(up(host, NAME, Wish()), "git", "status", "--short") == ""
    (mercury.workspace / "seen").touch()
    assert "seen" in inside(mercury, "ls", "/workspace")


def test_what_an_archive_leaves_out_is_said(host: Host, mercury: Ready) -> None:
    (mercury.workspace / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (mercury.workspace / "large.log").write_bytes(b"x" * (IGNORED_EACH + 1))
    gone = down(host, NAME)
    look = f"cspace archive show {NAME}/{gone.archive}"
    assert gone.notices == (f"paths left out of the archive: 1; {look} names them",)


def test_of_a_newer_versions_instance_down_removes_nothing_at_all(
    host: Host, mercury: Ready
) -> None:
    paths = host.paths(NAME)
    known = paths.record.read_text(encoding="utf-8")
    paths.record.write_text(known.replace('"schema": 1', '"schema": 2'), encoding="utf-8")
    theirs = paths.state / "archive-of-theirs"
    theirs.mkdir()
    with pytest.raises(NewerRecord):
        down(host, NAME)
    assert theirs.is_dir()
    assert host.observe(NAME).container is not None


def test_up_goes_on_with_a_restore_that_was_killed_before_it_had_a_workspace(
    host: Host, mercury: Ready
) -> None:
    (mercury.workspace / "work").write_text("work\n", encoding="utf-8")
    record = load_record(host.paths(NAME).record)
    reference = f"{NAME}/{down(host, NAME).archive}"
    host.paths(NAME).state.mkdir()
    save_record(host.paths(NAME).record, replace(record, restoring=reference), host.owner)
    assert (up(host, NAME, Wish()).workspace / "work").read_text(encoding="utf-8") == "work\n"


def test_ownership_only_in_memory_hazard_a_record_deleted_by_hand_costs_no_work(
    host: Host, mercury: Ready
) -> None:
    host.paths(NAME).record.unlink()
    (mercury.workspace / "work").write_text("work\n", encoding="utf-8")
    with pytest.raises(CspaceError, match="missing") as refused:
        up(host, NAME, Wish())
    assert refused.value.hint == f"cspace down {NAME}"
    assert stop(host, NAME).changed
    assert down(host, NAME).archive is not None


def test_a_teardown_with_the_image_there_reads_no_settings(host: Host, mercury: Ready) -> None:
    def refuse() -> Blueprint:
        raise AssertionError("the settings were read")

    (mercury.workspace / "work").write_text("work\n", encoding="utf-8")
    assert down(replace(host, blueprint=refuse), NAME).archive is not None


def test_a_paused_instance_is_stopped_and_started(host: Host, mercury: Ready) -> None:
    proc.run("docker", "pause", mercury.container)
    assert host.observe(NAME).status is Status.UNHEALTHY
    assert stop(host, NAME).changed
    assert start(host, NAME).status is Status.RUNNING


def test_no_stop_for_it_hazard_a_container_run_by_hand_is_stopped_too_and_hinders_no_start(
    host: Host, mercury: Ready
) -> None:
    composition = f"cspace-{host.project.id}-{NAME}"
    proc.run(
        "docker", "compose", "--project-name", composition, "--file", host.paths(NAME).compose,
        "run", "--detach", "agent", "sleep", "600",
    )  # fmt: skip
    assert stop(host, NAME).changed
    assert not proc.run("docker", "ps", "--quiet", f"--filter=name={composition}").text
    assert start(host, NAME).status is Status.RUNNING


def test_a_stop_that_was_killed_has_ended_before_the_instance_is_said_to_run(
    host: Host, mercury: Ready
) -> None:
    host.paths(NAME).stopping.touch()
    assert not up(host, NAME, Wish()).reused
    assert up(host, NAME, Wish()).reused
    host.paths(NAME).stopping.touch()
    host.engine.remove_all(labels.of_instance(host.project.id, NAME))
    assert not up(host, NAME, Wish()).reused
    assert up(host, NAME, Wish()).reused


def test_a_name_that_nobody_has_leaves_nothing(host: Host) -> None:
    for act in (stop, down):
        with pytest.raises(NotFound):
            act(host, "venus")
    assert not host.user.exists()


@pytest.mark.parametrize("label", ["../..", ""])
def test_a_label_that_is_no_instances_name_names_none(host: Host, label: str) -> None:
    forged = labels.of_instance(host.project.id, label)
    words = [f"--label={key}={value}" for key, value in forged.items()]
    container = proc.run("docker", "create", *words, host.settings.base_image, "true").text
    try:
        assert host.engine.list_containers(labels.of_project(host.project.id))
        assert list_instances(host.engine, host.user, host.project.id) == ()
    finally:
        proc.run("docker", "rm", container)


def test_a_task_that_a_killed_call_left_does_not_go_on_beside_the_next(
    host: Host, mercury: Ready
) -> None:
    (mercury.workspace / "work").write_text("work\n", encoding="utf-8")
    (label,) = (f"{key}={value}" for key, value in labels.of_task(host.paths(NAME).state).items())
    left = ("run", "--detach", "--rm", "--network=none", "--entrypoint=sleep", f"--label={label}")
    proc.run("docker", *left, mercury.image, "600")
    assert down(host, NAME).archive is not None
    assert proc.run("docker", "ps", "--quiet", f"--filter=label={label}").text == ""


def test_work_that_another_engine_may_still_write_to_is_not_archived(
    host: Host, mercury: Ready
) -> None:
    host.engine.remove_all(labels.of_instance(host.project.id, NAME))
    record = load_record(host.paths(NAME).record)
    save_record(host.paths(NAME).record, replace(record, engine="another"), host.owner)
    assert host.observe(NAME).status is Status.DORMANT
    with pytest.raises(Conflict, match="another Docker engine"):
        down(host, NAME)
    assert mercury.workspace.is_dir()
    assert up(host, NAME, Wish()).notices == (MOVED,)
    assert down(host, NAME).archive is not None


def test_a_workspace_made_anew_on_another_engine_keeps_its_new_base(
    host: Host, mercury: Ready, repo: Path
) -> None:
    host.engine.remove_all(labels.of_instance(host.project.id, NAME))
    record = load_record(host.paths(NAME).record)
    save_record(host.paths(NAME).record, replace(record, engine="another"), host.owner)
    shutil.rmtree(mercury.workspace)
    git.git(repo, "commit", "--quiet", "--allow-empty", "--message", "Later")
    up(host, NAME, Wish())
    made = load_record(host.paths(NAME).record)
    assert made.base == git.resolve(repo, "HEAD") != record.base
    assert made.engine == host.engine.identify()


def test_starting_what_has_gone_makes_nothing_new(host: Host, mercury: Ready) -> None:
    down(host, NAME, discard=True)
    with pytest.raises(NotFound, match="has gone"):
        up(host, NAME, Wish(existing=True))
    assert not host.paths(NAME).state.exists()


def test_an_escape_that_an_agent_logs_does_not_move_the_cursor(mercury: Ready, repo: Path) -> None:
    script = r"printf 'plain\n\033[2Jcleared\n' >/proc/1/fd/1"
    proc.run("docker", "exec", mercury.container, "sh", "-c", script)
    assert b"\x1b[2J" in proc.run("docker", "logs", mercury.container).stdout
    shown = proc.run(sys.executable, "-m", "cspace.cli.app", "logs", NAME, cwd=repo).text
    assert "plain\n\\x1b[2Jcleared" in shown


def as_earlier(host: Host) -> None:
    """Make the container of an instance as a cspace did that kept transcripts in its directory."""
    stop(host, NAME)
    paths = host.paths(NAME)
    compose = yaml.safe_load(paths.compose.read_text(encoding="utf-8"))
    service = compose["services"]["agent"]
    del service["environment"]["CSPACE_FIREWALL"]
    service["volumes"] = [v for v in service["volumes"] if v["target"] != INSIDE.projects]
    paths.compose.write_text(yaml.safe_dump(compose), encoding="utf-8")
    shutil.rmtree(paths.sessions)
    memory = paths.claude / "projects/-workspace/memory"
    memory.mkdir(parents=True)
    for directory in (memory, *memory.parents[:2]):
        files.give(directory, host.owner)
    words = ("--project-name", compose["name"], "--file", paths.compose)
    proc.run("docker", "compose", *words, "up", "--detach", "--wait", "--force-recreate")


def test_transcripts_of_an_earlier_cspace_are_there_after_a_recreation_and_after_down(
    host: Host, mercury: Ready
) -> None:
    as_earlier(host)
    inside(mercury, "sh", "-c", f"cd {TRANSCRIPTS}; mkdir -p one/subagents; echo first >one.jsonl")
    inside(mercury, "sh", "-c", f"echo sub >{TRANSCRIPTS}/one/subagents/agent-1.jsonl")
    stop(host, NAME)
    assert "first" in inside(up(host, NAME, Wish()), "cat", f"{TRANSCRIPTS}/one.jsonl")
    sessions = host.paths(NAME).sessions / "-workspace"
    assert not (sessions / "one.jsonl").exists()
    again = up(host, NAME, Wish(recreate=True))
    assert "first" in inside(again, "cat", f"{TRANSCRIPTS}/one.jsonl")
    assert "MEMORY.md" in inside(again, "ls", f"{TRANSCRIPTS}/memory")
    assert (sessions / "one/subagents/agent-1.jsonl").read_text(encoding="utf-8") == "sub\n"
    assert not list((host.paths(NAME).claude / "projects").rglob("*.jsonl"))
    assert down(host, NAME).sessions == sessions.parent
    assert (sessions / "one.jsonl").read_text(encoding="utf-8") == "first\n"


@pytest.mark.parametrize("discarding", [False, True])
def test_transcripts_that_can_not_be_kept_stop_a_teardown_and_discard_says_so(
    host: Host, mercury: Ready, *, discarding: bool
) -> None:
    as_earlier(host)
    inside(mercury, "sh", "-c", f"echo first >{TRANSCRIPTS}/one.jsonl")
    sessions = host.paths(NAME).sessions
    sessions.write_text("in the way\n", encoding="utf-8")
    if discarding:
        (notice,) = down(host, NAME, discard=True).notices
        assert "can not be moved" in notice
        return
    with pytest.raises(CspaceError, match="can not be moved"):
        down(host, NAME)
    assert host.observe(NAME).status is Status.STOPPED
    sessions.unlink()
    assert down(host, NAME).sessions == sessions
    assert (sessions / "-workspace/one.jsonl").read_text(encoding="utf-8") == "first\n"


@pytest.mark.parametrize("discarding", [False, True])
def test_sessions_outlive_every_end_of_an_instance(
    host: Host, mercury: Ready, *, discarding: bool
) -> None:
    inside(mercury, "sh", "-c", f"echo first >{TRANSCRIPTS}/one.jsonl")
    kept = host.paths(NAME).sessions
    assert down(host, NAME, discard=discarding).sessions == kept
    again = up(host, NAME, Wish())
    assert inside(again, "cat", f"{TRANSCRIPTS}/one.jsonl").strip() == "first"
    inside(again, "rm", f"{TRANSCRIPTS}/one.jsonl")
    assert down(host, NAME, discard=discarding).sessions is None
    assert not kept.exists()


def test_several_instances_need_one_proof_that_the_engine_sees_these_files(host: Host) -> None:
    watched = ("--filter=event=create", "--filter=image=cspace-probe:empty", "--format={{json .}}")
    before = str(time.time())
    for name in ("mercury", "venus"):
        prove_file_system(host, name)
    said = proc.run("docker", "events", f"--since={before}", f"--until={time.time()}", *watched)
    assert said.text.count(str(host.user)) == 1
