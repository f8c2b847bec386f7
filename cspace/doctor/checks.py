"""The checks: each returns what it found, and raises for no bad state."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from cspace.claude_memory.place import project_place
from cspace.clock import utc_now
from cspace.context.recording import Fate, Loss, find_losses
from cspace.context.store import ContextStore
from cspace.doctor.claude_memory_checks import check_redirection, examine_memory
from cspace.doctor.context_checks import examine_context
from cspace.doctor.credentials import check_private, check_sources
from cspace.doctor.host_checks import (
    check_clock,
    check_disk,
    check_engine_disk,
    check_inotify,
    check_subnets,
    check_versions,
)
from cspace.doctor.legacy import check_legacy
from cspace.doctor.logins import check_logins
from cspace.doctor.memory_checks import examine_memories
from cspace.doctor.model import Check, Diagnosis, Patient
from cspace.doctor.notes_checks import check_notes
from cspace.doctor.publishing import check_publishing
from cspace.errors import CspaceError, expected
from cspace.git_import import find_place
from cspace.instance.observe import read_record, state_names
from cspace.memory.here import Here
from cspace.memory.personas import Personas
from cspace.memory.projects import Projects
from cspace.memory.store import MemoryStore
from cspace.paths import SHARED, curated_memory, instance_paths
from cspace.quarantine.scan import Kind, iter_foreign
from cspace.quarantine.shelf import list_quarantined
from cspace.settings.load import load_settings


def check_engine(patient: Patient) -> tuple[Diagnosis, ...]:
    """Ask the Docker engine for an answer."""
    try:
        patient.engine.ping()
    except CspaceError as error:
        return (Diagnosis("engine", str(error), error.hint or "docker info"),)
    return ()


def check_settings(patient: Patient) -> tuple[Diagnosis, ...]:
    """Read the settings as `up` does, which refuses what is wrong or not trusted."""
    try:
        load_settings(patient.project.root, home=patient.user.parent, environ=patient.environ)
    except CspaceError as error:
        return (Diagnosis("settings", str(error), error.hint or "cspace config show"),)
    return ()


def check_instances(patient: Patient) -> tuple[Diagnosis, ...]:
    """Read every instance's record."""
    found = []
    for name in state_names(patient.user, patient.project.id):
        _, problem = read_record(instance_paths(patient.user, patient.project.id, name))
        if problem is not None:
            repair = problem.hint or f"cspace down {name}"
            found.append(Diagnosis("instances", f"{name}: {problem}", repair))
    return tuple(found)


def check_shared(patient: Patient) -> tuple[Diagnosis, ...]:
    """Look for what could run or redirect in the directories that instances write to."""
    root = patient.project.root
    misplaced = tuple(
        Diagnosis("shared", f"{str(path)!r} is not a directory of its own", _look(root / path))
        for path in SHARED
        if os.path.lexists(root / path)
        and ((root / path).is_symlink() or not (root / path).is_dir())
    )
    return misplaced + tuple(
        Diagnosis(
            "shared",
            f"{str(one.path)!r} is {one.kind.reason}",
            f"chmod u+rwx {shlex.quote(str(root / one.path))}"
            if one.kind is Kind.UNREADABLE
            else "cspace init",
        )
        for one in iter_foreign(root)
    )


def check_quarantine(patient: Patient) -> tuple[Diagnosis, ...]:
    """Name what was moved aside and waits for a person."""
    return tuple(
        Diagnosis(
            "quarantine",
            f"{one.id} waits: it was moved from {one.path!r}"
            if one.path
            else f"{one.id} waits: where it was is not known",
            f"cspace quarantine remove {one.id}",
        )
        for one in list_quarantined(patient.project.root)
    )


def check_context(patient: Patient) -> tuple[Diagnosis, ...]:
    """Look at every file of the context."""
    return examine_context(ContextStore(patient.project.root))


def check_history(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare the context with what was last recorded of it."""
    root = patient.project.root
    try:
        losses = find_losses(root, find_place(root))
    except (CspaceError, OSError) as error:
        problem = f"the context's history can not be read: {expected(error)}"
        return (Diagnosis("history", problem, "git fsck"),)
    # One command brings back all that is missing.
    together = sum(loss.fate is Fate.VANISHED for loss in losses) > 1
    return tuple(
        Diagnosis("history", f"{loss.entry!r} {loss.fate}", _restore(loss, together=together))
        for loss in losses
    )


def _restore(loss: Loss, *, together: bool) -> str:
    everything = together and loss.fate is Fate.VANISHED
    return "cspace context restore" if everything else f"cspace context restore {loss.entry}"


def _look(path: Path) -> str:
    return f"look at it and move it away: ls -ld {shlex.quote(str(path))}"


def check_memory(patient: Patient) -> tuple[Diagnosis, ...]:
    """Look at every file of Claude's memory."""
    root = patient.project.root
    return (*check_redirection(root), *examine_memory(project_place(root), utc_now))


def check_curated(patient: Patient) -> tuple[Diagnosis, ...]:
    """Look at every curated memory that concerns the project."""
    root = curated_memory(patient.user)
    here = Here(patient.project.root, patient.user, patient.environ, Projects(root), Personas(root))
    try:
        return examine_memories(MemoryStore(root), here.scopes(), utc_now)
    except CspaceError as error:
        return (Diagnosis("memory", str(error), error.hint or "cspace memory doctor"),)


# What the engine says of itself comes after its first answer: a silent one is asked once.
ASKING: tuple[Check, ...] = (
    check_versions,
    check_clock,
    check_engine_disk,
    check_inotify,
    check_subnets,
    check_legacy,
)
CHECKS: tuple[Check, ...] = (
    check_disk,
    check_settings,
    check_instances,
    check_sources,
    check_private,
    check_logins,
    check_publishing,
    check_shared,
    check_quarantine,
    check_context,
    check_history,
    check_memory,
    check_curated,
    check_notes,
)


def examine(patient: Patient) -> tuple[Diagnosis, ...]:
    """Run every check of the machine and of the project."""
    silent = check_engine(patient)
    checks = CHECKS if silent else (*ASKING, *CHECKS)
    return (*silent, *(found for check in checks for found in check(patient)))
