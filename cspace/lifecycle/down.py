"""Stops and removes instances. Nothing is removed before its work is archived and read back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cspace import trees
from cspace.engine.model import AT_REST
from cspace.errors import Conflict, CspaceError, NotFound, expected
from cspace.instance import labels
from cspace.instance.archive import Archive
from cspace.instance.names import check_name
from cspace.instance.observe import Observed, get_instance, list_instances
from cspace.instance.plan import Action, Planned, Step, plan_down
from cspace.instance.record import NewerRecord
from cspace.instance.snapshot_manifest import Manifest
from cspace.instance.unchanged import check_unchanged
from cspace.instance.work import forget_work
from cspace.lifecycle import steps
from cspace.lifecycle.curated import forget_outbox
from cspace.lifecycle.host import Host
from cspace.lifecycle.images import ensure_image, find_image
from cspace.lifecycle.kept_sessions import forget_empty, move_earlier
from cspace.lifecycle.release import release_proxy
from cspace.lifecycle.take_notes import take_notes
from cspace.memory.outbox import ingest
from cspace.memory.projects import Projects
from cspace.memory.proposals import Proposals
from cspace.memory.store import MemoryStore
from cspace.owner import account_name
from cspace.paths import InstancePaths, curated_memory, outboxes_directory
from cspace.quarantine.shelf import Quarantined, sweep

LOOK = "cspace memory proposals"


@dataclass(frozen=True, slots=True)
class Removed:
    """An instance that is gone.

    Attributes:
        archive: the name of the archive that `cspace restore` takes; None when nothing was kept.
        sessions: where its transcripts and session notes lie; None when there are none.
        quarantined: what was moved aside before; each was reported when it was.
        notices: what a person should know, one sentence each.
    """

    name: str
    archive: str | None
    sessions: Path | None
    quarantined: tuple[Quarantined, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """An instance that does not run; `changed` tells whether it did before."""

    name: str
    changed: bool


def stop(host: Host, name: str) -> Stopped:
    """Stop an instance; workspace and container stay as they are.

    Raises:
        NotFound: there is none of that name.
        NewerRecord: it belongs to a newer cspace.
    """
    with _locked(host, name):
        _refuse_newer(_get(host, name))
        running = [
            container
            for container in host.engine.list_containers(labels.of_instance(host.project.id, name))
            if container.state not in AT_REST
        ]
        if running:
            with host.phase(name, Action.STOP):
                steps.stop(host, name)
        return Stopped(name, bool(running))


def plan(host: Host, name: str, *, discard: bool) -> Planned:
    """Plan a `down` without doing any of it.

    Raises:
        NotFound: there is none of that name.
        NewerRecord: it belongs to a newer cspace, and is not to be discarded.
        Conflict: something else may still be writing to it.
    """
    every = list_instances(host.engine, host.user, host.project.id)
    is_last = host.egress.directory.is_dir() and {each.name for each in every} == {name}
    return Planned(name, _plan(host, name, discard=discard, is_last=is_last))


def _plan(host: Host, name: str, *, discard: bool, is_last: bool = False) -> tuple[Step, ...]:
    observed = _get(host, check_name(name))
    if not discard:
        _refuse_newer(observed)
        _refuse_elsewhere(host, observed)
    has_image = discard or find_image(host, observed) is not None
    return plan_down(observed, has_image=has_image, discard=discard, is_last=is_last)


def _refuse_newer(observed: Observed) -> None:
    """A newer cspace may keep work where this one does not look; a damaged record is no reason."""
    if isinstance(observed.problem, NewerRecord):
        raise observed.problem


def _refuse_elsewhere(host: Host, observed: Observed) -> None:
    if steps.runs_elsewhere(host, observed):
        name = observed.name
        raise Conflict(
            f"{name} was run by another Docker engine, where an agent may still be writing",
            hint=f"use that engine; where it is gone for good: cspace up {name}, then down",
        )


def down(host: Host, name: str, *, discard: bool = False) -> Removed:
    """Archive an instance's work, then remove its containers, network and state.

    Args:
        discard: remove it without an archive.

    Raises:
        NotFound: there is none of that name.
        CspaceError: the work can not be archived; the instance is stopped, nothing is removed.
    """
    try:
        removed = _down(host, name, discard=discard)
    except NotFound:
        release_proxy(host, name)  # a `down` that was killed had come as far as this
        raise
    release_proxy(host, name)
    return removed


def _down(host: Host, name: str, *, discard: bool) -> Removed:
    with _locked(host, name):
        planned = _plan(host, name, discard=discard)
        quarantined = sweep(host.project.root, host.owner, host.report, now=host.now)
        steps.clear_debris(host, name)
        archived, notices = _apply_all(host, name, planned, discard=discard)
        paths = host.paths(name)
        sessions = paths.sessions if forget_empty(paths) else None
        forget_outbox(paths)
    return Removed(name, archived.stamp if archived else None, sessions, quarantined, notices)


def _apply_all(
    host: Host, name: str, planned: tuple[Step, ...], *, discard: bool
) -> tuple[Archive | None, tuple[str, ...]]:
    packing, archived, held, notices = None, None, None, tuple[str, ...]()
    archives = any(step.action is Action.ARCHIVE for step in planned)
    with contextlib.ExitStack() as started:
        for step in planned:
            if archives and packing is None and step.action is not Action.IMAGE:
                # While the instance is being stopped; it waits for that.
                packing = started.enter_context(steps.start_packing(host, name))
            if step.action is Action.CONTAINERS:
                _record_context(host, name, discard=discard)
                notices = (*notices, *_keep_sessions(host, name, discard=discard))
                notices = (*notices, *_take_proposals(host, name))
            with host.phase(name, step.action, step.cause):
                if packing is not None and step.action is Action.ARCHIVE:
                    archived, held = steps.archive_work(packing)
                    notices = (
                        *take_notes(host.project.root, archived.own, host.now),
                        *_missing(archived, held),
                    )
                    started.close()
                else:
                    _apply(host, name, step, held)
    return archived, notices


def _record_context(host: Host, name: str, *, discard: bool) -> None:
    """Take the instance's journal before it goes: its containers are at rest."""
    if discard:
        host.recorder.record()
    else:
        host.recorder.record_leaving(name)


