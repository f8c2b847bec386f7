"""Brings transcripts home from the Claude homes of legacy instances.

Everything else in such a volume stays there and is not even named: credentials are among it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import PurePosixPath

from cspace import files
from cspace.engine.model import Engine
from cspace.errors import NotFound, UsageError
from cspace.instance.names import check_name
from cspace.lifecycle.batch import Outcome, run_batch
from cspace.lifecycle.bring_home import Brought, Home, bring
from cspace.migration import legacy
from cspace.migration.model import Policy, Target
from cspace.migration.volumes import volume_source
from cspace.paths import instance_sessions

LIST = "cspace sessions migrate --list"
_PROJECTS = "projects"
_SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A volume, and the instance whose transcripts it holds."""

    volume: str
    instance: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What is migrated.

    Attributes:
        unclear: volumes whose names may also be another project's; they need --instance.
    """

    chosen: tuple[Chosen, ...]
    unclear: tuple[Chosen, ...]


def transcript_place(path: PurePosixPath) -> PurePosixPath | None:
    """Return where a file of a Claude home belongs below the sessions; None for what stays there.

    `projects/<slug>/<session>.jsonl` keeps its part below `projects`, with or without `.claude`
    before it.
    """
    parts = [part for part in path.parts if part != "."]
    parts = parts[1:] if parts[:1] == [".claude"] else parts
    inside = len(parts) > 2 and parts[0] == _PROJECTS and parts[-1].endswith(_SUFFIX)
    # A memory is not the session's, and its place is another mount.
    return PurePosixPath(*parts[1:]) if inside and parts[2] != "memory" else None


def choose(engine: Engine, directory: str, volume: str | None, instance: str | None) -> Choice:
    """Choose the volumes of a project, or the one that is named.

    Args:
        volume: one volume; all of the project by default.
        instance: whose transcripts they are; by default what the volume's name says.

    Raises:
        NotFound: there are none.
        UsageError: the name of the instance is needed.
    """
    if instance is not None:
        check_name(instance)
    there = [each.name for each in engine.list_volumes()]
    if volume is not None:
        return Choice((_named(there, directory, volume, instance),), ())
    homes = [home for name in there if (home := legacy.find_home(name, directory)) is not None]
    if instance is not None:
        homes = [home for home in homes if home.instance == instance]
    certain = [home for home in homes if home.certain or instance is not None]
    unclear = [home for home in homes if home not in certain]
    if not homes:
        wanted = f" of {instance}" if instance else ""
        raise NotFound(
            f"there is no volume with a Claude home{wanted} of {directory!r}: nothing to migrate",
            hint=LIST,
        )
    return Choice(
        tuple(Chosen(home.volume, home.instance) for home in certain),
        tuple(Chosen(home.volume, home.instance) for home in unclear),
    )


def _named(there: list[str], directory: str, volume: str, instance: str | None) -> Chosen:
    if volume not in there:
        raise NotFound(f"there is no volume {volume!r}: nothing to migrate", hint=LIST)
    known = legacy.find_home(volume, directory)
    if instance is None and (known is None or not known.certain):
        raise UsageError(
            f"the name of volume {volume!r} does not say whose transcripts it holds",
            hint="name the instance: --instance mercury",
        )
    return Chosen(volume, instance or (known.instance if known else ""))


def migrate(
    engine: Engine, home: Home, chosen: tuple[Chosen, ...], policy: Policy, *, dry_run: bool
) -> tuple[Outcome[Brought], ...]:
    """Copy the transcripts of each volume; the failure of one does not stop the others."""
    instances = {one.volume: one.instance for one in chosen}
    # Two volumes of one instance go one after the other.
    turns = {instance: threading.Lock() for instance in instances.values()}
    if chosen and not dry_run:
        # Transcripts are not for everybody on a machine.
        place = instance_sessions(home.user, home.project.id, "any").parent
        files.ensure_directory(place, owner=home.owner, mode=0o700)

    def act(volume: str) -> Brought:
        instance = instances[volume]
        source = volume_source(engine, home.user, volume)
        with turns[instance]:
            target = sessions_target(home, instance)
            return bring(source, target, policy, home.report, dry_run=dry_run)

    return run_batch(tuple(instances), act)


def sessions_target(home: Home, instance: str) -> Target:
    """Return what an instance's sessions are kept in, as a target."""
    place = instance_sessions(home.user, home.project.id, check_name(instance))
    below = PurePosixPath(place.relative_to(home.user))
    return Target(home.user, below, home.owner, transcript_place)
