"""What an instance may use: the machine's suggestion, and whether the instances fit into it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from cspace.engine.model import AT_REST, Capacity, Container
from cspace.errors import EngineUnavailable
from cspace.events import Event, State
from cspace.instance import labels
from cspace.lifecycle.host import Host
from cspace.settings.model import AUTO, Limits, Numbers, parse_memory

# Where there are this many processors, one is left to everything else.
MANY_PROCESSORS = 4
PART_OF_MEMORY, LEAST_MEMORY = 4, 2 * 2**30
PART_OF_PIDS, LEAST_PIDS, MOST_PIDS = 8, 512, 4096


def automatic_limits(capacity: Capacity) -> Numbers:
    """Return what "auto" stands for on a machine."""
    cpus = capacity.cpus - 1 if capacity.cpus >= MANY_PROCESSORS else capacity.cpus
    memory = max(capacity.memory // PART_OF_MEMORY, LEAST_MEMORY)
    pids = min(max(capacity.pids // PART_OF_PIDS, LEAST_PIDS), MOST_PIDS)
    return Numbers(cpus=cpus, memory=f"{memory // 2**20}m", pids=pids)


def limits_in_force(limits: Limits, capacity: Capacity) -> Numbers:
    """Return the limits that an instance is made with."""
    suggested = automatic_limits(capacity)
    return Numbers(
        **{name: getattr(suggested, name) if value == AUTO else value for name, value in limits}
    )


def warn_of_overcommitment(host: Host, names: Sequence[str]) -> None:
    """Report it before instances are brought up; an engine that has gone, they find out."""
    with contextlib.suppress(EngineUnavailable):
        said = find_overcommitment(host, names)
        if said is not None:
            host.report(Event(host.project.id, "limits", State.NOTICE, said))


def find_overcommitment(host: Host, names: Sequence[str]) -> str | None:
    """Say that instances, together with all that run, may use more memory than there is.

    Instances without a limit are not counted.
    """
    capacity = host.engine.capacity()
    memory = limits_in_force(host.settings.limits, capacity).memory
    if memory is None:
        return None
    beside = [
        _memory_of(container)
        for container in host.engine.list_containers({labels.INSTANCE: ""})
        if container.state not in AT_REST and not _is_one_of(container, host.project.id, names)
    ]
    wanted = len(names) * parse_memory(memory) + sum(beside)
    if wanted <= capacity.memory:
        return None
    others = f", beside {len(beside)} that run," if beside else ""
    return (
        f"{len(names)} with limits.memory {memory}{others} may use {wanted / 2**30:.1f} GiB"
        f" together, and the machine has {capacity.memory / 2**30:.1f}: lower limits.memory,"
        " or run fewer at once"
    )


def _is_one_of(container: Container, project_id: str, names: Sequence[str]) -> bool:
    found = container.labels
    return found.get(labels.PROJECT) == project_id and found[labels.INSTANCE] in names


def _memory_of(container: Container) -> int:
    # Anybody can put any label on a container.
    with contextlib.suppress(ValueError, KeyError, IndexError):
        return parse_memory(container.labels[labels.MEMORY])
    return 0
