"""Looks for a legacy volume whose memories never came home."""

from __future__ import annotations

from cspace.doctor.model import Diagnosis, Patient
from cspace.errors import CspaceError
from cspace.migration.model import Policy
from cspace.migration.plan import make_plan
from cspace.migration.volumes import MIGRATE, find_memory_volume, memory_target, volume_source
from cspace.owner import find_owner
from cspace.paths import MEMORY


def check_legacy(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare the project's legacy volume, where there is one, with its memory."""
    root = patient.project.root
    try:
        volume = find_memory_volume(patient.engine, root.name)
    except CspaceError:
        return ()  # what is wrong with the engine is said of the engine
    if volume is None:
        return ()
    source = volume_source(patient.engine, patient.user, volume)
    try:
        plan = make_plan(source, memory_target(root, find_owner()), Policy())
    except CspaceError as error:
        problem = f"volume {volume!r} holds memories and can not be read: {error}"
        return (Diagnosis("legacy", problem, error.hint or f"{MIGRATE} --dry-run"),)
    pending = len(plan.pending)
    if not pending:
        return ()
    problem = f"volume {volume!r} holds {pending} memory files that are not in {MEMORY}"
    return (Diagnosis("legacy", problem, MIGRATE),)
