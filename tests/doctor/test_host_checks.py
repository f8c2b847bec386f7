"""Each check of the machine can fail, and says what repairs it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from cspace import git
from cspace.doctor import host_checks
from cspace.doctor.host_checks import Watching
from cspace.doctor.model import Patient
from cspace.engine.inspection_model import Facts
from cspace.engine.subnets import POOLS
from tests.conftest import CHECKOUT, Clock, EngineAnswer

MIB = 2**20


@pytest.mark.parametrize(
    ("version", "named"),
    [("24.0.9", 1), ("25.0.0", 0), ("26.1.5+dfsg1", 0), ("dev", 0), ("9", 1)],
)
def test_an_engine_that_is_too_old_is_named(version: str, named: int) -> None:
    assert len(host_checks.judge_engine(version)) == named


@pytest.mark.parametrize(
    ("version", "named"),
    [("2.23.3", 1), ("v2.24.0", 0), ("2.26.1-4", 0), ("1.29.2", 1), ("5.0", 0), ("dev", 0)],
)
def test_a_compose_that_is_too_old_is_named(version: str, named: int) -> None:
    assert len(host_checks.judge_compose(version)) == named


def test_what_the_bootstrap_installs_is_what_a_doctor_wants() -> None:
    script = (CHECKOUT / "lib/bootstrap/engine.sh").read_text(encoding="utf-8")
    oldest = dict(re.findall(r"^readonly OLDEST_(\w+)=([0-9.]+)", script, re.MULTILINE))
    assert oldest["ENGINE"] == str(host_checks.OLDEST_ENGINE[0])
    assert oldest["COMPOSE"] == ".".join(map(str, host_checks.OLDEST_COMPOSE))


@pytest.mark.parametrize(("seconds", "named"), [(0, 0), (9, 0), (-9, 0), (60, 1), (-3600, 1)])
def test_a_clock_that_is_wrong_is_named(clock: Clock, seconds: int, named: int) -> None:
    facts = Facts("26.0", Path("/"), clock.now + timedelta(seconds=seconds))
    found = host_checks.judge_clock(facts, clock, timedelta())
    assert len(found) == named
    assert all(f"differ by {abs(seconds)} s" in one.problem for one in found)


def test_a_slow_engine_is_no_wrong_clock(clock: Clock) -> None:
    facts = Facts("26.0", Path("/"), clock.now - timedelta(seconds=30))
    assert host_checks.judge_clock(facts, clock, timedelta(seconds=25)) == ()
    assert host_checks.judge_clock(replace(facts, time=None), clock, timedelta()) == ()


def test_room_is_judged_by_what_one_instance_takes() -> None:
    (found,) = host_checks.judge_disk(Path("/home"), 100 * MIB, 300 * MIB)
    assert found.problem.startswith("/home has 100 MiB free, and an instance of this project takes")
    assert found.repair == "cspace prune --dry-run"
    assert host_checks.judge_disk(Path("/home"), 300 * MIB, 300 * MIB) == ()


def test_what_a_project_takes_is_counted(repo: Path) -> None:
    (repo / "large").write_bytes(bytes(range(256)) * 4096)
    git.git(repo, "add", "large")
    before = git.tree_bytes(repo)
    git.git(repo, "commit", "--quiet", "-m", "Large")
    assert git.tree_bytes(repo) - before == 256 * 4096
    assert git.count_objects(repo) > 4096


def test_a_repository_without_a_commit_has_no_tree(tmp_path: Path) -> None:
    git.git(tmp_path, "init", "--quiet")
    assert git.tree_bytes(tmp_path) == 0


def test_inotify_limits_hazard_watchers_are_divided_by_the_instances() -> None:
    enough = Watching(instances=1024, watches=1 << 20)
    assert host_checks.judge_inotify(enough, 7) == ()
    (found,) = host_checks.judge_inotify(replace(enough, instances=128), 19)
    assert found.problem == "fs.inotify.max_user_instances is 128: 6 for each of 20 instances"
    assert found.repair.startswith("sudo sysctl fs.inotify.max_user_instances=512; ")


@pytest.mark.parametrize("running", [0, 1, 7, 31, 39, 100])
def test_the_named_number_of_watchers_is_enough_for_as_many_again(running: int) -> None:
    numbers = {}
    for one in host_checks.judge_inotify(Watching(1, 1), running):
        key, number = re.findall(r"sysctl ([a-z._]+)=(\d+)", one.repair)[0]
        numbers[key.rpartition("_")[2]] = int(number)
    assert set(numbers) == {"instances", "watches"}
    assert host_checks.judge_inotify(Watching(**numbers), running * 2) == ()


def test_subnets_that_are_used_up_are_named() -> None:
    first, *others = POOLS
    assert host_checks.judge_subnets([first]) == ()
    halves = [half for pool in others for half in pool.subnets(prefixlen_diff=1)]
    last = halves.pop()
    *most, _ = last.subnets(new_prefix=26)
    (found,) = host_checks.judge_subnets([first, *halves, *most])
    assert found.problem.startswith("4 subnets are left in ")
    (found,) = host_checks.judge_subnets([IPv4Network("0.0.0.0/0")])
    assert found.problem.startswith("0 subnets are left in ")


@pytest.mark.docker
def test_of_a_machine_in_order_nothing_is_named(
    patient: Patient, engine_answer: EngineAnswer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine_answer.host)
    facts = patient.engine.inspection.facts()
    assert facts.time is not None
    assert host_checks.judge_engine(facts.version) == ()
    asked = (host_checks.check_versions, host_checks.check_clock, host_checks.check_subnets)
    assert [one for check in asked for one in check(patient)] == []
    ahead = replace(patient, now=lambda: patient.now() + timedelta(minutes=5))
    (found,) = host_checks.check_clock(ahead)
    assert found.check == "clock"
