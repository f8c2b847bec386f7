"""What doctor says of memories of commits and of their index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import apsw

from cspace.doctor.model import Patient
from cspace.doctor.notes_checks import check_notes
from cspace.git_import import find_place
from cspace.notes.catalog import Catalog
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.store import NotesStore
from cspace.project import find_project
from tests.cli.commit_notes import run_git


def keep(repo: Path, summary: str) -> Catalog:
    """Capture a memory, and return the index, which does not know it yet."""
    store = NotesStore(repo, find_place(repo))
    store.capture(Draft(Namespace.DECISIONS, summary, "body"))
    return Catalog(store)


def test_memories_and_an_index_that_follows_are_well(patient: Patient) -> None:
    repo = patient.project.root
    assert check_notes(patient) == ()
    keep(repo, "One").refresh()
    assert check_notes(patient) == ()
    keep(repo, "Two")
    assert check_notes(patient) == ()


def test_an_index_that_lacks_memories_is_named_and_left_as_it_is(patient: Patient) -> None:
    catalog = keep(patient.project.root, "One")
    catalog.refresh()
    db = apsw.Connection(str(catalog.path))
    db.execute("delete from facets; delete from items")
    db.close()
    before = catalog.path.read_bytes()
    (found,) = check_notes(patient)
    assert "0 memories of decisions, git has 1" in found.problem
    assert found.repair == "cspace notes reindex"
    assert catalog.path.read_bytes() == before


def test_what_is_no_record_in_a_note_is_named(patient: Patient) -> None:
    repo = patient.project.root
    run_git(repo, "notes", "--ref=cs/decisions", "add", "-m", "by hand")
    (found,) = check_notes(patient)
    assert "bytes that are no record stand in 1 of decisions's notes" in found.problem


def test_a_repository_that_git_can_not_read_is_said_and_no_bug(patient: Patient) -> None:
    repo = patient.project.root
    keep(repo, "One")
    tip = run_git(repo, "rev-parse", "refs/notes/cs/decisions^{tree}")
    (repo / ".git/objects" / tip[:2] / tip[2:]).unlink()
    (found,) = check_notes(replace(patient, project=find_project(repo)))
    assert (found.check, bool(found.repair)) == ("notes", True)