def _keep_sessions(host: Host, name: str, *, discard: bool) -> tuple[str, ...]:
    """Keep what an earlier cspace left in the instance's directory; only discard loses it."""
    try:
        move_earlier(host.paths(name), host.owner)
    except CspaceError as error:
        if not discard:
            raise
        return (str(error),)
    return ()


def _take_proposals(host: Host, name: str) -> tuple[str, ...]:
    """Take over what the instance proposed; what can not be taken stays where it outlives this."""
    memory = MemoryStore(curated_memory(host.user), host.owner, account_name(), host.now)
    try:
        taken = ingest(host.user, Proposals(memory), Projects(memory.root).name_of_id)
    except (CspaceError, OSError) as error:
        return (f"what was proposed is not taken over yet: {expected(error)}",)
    place = host.paths(name).outbox.relative_to(outboxes_directory(host.user))
    bad = tuple(
        f"not taken over, and left there: {one.path}: {one.reason}"
        for one in taken.bad
        if one.path.startswith(f"{place}/")
    )
    waiting = sum(one.instance == str(place) for one in taken.taken)
    said = [f"memories that it proposed: {waiting}; {LOOK}"] if waiting else []
    said += [f"more that wait in outboxes: {taken.left}; {LOOK}"] if taken.left else []
    return (*bad, *said)


def _missing(archived: Archive, held: Manifest) -> tuple[str, ...]:
    """Say that something did not come along; what it was, the archive tells."""
    look = f"cspace archive show {archived.reference}"
    left_out = f"paths left out of the archive: {len(held.left_out)}; {look} names them"
    unread = f"git could not follow all of it, so that came along as plain files: {look}"
    return (*([left_out] if held.left_out else []), *([unread] if held.problems else []))


@contextlib.contextmanager
def _locked(host: Host, name: str) -> Iterator[None]:
    """Hold an instance; for a name that nobody has, not even a lock's file is made."""
    _get(host, check_name(name))
    with host.locked(name):
        _get(host, name)
        yield


def _get(host: Host, name: str) -> Observed:
    return get_instance(host.engine, host.user, host.project.id, name)


def _apply(host: Host, name: str, step: Step, held: Manifest | None) -> None:
    match step.action:
        case Action.STOP:
            steps.stop(host, name)
        case Action.IMAGE:
            ensure_image(host, name)
        case Action.CONTAINERS:
            host.engine.remove_all(labels.of_instance(host.project.id, name))
        case Action.STATE:
            if held is not None:
                # Up to here something that is not a container of ours could have written.
                check_unchanged(host.paths(name).workspace, held)
            forget_work(host.project.root, name)
            remove_state(host.paths(name))
        case _:
            raise AssertionError(f"{step.action} is not a step of down")


def remove_state(paths: InstancePaths) -> None:
    """Remove the state directory; its record goes last, so that a killed `down` is seen."""
    # Renamed first: half a workspace must not be taken for a whole one by the next `up`.
    doomed = paths.workspace.with_name("workspace.partial")
    trees.remove_tree(doomed)
    with contextlib.suppress(FileNotFoundError):
        paths.workspace.rename(doomed)
    trees.remove_tree(*sorted(set(paths.state.iterdir()) - {paths.record}))
    trees.remove_tree(paths.state)
