"""Brings an instance up: observe, plan, apply."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cspace import files
from cspace.engine.model import AT_REST, Container, Port
from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.instance import labels
from cspace.instance.names import check_name, next_name
from cspace.instance.observe import Observed, Status, get_instance, list_instances
from cspace.instance.plan import Action, Lacks, Planned, Step, keeps_container, plan_up
from cspace.instance.workspace import plan_start
from cspace.lifecycle import steps
from cspace.lifecycle.egress import ensure_proxy, lacks_proxy
from cspace.lifecycle.host import Host
from cspace.lifecycle.images import ensure_image
from cspace.lifecycle.networks import (
    ensure_network,
    find_network,
    is_firewalled,
    is_stranded,
    lacks_network,
    list_networks,
)
from cspace.lifecycle.release import release_proxy
from cspace.lifecycle.seal import ensure_seal
from cspace.migration.volumes import MIGRATE, find_forgotten
from cspace.quarantine.shelf import Quarantined, sweep

STRANDED = "its network was gone, so its container was made anew; the workspace stayed"
MOVED = "another Docker engine ran it before: remove the container there, it shares the workspace"


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of an instance beside its name.

    Attributes:
        branch: the branch of a new workspace; None is `cspace/<name>`.
        recreate: make the container anew; the workspace stays.
        restoring: the archive that a new workspace is filled from.
        existing: make no new instance.
    """

    branch: str | None = None
    recreate: bool = False
    restoring: str | None = None
    existing: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """An instance that is ready.

    Attributes:
        reused: it ran already, and nothing was done to it but to its way out.
        notices: what a person should know, one sentence each.
        quarantined: what was moved aside before; each was reported when it was.
        seconds: how long it took.
    """

    name: str
    status: Status
    reused: bool
    container: str
    image: str
    branch: str
    workspace: Path
    ports: tuple[Port, ...]
    notices: tuple[str, ...]
    quarantined: tuple[Quarantined, ...]
    seconds: float


def free_names(host: Host, count: int) -> tuple[str, ...]:
    """Return the next names that no instance of the project has."""
    taken = {each.name for each in list_instances(host.engine, host.user, host.project.id)}
    free: list[str] = []
    for _ in range(count):
        free.append(next_name(taken.union(free)))
    return tuple(free)


def claim_names(host: Host, count: int) -> tuple[str, ...]:
    """Take the next free names: their state directories exist when this returns."""
    with host.locked_project():
        names = free_names(host, count)
        for name in names:
            _make_state(host, name)
    return names


