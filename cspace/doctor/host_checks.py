"""What of this machine keeps instances from working, or soon will."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network
from pathlib import Path

from cspace import git, proc
from cspace.clock import Clock
from cspace.doctor.model import Diagnosis, Patient
from cspace.engine.inspection_model import Facts
from cspace.engine.model import AT_REST
from cspace.engine.subnets import INSTANCE_PREFIX, POOLS, find_free, list_routes
from cspace.errors import CommandFailed, CspaceError
from cspace.instance import labels

# Since this one a health check has a start_interval, without which readiness is seen late.
OLDEST_ENGINE = (25,)
# Since this one Compose hands start_interval on.
OLDEST_COMPOSE = (2, 24)
COMPOSE_SECONDS = 20.0
# Logins and TLS refuse a clock that is minutes wrong; git and make are confused by less.
CLOCK_TOLERANCE = timedelta(seconds=10)
# An image, and the layers while it is built.
ENGINE_NEEDS_BYTES = 3 * 2**30
INSTANCE_NEEDS_BYTES = 256 * 2**20
# Claude Code, an editor's server and a program that watches files have about this many together.
WATCHERS, WATCHES = 8, 16_384
# A batch that is usual.
SUBNETS = 16
_INOTIFY = Path("/proc/sys/fs/inotify")
_NUMBER = re.compile(r"\d+")


def check_versions(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare the engine and Compose with the oldest that instances work with."""
    try:
        engine = patient.engine.inspection.facts().version
    except CspaceError:
        return ()  # what is wrong with the engine is said of the engine
    return (*judge_engine(engine), *_check_compose())


def judge_engine(version: str) -> tuple[Diagnosis, ...]:
    """Judge an engine's version; one that is no number is a build of somebody's own."""
    if not _older(version, OLDEST_ENGINE):
        return ()
    problem = f"the Docker engine is {version}, and cspace needs {OLDEST_ENGINE[0]} or newer"
    return (Diagnosis("engine", problem, "upgrade it: https://docs.docker.com/engine/install/"),)


def _check_compose() -> tuple[Diagnosis, ...]:
    try:
        version = proc.run("docker", "compose", "version", "--short", timeout=COMPOSE_SECONDS).text
    except CommandFailed as error:
        problem = f"Docker Compose does not answer: {error}"
        return (Diagnosis("compose", problem, error.hint or "install Docker's compose plugin"),)
    return judge_compose(version)


def judge_compose(version: str) -> tuple[Diagnosis, ...]:
    """Judge what `docker compose version --short` says."""
    if not _older(version, OLDEST_COMPOSE):
        return ()
    oldest = ".".join(map(str, OLDEST_COMPOSE))
    problem = f"Docker Compose is {version}, and cspace needs {oldest} or newer"
    return (Diagnosis("compose", problem, "upgrade Docker's compose plugin"),)


def _older(version: str, oldest: tuple[int, ...]) -> bool:
    numbers = tuple(int(one) for one in _NUMBER.findall(version)[: len(oldest)])
    return bool(numbers) and numbers < oldest


