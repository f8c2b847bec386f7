"""The single steps that make an instance; each can be repeated after an interruption."""

from __future__ import annotations

import contextlib
import functools
import re
import secrets as random
import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from cspace import assets, beneath, files, git, trees
from cspace.egress.environment import through_proxy
from cspace.engine.model import Composition, State
from cspace.errors import CommandFailed, CspaceError
from cspace.events import Event
from cspace.events import State as Progress
from cspace.files import Owner
from cspace.instance import archive, image, labels, workspace
from cspace.instance.compose import Rendered, Spec, render_compose
from cspace.instance.exchange import Isolated, Place, list_exchanges
from cspace.instance.models import mounted_models
from cspace.instance.observe import Observed
from cspace.instance.record import Record, save_record
from cspace.instance.secret_sources import GITHUB_TOKEN, Secrets, Source
from cspace.instance.secrets import (
    Delivered,
    deliver_secrets,
    list_delivered,
    update_secrets,
)
from cspace.instance.snapshot_manifest import Manifest
from cspace.lifecycle.archives import find_archive, find_branch
from cspace.lifecycle.curated import concerned_scopes, ensure_curated
from cspace.lifecycle.given_notes import give_index
from cspace.lifecycle.host import Host
from cspace.lifecycle.images import find_image
from cspace.lifecycle.init import seed
from cspace.lifecycle.kept_sessions import ensure_sessions, move_earlier
from cspace.notes.namespaces import PREFIX
from cspace.paths import CONTEXT, CONTEXT_KINDS, INSIDE, MEMORY

FAILURE_LINES = 15
GH_OFF = f"~/.cspace/secrets/{GITHUB_TOKEN}"
_PHASE = re.compile(r"^cspace: (?:phase )?(\S+)(?: failed)?$", re.MULTILINE)


def clear_debris(host: Host, name: str) -> None:
    """Remove what a killed call left at work on an instance, whose lock the caller holds.

    Directories first: a container that was about to start with one of them can not any more.
    """
    for directory in list_exchanges(host.paths(name).state):
        trees.remove_tree(directory)
    for place in (*_marked_places(host), host.paths(name).state, host.paths(name).secrets):
        with contextlib.suppress(FileNotFoundError):
            files.sweep(place)
    host.engine.remove_all(labels.of_task(host.paths(name).state))


def _marked_places(host: Host) -> tuple[Path, Path]:
    """Return where the engine has to find what we write: with us, and with the project.

    In .git, where nobody commits a marker that a kill leaves behind until the next call.
    """
    root = host.project.root
    return host.user, root / ".git" if (root / ".git").is_dir() else root


def prove_file_system(host: Host, name: str) -> None:
    """Prove with marker files that the engine's file system is ours, for home and project each.

    Raises:
        CspaceError: it is not: the engine is remote, or we are in a container with its socket.
    """
    with host.proof.lock:
        if not host.proof.given:
            _show_markers(host, name)
            host.proof.given = True


def _show_markers(host: Host, name: str) -> None:
    files.ensure_directory(host.user, owner=host.owner, mode=0o700)
    places = _marked_places(host)
    with contextlib.ExitStack() as stack:
        markers = {}
        for place in places:
            content = random.token_bytes(16)
            markers[stack.enter_context(files.temporary(place / "marker", content))] = content
        if host.engine.sees(markers, labels=labels.of_task(host.paths(name).state)):
            return
    raise CspaceError(
        "the Docker engine does not see this file system: it did not find what was written to"
        f" {places[0]} and {places[1]}",
        hint="run cspace where the engine runs: check DOCKER_HOST and docker context show",
    )


def make_workspace(host: Host, name: str, branch: str | None, restoring: str | None) -> None:
    """Clone the project; the record is there before the workspace takes its name."""
    paths = host.paths(name)
    start = workspace.plan_start(host.project, name, branch)
    if not restoring:
        start = replace(start, notes=PREFIX.rstrip("/"))
    archived = _archived_branch(host, restoring) if restoring else None
    files.ensure_directory(paths.state, owner=host.owner, mode=0o700)
    try:
        with workspace.new_workspace(host.project, start, paths.workspace, host.owner) as clone:
            record = Record(
                name=name,
                project=host.project.id,
                root=host.project.root,
                branch=archived or start.branch,
                base=clone.base,
                known=clone.known,
                engine=host.engine.identify(),
                created=host.now(),
                restoring=restoring,
            )
            save_record(paths.record, record, host.owner)
    except BaseException:
        if not paths.workspace.exists():
            paths.record.unlink(missing_ok=True)
        raise
    if not restoring:
        give_index(host, paths.workspace)


