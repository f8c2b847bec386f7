"""Looks at the memories that belong to commits, and at the index that finds them."""

from __future__ import annotations

from collections.abc import Iterator

from cspace.doctor.model import Diagnosis, Patient
from cspace.errors import CspaceError, expected
from cspace.git_import import find_place
from cspace.notes.catalog import Catalog
from cspace.notes.census import take_census
from cspace.notes.store import NotesStore

CHECK = "notes"


def check_notes(patient: Patient) -> tuple[Diagnosis, ...]:
    """Compare what git holds with the index, where that says it is up to date; changes neither."""
    try:
        return tuple(_examine(patient))
    except (CspaceError, OSError) as error:
        known = expected(error)
        return (Diagnosis(CHECK, str(known), known.hint or "git fsck"),)


def _examine(patient: Patient) -> Iterator[Diagnosis]:
    root = patient.project.worktree
    store = NotesStore(root, find_place(root), now=patient.now)
    for namespace, tally in take_census(store).items():
        if tally.stray:
            problem = f"bytes that are no record stand in {tally.stray} of {namespace}'s notes"
            yield Diagnosis(CHECK, problem, f"look at them: git log -p {namespace.ref}")
        if tally.edited:
            problem = f"{tally.edited} of {namespace}'s memories were changed after they were kept"
            yield Diagnosis(CHECK, problem, f"look at them: git log -p {namespace.ref}")
    for one in Catalog(store).examine():
        problem = f"the index has {one.in_index} memories of {one.namespace}, git has {one.in_git}"
        yield Diagnosis(CHECK, problem, "cspace notes reindex")
