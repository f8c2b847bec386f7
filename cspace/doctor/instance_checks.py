"""What is wrong with one instance, seen from the host and from inside.

What a container answers is an agent's text: it can make its own instance look well or ill, and
nothing else.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cspace.doctor.answer import Answer, Place, parse_answer
from cspace.doctor.model import Diagnosis, Patient
from cspace.engine.model import AT_REST, Mount, State
from cspace.errors import CspaceError
from cspace.files import Owner, may_write
from cspace.instance import labels
from cspace.instance.compose import instance_mounts
from cspace.instance.curated import mounted_scopes
from cspace.instance.models import mounted_models
from cspace.instance.observe import Observed
from cspace.instance.secret_sources import GITHUB_TOKEN, Source
from cspace.instance.secrets import is_delivered, list_delivered
from cspace.paths import INSIDE, InstancePaths, instance_paths

PROBE = (INSIDE.python, "-I", "-m", "cspace.doctor.inside")
# Longer than the probe's own patience, so that a slow one still answers.
PROBE_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Subject:
    """One instance that is examined.

    Attributes:
        owner: who its files on the host should belong to.
        spec: the hash of what it should be by the present settings; None where these are broken.
    """

    patient: Patient
    observed: Observed
    owner: Owner
    spec: str | None

    @property
    def name(self) -> str:
        return self.observed.name

    @property
    def paths(self) -> InstancePaths:
        return instance_paths(self.patient.user, self.patient.project.id, self.name)

    @property
    def mounts(self) -> tuple[Mount, ...]:
        container = self.observed.container
        scopes, models = mounted_scopes(container), mounted_models(container)
        return instance_mounts(self.patient.project.root, self.paths, scopes, models)

    @property
    def anew(self) -> str:
        """The command that makes the container anew, which keeps the workspace."""
        return f"cspace up {self.name} --recreate"

    @property
    def again(self) -> str:
        """The command after which the entrypoint has run once more."""
        return f"cspace stop {self.name} && cspace start {self.name}"


InstanceCheck = Callable[[Subject], tuple[Diagnosis, ...]]
InsideCheck = Callable[[Subject, Answer], tuple[Diagnosis, ...]]


def check_running(subject: Subject) -> tuple[Diagnosis, ...]:
    """Look at what the engine says of the container."""
    name, container = subject.name, subject.observed.container
    if container is None:
        problem = f"{name} has no container: it is {subject.observed.status}"
        return (Diagnosis("instance", problem, f"cspace up {name}"),)
    if container.state in AT_REST:
        problem = f"{name} does not run, so nothing was looked at inside"
        return (Diagnosis("instance", problem, f"cspace start {name}"),)
    if container.state is not State.RUNNING:
        problem = f"{name} is {container.state}"
        return (Diagnosis("instance", problem, f"cspace logs {name}; then: {subject.anew}"),)
    return ()


def check_spec(subject: Subject) -> tuple[Diagnosis, ...]:
    """Compare what the container was made from with the present settings and image."""
    container = subject.observed.container
    if container is None or subject.spec in (None, container.labels.get(labels.SPEC)):
        return ()
    problem = f"{subject.name} runs with earlier settings or an earlier image"
    return (Diagnosis("settings", problem, subject.anew),)


def check_sources(subject: Subject) -> tuple[Diagnosis, ...]:
    """Look at the directories of the host that the instance mounts."""
    return tuple(
        found
        for mount in subject.mounts
        for found in _judge_source(subject, mount.source, read_only=mount.read_only)
    )


def _judge_source(subject: Subject, path: Path, *, read_only: bool) -> tuple[Diagnosis, ...]:
    owner = subject.owner
    try:
        found = path.stat(follow_symlinks=False)
    except OSError as error:
        problem = f"{path} can not be mounted: {error.strerror}"
        return (Diagnosis("mounts", problem, subject.anew),)
    if read_only or may_write(found, owner):
        return ()
    problem = f"{path} belongs to uid {found.st_uid}, and {subject.name}'s user has {owner.uid}"
    repair = f"sudo chown -R {owner.uid}:{owner.gid} {shlex.quote(str(path))}"
    return (Diagnosis("mounts", problem, repair),)


def check_delivered(subject: Subject) -> tuple[Diagnosis, ...]:
    """Compare the files that secrets come from with what was delivered."""
    given = {one.name: one for one in list_delivered(subject.paths.secrets)}
    try:
        found = subject.patient.secrets().found
    except (CspaceError, OSError):
        return ()  # said of the sources
    stale = [
        secret.name
        for secret in found
        if secret.source in (Source.PROJECT, Source.USER)
        and not (secret.name in given and given[secret.name].source is Source.FLAG)
        and not is_delivered(subject.paths.secrets, secret)
    ]
    if not stale:
        return ()
    problem = f"{subject.name} does not have the present value of {', '.join(stale)}"
    return (Diagnosis("credentials", problem, f"cspace up {subject.name}"),)


FROM_OUTSIDE: tuple[InstanceCheck, ...] = (
    check_running,
    check_spec,
    check_sources,
    check_delivered,
)


def check_places(subject: Subject, answer: Answer) -> tuple[Diagnosis, ...]:
    """Look at each mount as the instance sees it."""
    return tuple(
        Diagnosis("mounts", f"{subject.name}: {mount.target} {wrong}", subject.anew)
        for mount in subject.mounts
        for wrong in _judge_place(mount, answer.places.get(mount.target), answer.uid)
    )


def _judge_place(mount: Mount, place: Place | None, uid: int) -> tuple[str, ...]:
    if place is None:
        return ("is not there, or can not be entered",)
    if not place.mounted:
        return ("is not the mounted directory",)
    if mount.read_only and place.writable:
        return ("can be written to, and must not be",)
    if not mount.read_only and not place.writable:
        return (f"belongs to uid {place.uid}, and its user {uid} can not write to it",)
    return ()


def check_identity(subject: Subject, answer: Answer) -> tuple[Diagnosis, ...]:
    """Look whether the instance's git knows who commits."""
    missing = [
        f"user.{key}"
        for key, value in (("name", answer.name), ("email", answer.email))
        if not value
    ]
    if not missing:
        return ()
    problem = f"git in {subject.name} has no {' and no '.join(missing)}: commits fail there"
    settings = "; ".join(f"git config --global {key} …" for key in missing)
    return (Diagnosis("git", problem, f"{settings}; then: {subject.anew}"),)


