"""Plans, as data: what `up` and `down` would do, in order, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from cspace.engine.model import AT_REST
from cspace.instance.observe import Observed, Status


class Action(StrEnum):
    """One external step."""

    PROVE = "prove"
    IMAGE = "image"
    WORKSPACE = "workspace"
    UNPACK = "unpack"
    MOUNTS = "mounts"
    COMPOSE = "compose"
    NETWORK = "network"
    EGRESS = "egress"
    START = "start"
    RECREATE = "recreate"
    STOP = "stop"
    ARCHIVE = "archive"
    CONTAINERS = "containers"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Step:
    """An action and its cause, in words for a person."""

    action: Action
    cause: str


@dataclass(frozen=True, slots=True)
class Planned:
    """What would be done for one instance."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Lacks:
    """Why network, proxy or gate of an instance have to be seen to; "" where that is not so."""

    network: str = ""
    proxy: str = ""
    gate: str = ""


def keeps_container(observed: Observed, *, recreate: bool) -> bool:
    """Tell whether the container that exists is started as it is."""
    # One that is left over from another workspace would go on with that one.
    whole = observed.record is not None and observed.has_workspace
    return observed.container is not None and whole and not recreate


def plan_up(
    observed: Observed,
    *,
    has_image: bool,
    recreate: bool = False,
    restoring: bool = False,
    lacks: Lacks = Lacks(),
) -> tuple[Step, ...]:
    """Plan what brings an instance up; only its way out is repaired when it runs already.

    A container that exists is started as it is: only `recreate` makes it anew.

    Args:
        restoring: a new workspace is to be filled from an archive.
        lacks: what a running instance may lack too.
    """
    if observed.status is Status.RUNNING and not (recreate or observed.stopping):
        started = (Step(Action.START, lacks.gate),) if lacks.gate else ()
        return (*_plan_way_out(lacks), *started)
    steps = [Step(Action.PROVE, "the engine must see the directories that are mounted")]
    whole = observed.record is not None and observed.has_workspace
    makes_container = not keeps_container(observed, recreate=recreate)
    if observed.record is not None:
        restoring = observed.record.restoring is not None or (restoring and not whole)
    if not has_image and (makes_container or restoring):
        steps.append(Step(Action.IMAGE, "no image with this content exists"))
    if not whole:
        steps.append(Step(Action.WORKSPACE, "there is no finished clone"))
    if restoring:
        steps.append(Step(Action.UNPACK, "the archive is not unpacked yet"))
    steps.append(Step(Action.MOUNTS, "mounted directories must exist before Docker makes them"))
    steps.append(Step(Action.COMPOSE, "the Compose file follows the settings"))
    recreate = observed.container is not None and makes_container
    stop, start = _plan_start(observed, recreate=recreate)
    # No network changes below a container that runs.
    return (*steps, *stop, *_plan_way_out(lacks), start)


def _plan_way_out(lacks: Lacks) -> Iterator[Step]:
    if lacks.network:
        yield Step(Action.NETWORK, lacks.network)
    if lacks.proxy:
        yield Step(Action.EGRESS, lacks.proxy)


def _plan_start(observed: Observed, *, recreate: bool) -> tuple[tuple[Step, ...], Step]:
    """Plan how a container comes to run; one that is being stopped is so first."""
    container = observed.container
    if container is None:
        return (), Step(Action.START, "there is no container")
    start = Step(Action.START, "the container does not run")
    if recreate:
        start = Step(Action.RECREATE, "the container is to be made anew")
    if observed.stopping:
        return (Step(Action.STOP, "a call that was stopping it did not end"),), start
    if recreate and container.state not in AT_REST:
        return (Step(Action.STOP, "it ends before another takes its place"),), start
    return (), start


def plan_down(
    observed: Observed, *, has_image: bool, discard: bool, is_last: bool = False
) -> tuple[Step, ...]:
    """Plan what removes an instance; work is archived before anything goes.

    Args:
        is_last: no other instance of the project is there, so its proxy goes too.
    """
    steps = []
    restoring = observed.record is not None and observed.record.restoring is not None
    # While a restore is unfinished no agent has run: the archive it came from is still complete.
    archives = observed.has_workspace and not discard and not restoring
    if archives and not has_image:
        steps.append(Step(Action.IMAGE, "the archive is packed inside a container"))
    if observed.container is not None:
        steps.append(Step(Action.STOP, "no file may change while it is archived"))
    if archives:
        steps.append(Step(Action.ARCHIVE, "the workspace may hold work that is nowhere else"))
    steps.append(Step(Action.CONTAINERS, "containers, network and volumes carry its labels"))
    if observed.has_state:
        steps.append(Step(Action.STATE, "its work is archived" if not discard else "--discard"))
    if is_last:
        steps.append(Step(Action.EGRESS, "no instance of the project is left"))
    return tuple(steps)
