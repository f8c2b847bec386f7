"""Finds what cspace made on this machine for one user and nobody uses, with sizes and reasons.

Reads only. What may hold work is found too, and has a remedy: the command that deals with it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path, PurePosixPath
from shlex import quote

from cspace import beneath, files, proc
from cspace.clock import Clock
from cspace.engine.model import AT_REST, Engine
from cspace.errors import CommandFailed, CspaceError
from cspace.events import Event, Report, State
from cspace.files import Owner
from cspace.instance import image, labels
from cspace.instance.archive import ROOT, list_archives
from cspace.instance.exchange import list_exchanges
from cspace.instance.observe import (
    Observed,
    Status,
    list_instances,
    observe_instance,
    project_ids,
    state_names,
)
from cspace.instance.record import load_record
from cspace.instance.work import list_kept, prefix_of
from cspace.lifecycle.archives import measure
from cspace.migration.staging import list_staged
from cspace.paths import (
    MEMORY,
    QUARANTINE,
    InstancePaths,
    build_directory,
    egress_directory,
    image_lock,
    instance_paths,
    outboxes_directory,
    project_lock,
    projects_directory,
    sessions_directory,
)
from cspace.project import Project, project_id

# Between the moment in which a name is taken and the one in which its instance is locked.
CLAIM = timedelta(minutes=1)
_OURS = re.compile(rf"(?:{image.REPOSITORY}|{image.EGRESS_REPOSITORY}):[0-9a-f]{{16}}", re.ASCII)
_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]*", re.ASCII)
_INSTANCE = re.compile(r"([a-z0-9][a-z0-9-]*)/([a-z0-9][a-z0-9-]*)", re.ASCII)
IN_USE = "another cspace is at work on it"


class Kind(StrEnum):
    """What is left over; the first seven can not hold work."""

    IMAGE = "image"
    CONTAINERS = "containers"
    DIRECTORY = "directory"
    FILE = "file"
    NAME = "name"
    PROXY = "proxy"
    OUTBOX = "outbox"
    INSTANCE = "instance"
    ORPHAN = "orphan"
    ARCHIVES = "archives"
    WORK = "work"
    SESSIONS = "sessions"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Leftover:
    """One thing that takes room.

    Attributes:
        what: an image's name, a path, a project's id for its proxy, or an instance as
            `<project-id>/<name>`.
        size: bytes on disk; None where it can not be told.
        remedy: for a person, what deals with it; None where `prune` may remove it.
        lock: what has to be locked while it is removed.
    """

    kind: Kind
    what: str
    size: int | None
    reason: str
    remedy: str | None = None
    lock: Path | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """What a user has on this machine.

    Attributes:
        user: `~/.cspace`.
        here: the project that the user stands in, if any.
        images: the names of the images that the present settings ask for.
    """

    engine: Engine
    user: Path
    owner: Owner
    here: Project | None
    images: frozenset[str]
    now: Clock
    report: Report


def find_leftovers(machine: Machine) -> tuple[Leftover, ...]:
    """Find everything; measures directories, which can take minutes."""
    found = [*_images(machine), *_containers(machine), *_proxies(machine), *_of_user(machine)]
    for project in project_ids(machine.user):
        for name in state_names(machine.user, project):
            found += _of_instance(machine, project, name)
    for root in known_roots(machine.user, machine.here):
        found += _of_project(machine, root)
    return (*found, *_sessions(machine), *_outboxes(machine))


def known_roots(user: Path, here: Project | None) -> tuple[Path, ...]:
    """List the projects that are still there and have an instance, and the one that we are in."""
    roots = {here.root} if here else set()
    for project in project_ids(user):
        roots |= {
            root for name in state_names(user, project) if (root := _root(user, project, name))
        }
    return tuple(sorted(root for root in roots if root.is_dir()))


def parse_instance(user: Path, what: str) -> InstancePaths | None:
    """Return where `<project-id>/<name>` is kept; None when it has another form."""
    parts = _INSTANCE.fullmatch(what)
    return instance_paths(user, parts[1], parts[2]) if parts else None


def _root(user: Path, project: str, name: str) -> Path | None:
    """Return where an instance's project is or was; None when its record does not tell."""
    try:
        root = load_record(instance_paths(user, project, name).record).root
    except (CspaceError, OSError):
        return None
    return root if project_id(root) == project else None


def _images(machine: Machine) -> Iterator[Leftover]:
    machine.report(Event("prune", "measure", State.STARTED, "images"))
    used = {container.image for container in machine.engine.list_containers({})}
    for stored in machine.engine.list_images({labels.VERSION: ""}):
        # What carries another name too, of a person's or `latest`, would free nothing.
        if len(stored.tags) != 1 or stored.id in used:
            continue
        (tag,) = stored.tags
        if _OURS.fullmatch(tag) and tag not in used | machine.images:
            yield Leftover(Kind.IMAGE, tag, stored.size, "an earlier version's image")