def check_clock(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare the engine's time with ours: instances have the engine's."""
    before = patient.now()
    try:
        facts = patient.engine.inspection.facts()
    except CspaceError:
        return ()
    return judge_clock(facts, patient.now, patient.now() - before)


def judge_clock(facts: Facts, now: Clock, asked: timedelta) -> tuple[Diagnosis, ...]:
    """Judge an engine's time.

    Args:
        asked: how long it took to ask, within which the engine looked at its clock.
    """
    if facts.time is None:
        return ()
    wrong = abs(now() - facts.time)
    if wrong <= CLOCK_TOLERANCE + asked:
        return ()
    problem = f"the engine's clock and this machine's differ by {wrong.total_seconds():.0f} s"
    repair = "sudo systemctl restart systemd-timesyncd, on both; where the engine is in a virtual"
    return (Diagnosis("clock", problem, f"{repair} machine, restart that"),)


def check_disk(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare what is free where workspaces lie with what one instance takes."""
    place = next(each for each in (patient.user, *patient.user.parents) if each.is_dir())
    free = shutil.disk_usage(place).free
    return judge_disk(place, free, INSTANCE_NEEDS_BYTES + _project_bytes(patient.project.root))


def check_engine_disk(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare what is free where the engine keeps images with what a build takes."""
    try:
        root = patient.engine.inspection.facts().root
        free = shutil.disk_usage(root).free
    except (CspaceError, OSError):
        return ()  # the engine is silent, or on another machine
    if free >= ENGINE_NEEDS_BYTES:
        return ()
    problem = f"{root} has {_mebibytes(free)} MiB free; an image takes"
    repair = "cspace prune; docker builder prune; docker system df shows what takes room"
    return (Diagnosis("disk", f"{problem} {_mebibytes(ENGINE_NEEDS_BYTES)}", repair),)


def judge_disk(place: Path, free: int, instance: int) -> tuple[Diagnosis, ...]:
    """Judge the room for workspaces: there must be some for one more."""
    if free >= instance:
        return ()
    problem = f"{place} has {_mebibytes(free)} MiB free, and an instance of this project takes"
    return (Diagnosis("disk", f"{problem} {_mebibytes(instance)}", "cspace prune --dry-run"),)


def _mebibytes(count: int) -> int:
    return count // 2**20


def _project_bytes(root: Path) -> int:
    """Estimate a workspace of the project: its objects, and its files as they are checked out."""
    try:
        counted = git.count_objects(root)
        return counted + git.tree_bytes(root)
    except CspaceError:
        return 0


def check_subnets(patient: Patient) -> tuple[Diagnosis, ...]:
    """Count what is left for networks, up to where that is enough."""
    try:
        networks = patient.engine.networks.list()
    except CspaceError:
        return ()
    return judge_subnets([*list_routes(), *(one for each in networks for one in each.subnets)])


def judge_subnets(taken: Iterable[IPv4Network]) -> tuple[Diagnosis, ...]:
    """Judge what of our pools is not taken."""
    known, left = list(taken), 0
    while left < SUBNETS and (free := find_free(POOLS, known, INSTANCE_PREFIX)) is not None:
        known.append(free)
        left += 1
    if left == SUBNETS:
        return ()
    problem = f"{left} subnets are left in {' and '.join(map(str, POOLS))}: one for each instance"
    repair = "cspace prune; docker network ls shows what is there, docker network prune"
    return (Diagnosis("subnets", problem, f"{repair} removes what nobody uses"),)


@dataclass(frozen=True, slots=True)
class Watching:
    """What the kernel lets one user watch files with.

    Attributes:
        instances: inotify's own: one for each program that watches.
        watches: files and directories.
    """

    instances: int
    watches: int


def check_inotify(patient: Patient) -> tuple[Diagnosis, ...]:
    """Divide what this user may watch by the user's instances that run, of all projects."""
    try:
        found = patient.engine.list_containers({labels.INSTANCE: ""})
        limits = (_INOTIFY / f"max_user_{kind}" for kind in ("instances", "watches"))
        watching = Watching(*(int(path.read_text(encoding="ascii")) for path in limits))
    except (CspaceError, OSError, ValueError):
        return ()
    # The kernel counts by user: another one's instances take nothing of it.
    ours = f"{patient.user}/"
    running = (
        one.labels.get(labels.FOLDER, "").startswith(ours) and one.state not in AT_REST
        for one in found
    )
    return judge_inotify(watching, sum(running))


def judge_inotify(limits: Watching, running: int) -> tuple[Diagnosis, ...]:
    """Judge what is left for each instance, with one more than run now."""
    count = running + 1
    wanted = {
        "fs.inotify.max_user_instances": (limits.instances, WATCHERS * count),
        "fs.inotify.max_user_watches": (limits.watches, WATCHES * count),
    }
    return tuple(
        Diagnosis(
            "inotify",
            f"{key} is {limit}: {limit // count} for each of {count} instances",
            f"sudo sysctl {key}={_next_power(need)}; to keep it: echo {key}={_next_power(need)}"
            " | sudo tee -a /etc/sysctl.d/60-cspace.conf",
        )
        for key, (limit, need) in wanted.items()
        if limit < need
    )


def _next_power(number: int) -> int:
    """Return a power of two with room for as many again."""
    return 1 << (2 * number - 1).bit_length()