def _archived_branch(host: Host, reference: str) -> str | None:
    """Return the branch that a workspace will be on when it is unpacked."""
    root = host.project.root
    branch = find_branch(root, archive.load_manifest(root, find_archive(root, reference)))
    # An agent wrote it: only what git takes for a branch is recorded as one.
    return branch if branch and git.is_branch_name(root, branch) else None


def runs_elsewhere(host: Host, observed: Observed) -> bool:
    """Tell whether an instance without a container here was last run by another engine."""
    record = observed.record
    if record is None or observed.container is not None:
        return False
    return record.engine != host.engine.identify()


def adopt_engine(host: Host, name: str, record: Record) -> None:
    """Note that this engine runs the instance from now on."""
    adopted = replace(record, engine=host.engine.identify())
    save_record(host.paths(name).record, adopted, host.owner)


def start_packing(host: Host, name: str) -> AbstractContextManager[archive.Packing]:
    """Start what `archive_work` needs; the workspace is not read before that."""
    image_tag = find_image(host, host.observe(name)) or host.image.tag
    by = isolated(host, name, image_tag)
    return archive.packing(host.project.root, place_of(host, name), by, host.now())


def archive_work(packing: archive.Packing) -> tuple[archive.Archive, Manifest]:
    """Archive a workspace; return the archive and what it holds.

    Raises:
        CspaceError: the archive would not be complete; nothing was changed.
    """
    workspace.set_aside_copies(packing.place.workspace)
    return archive.archive_workspace(packing)


def unpack_archive(host: Host, observed: Observed) -> None:
    """Put an archive's content into a fresh workspace, then forget that this was to be done."""
    record = observed.record
    if record is None or record.restoring is None:
        return
    found = find_archive(host.project.root, record.restoring)
    place, by = place_of(host, observed.name), isolated(host, observed.name, host.image.tag)
    archive.restore_workspace(host.project.root, found, place, by, known=record.known)
    save_record(host.paths(observed.name).record, replace(record, restoring=None), host.owner)


def place_of(host: Host, name: str) -> Place:
    """Return where an instance's workspace lies, and where containers hand things over."""
    paths = host.paths(name)
    return Place(name, paths.workspace, paths.state, host.owner)


def isolated(host: Host, name: str, image_tag: str) -> Isolated:
    """Return what starts throw-away containers that the next call removes if we are killed."""
    task = labels.of_task(host.paths(name).state)
    return functools.partial(host.engine.start_once, image_tag, user=host.owner, labels=task)


def ensure_mounts(host: Host, name: str) -> None:
    """Create every directory that is mounted, with its owner, before Docker creates it as root.

    Raises:
        CspaceError: a link or a file is in the way.
    """
    root, paths, owner = host.project.root, host.paths(name), host.owner
    seed(root, owner)
    for path in (root / MEMORY, *(root / CONTEXT / kind for kind in CONTEXT_KINDS)):
        _check_writable(path, owner)
    workspace.set_aside_copies(paths.workspace)
    beneath.ensure_link(paths.workspace, PurePosixPath(CONTEXT), INSIDE.context_store, owner=owner)
    files.ensure_directory(paths.claude, owner=owner, mode=0o700)
    files.ensure_directory(paths.journal, owner=owner, mode=0o700)
    ensure_sessions(paths, owner)
    _check_writable(paths.sessions, owner)
    ensure_curated(host, name)
    _check_writable(paths.outbox, owner)
    models = mounted_models(host.observe(name).container)
    if models is not None:
        files.ensure_directory(
            models, owner=owner
        )  # a container that is kept may outlive the user's cache
    _hand_over(host, name, deliver_secrets)


def rotate_secrets(host: Host, name: str) -> None:
    """Hand a running instance the present secrets, and take those away whose file is gone."""
    _hand_over(host, name, update_secrets)


def _hand_over(host: Host, name: str, deliver: Callable[[Path, Secrets, Owner], None]) -> None:
    """Deliver, and say that an instance has got the login of gh: nobody put it there for agents."""
    place = host.paths(name).secrets
    before = _of_gh(place)
    deliver(place, host.secrets, host.owner)
    for one in _of_gh(place) - before:
        said = f"{one.name} is that of `{one.place}`; an empty file {GH_OFF} keeps it out"
        host.report(Event(name, "secrets", Progress.NOTICE, f"{name}: {said}"))


def _of_gh(place: Path) -> set[Delivered]:
    return {one for one in list_delivered(place) if one.source is Source.GH}