def _containers(machine: Machine) -> Iterator[Leftover]:
    """Find what the engine has of calls that were killed, and of instances without a directory."""
    for paths in _labelled(machine, labels.TASK, lambda paths: paths.state):
        reason = "a killed call left a container of its own"
        left = Leftover(Kind.CONTAINERS, _name(paths), None, reason, lock=paths.lock)
        yield _unless_held(left)
    for paths in _labelled(machine, labels.FOLDER, lambda paths: paths.workspace):
        if not paths.state.exists():
            yield _stateless(machine, paths)


def _labelled(
    machine: Machine, label: str, of: Callable[[InstancePaths], Path]
) -> tuple[InstancePaths, ...]:
    """Return our instances that a label of the engine's names by a path.

    The label is compared with our own path: another user's instance is not ours, and a label that
    somebody forged leads nowhere.
    """
    place = projects_directory(machine.user)
    values = {one[label] for one in machine.engine.list_labels({label: ""})}
    found = []
    for value in sorted(values):
        project, _, name = value.removeprefix(f"{place}/").partition("/")
        paths = parse_instance(machine.user, f"{project}/{name.partition('/')[0]}")
        if paths is not None and str(of(paths)) == value:
            found.append(paths)
    return tuple(found)


def _stateless(machine: Machine, paths: InstancePaths) -> Leftover:
    project, name = paths.state.parent.name, paths.state.name
    found = machine.engine.list_containers(labels.of_instance(project, name))
    left = Leftover(Kind.CONTAINERS, _name(paths), None, "its directory is gone", lock=paths.lock)
    if {container.state for container in found} <= AT_REST:
        return _unless_held(left)
    return replace(left, remedy=f"it still runs; in its project: cspace down {name}")


def _proxies(machine: Machine) -> Iterator[Leftover]:
    """Find the proxies, with their networks and directories, whose project has no instance."""
    place = egress_directory(machine.user)
    known = {each.name for each in place.glob("*") if not each.name.startswith(".")}
    for marks in machine.engine.list_labels({labels.EGRESS_DIRECTORY: ""}):
        directory = Path(marks[labels.EGRESS_DIRECTORY])
        # As in `_labelled`: a name below our own place, or nothing of ours.
        known |= {directory.name} if directory == place / directory.name else set()
    for project in sorted(filter(_PROJECT.fullmatch, known)):
        if not list_instances(machine.engine, machine.user, project):
            lock, reason = project_lock(machine.user, project), "no instance of its project is left"
            yield _unless_held(Leftover(Kind.PROXY, project, None, reason, lock=lock))


def _of_user(machine: Machine) -> Iterator[Leftover]:
    yield from _temporary(machine.user)
    build = build_directory(machine.user)
    if build.is_dir():
        reason, lock = "a killed build left it", image_lock(machine.user)
        yield _unless_held(Leftover(Kind.DIRECTORY, str(build), _size(build), reason, lock=lock))


def _of_instance(machine: Machine, project: str, name: str) -> Iterator[Leftover]:
    machine.report(Event("prune", "measure", State.STARTED, f"{project}/{name}"))
    observed = observe_instance(machine.engine, machine.user, project, name)
    paths = instance_paths(machine.user, project, name)
    for directory in (*paths.state.glob("*.partial"), *list_exchanges(paths.state)):
        size, reason = _size(directory), "a killed call left it"
        yield _unless_held(Leftover(Kind.DIRECTORY, str(directory), size, reason, lock=paths.lock))
    for place in (paths.state, paths.secrets):
        yield from _temporary(place)
    if _is_unused(machine, paths, observed):
        reason = "the name was taken and never used"
        yield _unless_held(Leftover(Kind.NAME, _name(paths), 0, reason, lock=paths.lock))
    else:
        yield from _kept(machine, paths, observed)


def _is_unused(machine: Machine, paths: InstancePaths, observed: Observed) -> bool:
    """Tell whether a state directory is empty, and not because somebody is about to fill it."""
    if observed.container is not None or any(paths.state.iterdir()):
        return False
    taken = datetime.fromtimestamp(paths.state.stat().st_mtime, tz=UTC)
    return machine.now() - taken > CLAIM


def _kept(machine: Machine, paths: InstancePaths, observed: Observed) -> Iterator[Leftover]:
    """Yield what an instance takes, where it does not run; its work is only there."""
    root, what = root_of(machine, paths), _name(paths)
    if root is None or not root.is_dir():
        reason, way = _lost(root, observed)
        remedy = f"{way}, or lose the work: cspace prune --discard {what}"
        yield Leftover(Kind.ORPHAN, what, _size(paths.state), reason, remedy)
    elif observed.status not in (Status.RUNNING, Status.STARTING, Status.UNHEALTHY):
        made = observed.record.created if observed.record else None
        age = f", made on {made:%Y-%m-%d}" if made else ""
        remedy = f"cd {quote(str(root))} && cspace down {observed.name}"
        yield Leftover(Kind.INSTANCE, what, _size(paths.state), f"{observed.status}{age}", remedy)


def _lost(root: Path | None, observed: Observed) -> tuple[str, str]:
    """Say why nothing can archive an instance's work from here, and what would be a way."""
    if root is not None:
        return f"its project is gone: {root}", "move the project back"
    why = f": {observed.problem}" if observed.problem else ""
    return f"its project is not known{why}", f"in its project: cspace down {observed.name}"