@contextlib.contextmanager
def claimed_names(host: Host, names: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    """Give the names that a person chose, or else take free ones until they are begun."""
    if names:
        yield tuple(dict.fromkeys(names))
        return
    free = claim_names(host, count)
    try:
        yield free
    finally:
        _forget_empty(host, *free)


def _claim(host: Host, name: str) -> None:
    """Take a name that a person chose, so that nobody else is given it meanwhile."""
    with host.locked_project():
        _make_state(host, name)


def _make_state(host: Host, name: str) -> None:
    files.ensure_directory(host.paths(name).state, owner=host.owner, mode=0o700)


def plan(host: Host, name: str, wish: Wish) -> Planned:
    """Plan an `up` without doing any of it; what it would refuse at once is refused here too."""
    observed = host.observe(check_name(name))
    planned = _plan(host, observed, _settled(host, observed, wish))
    if any(step.action is Action.WORKSPACE for step in planned):
        plan_start(host.project, name, wish.branch)
    return Planned(name, planned)


def _resumed(observed: Observed, wish: Wish) -> Wish:
    """Go on with a restore that was killed, unless another one is asked for."""
    if wish.restoring is not None or observed.record is None:
        return wish
    return replace(wish, restoring=observed.record.restoring)


def _plan(host: Host, observed: Observed, wish: Wish) -> tuple[Step, ...]:
    _check(observed, wish)
    internal = _is_internal(host, observed, wish)
    network = find_network(list_networks(host), host, observed.name)
    lacks = Lacks(
        network=lacks_network(network, internal=internal),
        proxy=lacks_proxy(host, network) if internal else "",
        gate=_lacks_gate(host, observed.name),
    )
    return plan_up(
        observed,
        has_image=host.engine.has_image(host.image.tag),
        recreate=wish.recreate,
        restoring=wish.restoring is not None,
        lacks=lacks,
    )


def _lacks_gate(host: Host, name: str) -> str:
    gates = host.engine.list_containers(labels.of_gate(host.project.id, name))
    return "its gate does not run" if any(gate.state in AT_REST for gate in gates) else ""


def _is_internal(host: Host, observed: Observed, wish: Wish) -> bool:
    """Tell whether the network has no way out: a container that is kept stays as it was made."""
    container = observed.container
    if container is not None and keeps_container(observed, recreate=wish.recreate):
        return is_firewalled(container)
    return host.settings.firewall.enabled


def _settled(host: Host, observed: Observed, wish: Wish) -> Wish:
    """Say what is wished where a restore was killed, or where a container can not be started."""
    wish = _resumed(observed, wish)
    container = observed.container
    if container is None or container.state not in AT_REST:
        return wish
    there = list_networks(host)
    # The gate's too: the proxy's network may be gone.
    every = host.engine.list_containers(labels.of_instance(host.project.id, observed.name))
    return replace(wish, recreate=wish.recreate or any(is_stranded(each, there) for each in every))


def up(host: Host, name: str, wish: Wish) -> Ready:
    """Bring one instance up, or say that it is up; repairs what an interrupted `up` left.

    Raises:
        CspaceError: a step failed; what stands then is taken up by the next `up`.
    """
    started = time.monotonic()
    check_name(name)
    if not wish.existing:
        _claim(host, name)
    with host.locked(name), _forgotten_if_empty(host, name):
        quarantined = sweep(host.project.root, host.owner, host.report, now=host.now)
        host.recorder.record()  # before a missing file is seeded anew
        before = host.observe(name)
        settled = _settled(host, before, wish)
        stranded, wish = settled.recreate and not wish.recreate, settled
        moved = steps.runs_elsewhere(host, before)
        planned = _plan(host, before, wish)
        reused = not any(step.action is Action.MOUNTS for step in planned)
        internal = _is_internal(host, before, wish)
        steps.clear_debris(host, name)
        for step in planned:
            with host.phase(name, step.action, step.cause):
                _apply(host, name, step, wish, internal=internal)
        if reused:
            steps.rotate_secrets(host, name)
            ensure_seal(host, name)
        observed = host.observe(name)
        if moved and observed.record is not None:
            # The record as it is now: a workspace that was made anew has a new one.
            steps.adopt_engine(host, name, observed.record)
    if observed.container is None or observed.record is None:
        raise CspaceError(f"{name} vanished while it was brought up", hint=f"cspace up {name}")
    notices: tuple[str, ...] = (MOVED,) if moved else ()
    notices += (STRANDED,) if stranded else ()
    if before.container is not None and not wish.recreate:
        notices += _notices(host, name, observed.container)
    forgotten = find_forgotten(host.engine, host.project.root)
    if forgotten is not None:
        notices += (f"volume {forgotten} may hold this project's old memories: {MIGRATE}",)
    return Ready(
        name=name,
        status=observed.status,
        reused=reused,
        container=observed.container.name,
        image=observed.container.image,
        branch=observed.record.branch,
        workspace=host.paths(name).workspace,
        ports=observed.container.ports,
        notices=notices,
        quarantined=quarantined,
        seconds=time.monotonic() - started,
    )


@contextlib.contextmanager
def _forgotten_if_empty(host: Host, name: str) -> Iterator[None]:
    """Let a failure before the workspace leave nothing: a claimed name is free again."""
    try:
        yield
    except BaseException:
        _forget_empty(host, name)
        raise


def _forget_empty(host: Host, *names: str) -> None:
    """Free claimed names that nothing was made for, and what only they kept."""
    freed = []
    for name in names:
        with contextlib.suppress(OSError):
            host.paths(name).state.rmdir()
            freed.append(name)
    if freed:
        with contextlib.suppress(CspaceError, OSError):
            release_proxy(host, freed[0])


def start(host: Host, name: str) -> Ready:
    """Start an instance that exists.

    Raises:
        NotFound: there is none of that name.
    """
    get_instance(host.engine, host.user, host.project.id, check_name(name))
    return up(host, name, Wish(existing=True))


def _check(observed: Observed, wish: Wish) -> None:
    if observed.problem is not None:
        raise observed.problem
    if wish.existing and not observed.exists:
        raise NotFound(f"instance {observed.name} has gone", hint=f"cspace up {observed.name}")
    if not observed.has_workspace or observed.record is None:
        return
    if wish.restoring is not None and observed.record.restoring != wish.restoring:
        raise Conflict(
            f"instance {observed.name} exists, so nothing can be restored into it",
            hint=f"cspace down {observed.name}, or restore under another name with --as",
        )
    if wish.branch not in (None, observed.record.branch):
        raise UsageError(
            f"instance {observed.name} exists and was made on branch {observed.record.branch},"
            f" not on {wish.branch}",
            hint=f"switch inside, with --create to a new one:"
            f" cspace exec {observed.name} -- git switch {shlex.quote(wish.branch or '')}",
        )


def _apply(host: Host, name: str, step: Step, wish: Wish, *, internal: bool) -> None:
    match step.action:
        case Action.PROVE:
            steps.prove_file_system(host, name)
        case Action.IMAGE:
            ensure_image(host, name)
        case Action.WORKSPACE:
            steps.make_workspace(host, name, wish.branch, wish.restoring)
        case Action.UNPACK:
            steps.unpack_archive(host, host.observe(name))
        case Action.MOUNTS:
            steps.ensure_mounts(host, name)
        case Action.COMPOSE:
            steps.write_compose(host, name)
        case _:
            _turn(host, name, step.action, internal=internal)


def _turn(host: Host, name: str, action: Action, *, internal: bool) -> None:
    match action:
        case Action.STOP:
            steps.stop(host, name)
        case Action.NETWORK:
            ensure_network(host, name, internal=internal)
        case Action.EGRESS:
            ensure_proxy(host, name)
        case Action.START | Action.RECREATE:
            steps.start(host, name, recreate=action is Action.RECREATE)
            ensure_seal(host, name)
            steps.wait(host, name)
        case _:
            raise AssertionError(f"{action} is not a step of up")


def _notices(host: Host, name: str, container: Container) -> tuple[str, ...]:
    if container.labels.get(labels.SPEC) == steps.render(host, name).digest:
        return ()
    notice = (
        f"{name} runs with earlier settings or an earlier image; to apply the present ones"
        f" (the workspace stays, the container starts afresh): cspace up {name} --recreate"
    )
    return (notice,)
