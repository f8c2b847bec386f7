"""An instance, and the containers that cspace itself runs for a moment, as the engine has them."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cspace.instance.labels import TASK
from tests.conftest import OUTSIDE
from tests.e2e.conftest import NewPerson
from tests.e2e.person import Person, docker

pytestmark = [pytest.mark.docker, pytest.mark.e2e]

HOME = "/home/dev"
WRITABLE = {
    "/workspace",
    f"{HOME}/.claude",
    f"{HOME}/.claude/projects",
    f"{HOME}/.claude/projects/-workspace/memory",
    *(f"{HOME}/.cspace/context/{kind}" for kind in ("decisions", "discoveries", "findings")),
    f"{HOME}/.cspace/journal",
    f"{HOME}/.cspace/outbox",
}
READ_ONLY = {f"{HOME}/.cspace/context", "/run/secrets"}
SECRET = "task-marker-six"
# The program of the container that shows us what the engine sees.
PROBE = "never-started"
# Of every process: who it is, what it may do, and whether it may ever do more.
PROCESSES = "for each in /proc/[0-9]*; do cat $each/status; done"
MOUNTS = """
while read -r _ _ _ _ place _; do
    [ -d "$place" ] && touch "$place/probe" 2>/dev/null || continue
    rm "$place/probe"
    echo "$place"
done </proc/self/mountinfo
"""


class Tasks(threading.Thread):
    """Asks the engine again and again for containers of a label, and keeps what it says of each."""

    def __init__(self, label: str) -> None:
        super().__init__(daemon=True)
        self.label = label
        self.ended = threading.Event()
        self.seen: dict[str, dict[str, Any]] = {}

    def run(self) -> None:
        listing = ("docker", "ps", "--all", "--quiet", "--no-trunc", f"--filter=label={self.label}")
        while not self.ended.is_set():
            found = _ask(*listing).split()
            for one in json.loads(_ask("docker", "inspect", *found) or "[]") if found else ():
                self.seen[one["Id"]] = one


def task(person: Person) -> str:
    """Return the label of what works for an instance for a moment."""
    return f"{TASK}={person.state('mercury').state}"


def _ask(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, env=OUTSIDE, check=False).stdout


@contextmanager
def watched(label: str) -> Iterator[dict[str, dict[str, Any]]]:
    watch = Tasks(label)
    watch.start()
    try:
        yield watch.seen
    finally:
        watch.ended.set()
        watch.join()


@pytest.fixture(scope="module")
def person(new: NewPerson) -> Iterator[Person]:
    with new() as one:
        ours = one.having(GH_TOKEN=SECRET)
        ours.cspace("up", "mercury")
        yield ours


def test_sudo_and_net_admin_hazard_no_process_has_a_capability_or_may_gain_one(
    person: Person,
) -> None:
    status = person.inside("mercury", "sh", "-c", PROCESSES)
    values: dict[str, set[str]] = {}
    for line in status.splitlines():
        key, _, value = line.partition(":")
        values.setdefault(key, set()).add(" ".join(value.split()))
    for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert values[key] == {"0" * 16}, key
    assert values["NoNewPrivs"] == {"1"}
    assert values["Seccomp"] == {"2"}
    uids = {uid for line in values["Uid"] for uid in line.split()}
    assert len(uids) == 1
    assert uids.isdisjoint({"0"})
    assert "0" not in {group for line in values["Groups"] for group in line.split()}


def test_an_instance_is_not_let_near_the_host(person: Person) -> None:
    (found,) = json.loads(docker("inspect", person.container("mercury")))
    host = found["HostConfig"]
    assert host["Privileged"] is False
    assert host["CapDrop"] == ["ALL"]
    assert host["PidsLimit"] == 4096
    assert not host["Devices"]
    assert not host["DeviceCgroupRules"]
    assert not host["DeviceRequests"]
    assert (host["PidMode"], host["UTSMode"], host["UsernsMode"]) == ("", "", "")
    assert host["IpcMode"] == "private"
    assert list(found["NetworkSettings"]["Networks"]) == [f"cspace-{person.id}-mercury"]
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert person.inside("mercury", "find", "/dev", "-type", "b") == ""
    sockets = person.inside("mercury", "sh", "-c", "find / -xdev -type s 2>/dev/null; true")
    assert sockets == ""


def test_the_docker_socket_hazard_only_documented_directories_are_mounted_and_writable(
    person: Person,
) -> None:
    (found,) = json.loads(docker("inspect", person.container("mercury")))
    binds = {mount["Type"] for mount in found["Mounts"]}
    assert binds == {"bind"}
    roots = (person.repo, person.home)
    for mount in found["Mounts"]:
        assert any(mount["Source"].startswith(f"{root}/") for root in roots), mount
    writable = set(person.inside("mercury", "sh", "-c", MOUNTS).split())
    own = {place for place in writable if place.startswith("/dev/") or place == "/run/cspace"}
    assert writable - own - {"/"} == WRITABLE
    mounted = person.inside("mercury", "cat", "/proc/self/mountinfo")
    assert "docker.sock" not in mounted
    places = {line.split()[4]: line.split()[5] for line in mounted.splitlines()}
    assert {place: places[place].split(",")[0] for place in READ_ONLY} == dict.fromkeys(
        READ_ONLY, "ro"
    )


def test_what_seals_a_network_may_do_that_and_nothing_else(person: Person) -> None:
    with watched(task(person)) as seen:
        person.cspace("up", "mercury")
    (found,) = (each for each in seen.values() if each["Path"] == "nft")
    host = found["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert [each.removeprefix("CAP_") for each in host["CapAdd"]] == ["NET_ADMIN"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert (host["Privileged"], host["ReadonlyRootfs"], host["PidsLimit"]) == (False, True, 16)
    assert (found["Mounts"], SECRET in json.dumps(found)) == ([], False)


def test_what_packs_and_unpacks_work_has_no_network_no_secret_and_limits(person: Person) -> None:
    with watched(task(person)) as seen:
        person.cspace("down", "mercury")
        packing = set(seen)
        person.cspace("restore", "mercury")
    others = (PROBE, "nft")
    working = {each: found for each, found in seen.items() if found["Path"] not in others}
    assert packing
    assert set(working) > packing
    for each, found in working.items():
        host = found["HostConfig"]
        assert host["NetworkMode"] == "none"
        assert host["CapDrop"] == ["ALL"]
        assert host["SecurityOpt"] == ["no-new-privileges"]
        assert (host["Privileged"], host["PidsLimit"], host["OomScoreAdj"]) == (False, 1024, 1000)
        assert found["Config"]["User"].partition(":")[0] not in ("", "0")
        assert SECRET not in json.dumps(found)
        mounts = {mount["Destination"]: mount["RW"] for mount in found["Mounts"]}
        assert mounts == {"/workspace": each not in packing, "/exchange": True}