def root_of(machine: Machine, paths: InstancePaths) -> Path | None:
    """Return an instance's project, from its siblings or from where we are if need be."""
    project = paths.state.parent.name
    if machine.here is not None and machine.here.id == project:
        return machine.here.root
    names = (paths.state.name, *state_names(machine.user, project))
    roots = (_root(machine.user, project, name) for name in names)
    return next((root for root in roots if root), None)


def _of_project(machine: Machine, root: Path) -> Iterator[Leftover]:
    machine.report(Event("prune", "measure", State.STARTED, str(root)))
    yield from _temporary(root / ".git")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.close(beneath.open_directory(root, PurePosixPath(MEMORY).parent))  # no link
        yield from _staged(root / PurePosixPath(MEMORY).parent)
    place = f"cd {quote(str(root))} && cspace"
    if (root / QUARANTINE).is_dir() and any((root / QUARANTINE).iterdir()):
        reason, size = "moved aside from the shared directories", _size(root / QUARANTINE)
        what = str(root / QUARANTINE)
        yield Leftover(Kind.QUARANTINE, what, size, reason, f"{place} quarantine list")
    with contextlib.suppress(CommandFailed):
        yield from _fetched(machine, root)
        found = len(list_archives(root))
        if found:
            size = measure(root, f"{ROOT}/")
            reason = f"{found} archive{'' if found == 1 else 's'}"
            yield Leftover(Kind.ARCHIVES, str(root), size, reason, f"{place} archive list")


def _fetched(machine: Machine, root: Path) -> Iterator[Leftover]:
    """Find fetched work of instances whose directory is gone: it may be all that is left of it."""
    for name in list_kept(root):
        if not instance_paths(machine.user, project_id(root), name).state.exists():
            prefix = prefix_of(name)
            reason = "what was fetched of an instance that is gone"
            remedy = (
                f"if nobody needs it: cd {quote(str(root))} && git for-each-ref"
                f" --format='delete %(refname)' {prefix} | git update-ref --stdin"
            )
            yield Leftover(Kind.WORK, f"{root} {prefix}", measure(root, prefix), reason, remedy)


def _staged(above: Path) -> Iterator[Leftover]:
    for path, lock in list_staged(above):
        reason = "a killed migration left it"
        yield _unless_held(Leftover(Kind.DIRECTORY, str(path), _size(path), reason, lock=lock))


def _sessions(machine: Machine) -> Iterator[Leftover]:
    """Find half a migration, and what instances left that are gone: a person removes that."""
    for project in sorted(sessions_directory(machine.user).glob("*")):
        yield from _staged(project)
    for place in sorted(sessions_directory(machine.user).glob("*/*")):
        paths = parse_instance(machine.user, f"{place.parent.name}/{place.name}")
        if paths is not None and place.is_dir() and not paths.state.exists():
            machine.report(Event("prune", "measure", State.STARTED, str(place)))
            reason = "transcripts and notes of an instance that is gone"
            remedy = f"if nobody needs them: rm -r {quote(str(place))}"
            yield Leftover(Kind.SESSIONS, str(place), _size(place), reason, remedy)


def _outboxes(machine: Machine) -> Iterator[Leftover]:
    """Find the outboxes of instances that are gone; proposals in one are for a person to decide."""
    for place in sorted(outboxes_directory(machine.user).glob("*/*")):
        paths = parse_instance(machine.user, f"{place.parent.name}/{place.name}")
        if paths is None or paths.state.exists() or not place.is_dir():
            continue
        left = Leftover(Kind.OUTBOX, str(place), 0, "nothing is in it", lock=paths.lock)
        if _holds_something(place):
            reason = "what an instance that is gone proposed, and was not taken in"
            remedy = f"cspace memory proposals; if nobody needs it: rm -r {quote(str(place))}"
            left = replace(left, size=_size(place), reason=reason, remedy=remedy)
        yield _unless_held(left) if left.remedy is None else left


def _holds_something(outbox: Path) -> bool:
    """Tell whether anything may be in it: its agent can take away the right to look."""
    try:
        return any(outbox.iterdir())
    except PermissionError:
        return True


def _temporary(directory: Path) -> Iterator[Leftover]:
    for path in files.list_abandoned(directory):
        yield Leftover(Kind.FILE, str(path), path.lstat().st_size, "a killed call left it")


def _unless_held(left: Leftover) -> Leftover:
    """Have what is guarded by a lock that somebody holds left alone."""
    held = left.lock is not None and files.is_locked(left.lock)
    return replace(left, remedy=IN_USE) if held else left


def _name(paths: InstancePaths) -> str:
    return f"{paths.state.parent.name}/{paths.state.name}"


def _size(path: Path) -> int | None:
    """Return the bytes on disk of a directory; what can not be read does not count."""
    # Not os.walk: an agent can nest directories deeper than Python recurses.
    said = proc.run("du", "--summarize", "--block-size=1", "--", path, ok=(0, 1)).text
    return int(said.split("\t")[0]) if said else None