def _check_writable(path: Path, owner: Owner) -> None:
    """Refuse a directory that the instance's user could not write to; cspace never chowns it.

    Raises:
        CspaceError: with the command that repairs it.
    """
    found = path.stat()
    if not files.may_write(found, owner):
        raise CspaceError(
            f"{path} belongs to uid {found.st_uid}, and the instance's user has uid {owner.uid}:"
            " agents could not write there",
            hint=f"chown -R {owner.uid}:{owner.gid} {shlex.quote(str(path))}",
        )


def instance_spec(host: Host, name: str) -> Spec:
    """Derive what an instance should be from the settings and this machine."""
    from cspace.lifecycle.limits import limits_in_force  # noqa: PLC0415  pulls in the settings

    settings = host.settings
    limits = limits_in_force(settings.limits, host.engine.capacity())
    firewall = settings.firewall.enabled
    inherited = through_proxy(host.environment) if firewall else dict(host.environment)
    environment = inherited | dict(settings.env)
    if settings.post_create:
        environment["CSPACE_POST_CREATE"] = settings.post_create
    return Spec(
        name=name,
        project_id=host.project.id,
        root=host.project.root,
        image=host.image.tag,
        owner=host.owner,
        version=image.version(),
        environment=environment,
        ports=settings.ports,
        host_ports=settings.firewall.host_ports,
        egress_image=host.egress_image.tag,
        cpus=limits.cpus,
        memory=limits.memory,
        pids=limits.pids,
        ready_timeout=settings.ready_timeout,
        firewall=firewall,
        scopes=concerned_scopes(host),
        models=host.models,
    )


def render(host: Host, name: str) -> Rendered:
    """Render the Compose file of an instance; writes nothing."""
    return render_compose(
        instance_spec(host, name), assets.template("compose.yaml.j2"), host.paths(name)
    )


def write_compose(host: Host, name: str) -> None:
    """Write the Compose file; Compose validates it before it touches anything."""
    files.write_atomic(
        host.paths(name).compose, render(host, name).text, mode=0o600, owner=host.owner
    )


def stop(host: Host, name: str) -> None:
    """Stop every container of an instance: one that somebody ran by hand writes too.

    The engine goes on with that when we are killed: until the end a file says so, since nothing
    else tells that a container which runs is about to stop.
    """
    paths = host.paths(name)
    if paths.state.is_dir():
        files.write_atomic(paths.stopping, b"", owner=host.owner)
    for container in host.engine.list_containers(labels.of_instance(host.project.id, name)):
        host.engine.stop(container)
    paths.stopping.unlink(missing_ok=True)


def start(host: Host, name: str, *, recreate: bool) -> None:
    """Start the containers; `wait` tells whether that came about."""
    # Where the container that was being stopped is gone, nothing else takes this back.
    host.paths(name).stopping.unlink(missing_ok=True)
    if recreate or host.observe(name).container is None:
        # One that is started as it is may still mount the old place.
        move_earlier(host.paths(name), host.owner)
    for gate in host.engine.list_containers(labels.of_gate(host.project.id, name)):
        # It keeps nothing, and one that is made anew is in the networks that there are now.
        host.engine.remove(gate)
    try:
        host.engine.start_composition(
            _composition(host, name), recreate=recreate, on_line=host.output(name, "start")
        )
    except CommandFailed as error:
        raise CommandFailed(
            str(error),
            hint=error.hint or f"repair the cause, then: cspace up {name} --recreate",
        ) from error


def wait(host: Host, name: str) -> None:
    """Wait until the instance is ready.

    Raises:
        CommandFailed: it did not become so; says in which phase, with the log's last lines.
    """
    labelled = labels.of_instance(host.project.id, name)
    state = host.engine.wait(labelled, timeout=host.settings.ready_timeout)
    if state is not State.RUNNING:
        raise _not_ready(host, name, state)


def _not_ready(host: Host, name: str, state: State) -> CommandFailed:
    container = host.observe(name).container
    log = host.engine.logs(container, tail=FAILURE_LINES).rstrip() if container else ""
    phases = _PHASE.findall(log)
    where = f" in phase {phases[-1]}" if phases else ""
    waited = f" within {host.settings.ready_timeout} s" if state is State.STARTING else ""
    tail = "\n".join(f"  {line}" for line in log.splitlines())
    return CommandFailed(
        f"{name} did not become ready{waited}{where}; its log ends with:\n{tail or '  (nothing)'}",
        hint=f"cspace logs {name}; repair the cause, then: cspace up {name} --recreate",
    )


def _composition(host: Host, name: str) -> Composition:
    return Composition(instance_spec(host, name).composition_name, host.paths(name).compose)
