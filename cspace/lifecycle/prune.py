"""Removes what cspace left on this machine and what can not hold work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace import files, proc, trees
from cspace.errors import Conflict, CspaceError, UsageError, expected
from cspace.events import Event, State
from cspace.instance import labels
from cspace.instance.observe import list_instances
from cspace.lifecycle.curated import forget_outbox
from cspace.lifecycle.down import remove_state
from cspace.lifecycle.kept_sessions import forget_empty, move_earlier
from cspace.lifecycle.leftovers import Kind, Leftover, Machine, parse_instance, root_of
from cspace.lifecycle.release import remove_proxy
from cspace.paths import InstancePaths, egress_paths, project_lock


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that was to be removed and is still there."""

    what: str
    error: CspaceError


@dataclass(frozen=True, slots=True)
class Pruned:
    """What has gone, and what has not."""

    removed: tuple[Leftover, ...]
    failed: tuple[Failure, ...]


def prune(machine: Machine, leftovers: Iterable[Leftover]) -> Pruned:
    """Remove those that have no remedy; what somebody uses by now fails, and stays."""
    removed: list[Leftover] = []
    failed: list[Failure] = []
    for left in leftovers:
        if left.remedy is not None:
            continue
        machine.report(Event("prune", "remove", State.STARTED, left.what))
        try:
            with _held(machine, left.lock):
                _remove(machine, left)
        except (CspaceError, OSError) as error:
            failed.append(Failure(left.what, expected(error)))
        else:
            removed.append(left)
    return Pruned(tuple(removed), tuple(failed))


@contextlib.contextmanager
def _held(machine: Machine, lock: Path | None) -> Iterator[None]:
    """Hold a lock for the block; raises Conflict where another has it."""
    with contextlib.ExitStack() as stack:
        if lock is not None:
            files.ensure_directory(lock.parent, owner=machine.owner, mode=0o700)
            take = files.lock(lock, timeout=0, holder="cspace prune", owner=machine.owner)
            stack.enter_context(proc.holding(stack.enter_context(take)))
        yield


def _remove(machine: Machine, left: Leftover) -> None:
    match left.kind:
        case Kind.IMAGE:
            machine.engine.remove_image(left.what)
        case Kind.DIRECTORY:
            trees.remove_tree(Path(left.what))
        case Kind.FILE:
            files.sweep(Path(left.what).parent)
        case Kind.NAME:
            _paths(machine, left.what).state.rmdir()
        case Kind.PROXY:
            _remove_proxy(machine, left.what)
        case Kind.CONTAINERS:
            _remove_containers(machine, _paths(machine, left.what))
        case Kind.OUTBOX:
            _remove_outbox(machine, Path(left.what))
        case _:
            raise AssertionError(f"{left.kind} may hold work")


def _remove_proxy(machine: Machine, project: str) -> None:
    # It is the lock's, who has taken a name meanwhile.
    if list_instances(machine.engine, machine.user, project):
        raise Conflict(f"project {project} has an instance by now", hint="cspace prune --dry-run")
    remove_proxy(machine.engine, egress_paths(machine.user, project))


def _remove_containers(machine: Machine, paths: InstancePaths) -> None:
    machine.engine.remove_all(labels.of_task(paths.state))
    # It is the lock's, who takes the name again meanwhile: what is there by now is in use.
    if not paths.state.exists():
        machine.engine.remove_all(labels.of_instance(paths.state.parent.name, paths.state.name))


def _remove_outbox(machine: Machine, place: Path) -> None:
    # It is the lock's, who has taken the name meanwhile: its container would lack what it mounts.
    if not _paths(machine, f"{place.parent.name}/{place.name}").state.exists():
        place.rmdir()
        with contextlib.suppress(OSError):
            place.parent.rmdir()


def discard(machine: Machine, what: str, *, dry_run: bool = False) -> None:
    """Remove an instance whose project is gone, with the work that nobody can archive any more.

    Args:
        dry_run: only look whether it may be removed.

    Raises:
        UsageError: there is none of that name, or its project is still there.
    """
    paths = _paths(machine, what)
    if not paths.state.is_dir():
        raise UsageError(f"there is no instance {what!r}", hint="cspace prune --dry-run")
    root = root_of(machine, paths)
    if root is not None and root.is_dir():
        raise UsageError(
            f"the project of {what} is there: {root}", hint=f"in it: cspace down {paths.state.name}"
        )
    if dry_run:
        return
    with _held(machine, paths.lock):
        for whose in (
            labels.of_task(paths.state),
            labels.of_instance(paths.state.parent.name, paths.state.name),
        ):
            machine.engine.remove_all(whose)
        try:
            move_earlier(paths, machine.owner)
        except CspaceError as error:
            machine.report(Event("", "sessions", State.NOTICE, str(error)))
        remove_state(paths)
        forget_empty(paths)
        forget_outbox(paths)
    project = paths.state.parent.name
    # Where somebody takes a name of the project, its proxy is needed.
    with contextlib.suppress(Conflict), _held(machine, project_lock(machine.user, project)):
        _remove_proxy(machine, project)


def _paths(machine: Machine, what: str) -> InstancePaths:
    """Return where an instance `<project-id>/<name>` is kept.

    Raises:
        UsageError: it has another form.
    """
    paths = parse_instance(machine.user, what)
    if paths is None:
        hint = "cspace prune --dry-run shows what there is"
        raise UsageError(f"{what!r} is not PROJECT-ID/NAME", hint=hint)
    return paths