def check_server(subject: Subject, answer: Answer) -> tuple[Diagnosis, ...]:
    """Look whether the context server answers there as it is registered."""
    if answer.server_problem is None:
        return ()
    how = f"{answer.server!r} " if answer.server else ""
    problem = f"the context server of {subject.name} {how}{answer.server_problem}"
    repair = (
        f"cspace exec {subject.name} -- claude mcp remove --scope user cspace-context;"
        f" {subject.again}; and look at {INSIDE.workspace}/.mcp.json there"
    )
    return (Diagnosis("context-server", problem, repair),)


def check_use(subject: Subject, answer: Answer) -> tuple[Diagnosis, ...]:
    """Look whether git and Claude Code there ask for what was delivered."""
    given = {one.name for one in list_delivered(subject.paths.secrets)}
    asked = {
        GITHUB_TOKEN: ("git", answer.git_helper),
        "anthropic_api_key": ("Claude Code", answer.key_helper),
    }
    return tuple(
        Diagnosis(
            "credentials",
            f"{subject.name} has {name}, and {program} there does not ask for it",
            subject.again,
        )
        for name, (program, asks) in asked.items()
        if name in given and not asks
    )


FROM_INSIDE: tuple[InsideCheck, ...] = (check_places, check_identity, check_server, check_use)


def examine_outside(subject: Subject) -> tuple[Diagnosis, ...]:
    """Run every check that needs nothing of what runs in the instance."""
    return tuple(found for check in FROM_OUTSIDE for found in check(subject))


def examine_inside(subject: Subject) -> tuple[Diagnosis, ...]:
    """Ask an instance that runs, in one call, and judge what it says."""
    container = subject.observed.container
    if container is None or container.state in AT_REST:
        return ()
    words = (*PROBE, *(mount.target for mount in subject.mounts))
    try:
        asked = subject.patient.engine.inspection.ask(container.id, words, timeout=PROBE_SECONDS)
        answer = parse_answer(asked.stdout)
    except CspaceError as error:
        problem = f"{subject.name} could not be looked at inside: {error}"
        return (Diagnosis("inside", problem, subject.anew),)
    return tuple(found for check in FROM_INSIDE for found in check(subject, answer))
