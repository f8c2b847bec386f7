"""Each check finds what it looks for, names a repair that works, and changes nothing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cspace import proc
from cspace.doctor import checks
from cspace.doctor.model import Patient
from cspace.lifecycle.init import init_project
from cspace.paths import curated_memory, instance_paths
from cspace.quarantine import shelf
from tests.lifecycle.test_init import OWNER, tree


def names(patient: Patient) -> list[str]:
    """Run every check that needs no engine; the commands' own tests have the others."""
    return [one.check for check in checks.CHECKS for one in check(patient)]


def make_instance(patient: Patient, record: str | None) -> Path:
    paths = instance_paths(patient.user, patient.project.id, "mercury")
    paths.workspace.mkdir(parents=True)
    if record is not None:
        paths.record.write_text(record, encoding="utf-8")
    return paths.record


def test_of_a_project_in_order_nothing_is_named(patient: Patient) -> None:
    assert names(patient) == []


@pytest.mark.parametrize(
    ("settings", "said", "repair"),
    [
        ('{"portz": []}', "unknown key", "cspace config schema"),
        ('{"ports": [3000]}', "is not trusted", "see what it asks for, and allow it: cspace trust"),
    ],
)
def test_settings_that_up_would_refuse_are_named(
    patient: Patient, settings: str, said: str, repair: str
) -> None:
    (patient.project.root / ".cspace.json").write_text(settings, encoding="utf-8")
    (found,) = checks.check_settings(patient)
    assert said in found.problem
    assert found.repair.startswith(repair)


@pytest.mark.parametrize(
    ("record", "said", "repair"),
    [
        ("{", "is damaged", "cspace down mercury"),
        (None, "is missing", "cspace down mercury"),
        ('{"schema": 99}', "schema 99", "use the newer cspace that wrote it; to"),
    ],
)
def test_a_record_that_can_not_be_read_is_named(
    patient: Patient, record: str | None, said: str, repair: str
) -> None:
    make_instance(patient, record)
    (found,) = checks.check_instances(patient)
    assert "mercury" in found.problem
    assert said in found.problem
    assert found.repair.startswith(repair)


def test_what_would_be_moved_aside_is_named_and_stays(patient: Patient) -> None:
    root = patient.project.root
    link = root / ".cspace/memory/li\nnk"
    link.symlink_to("/etc")
    (found,) = checks.check_shared(patient)
    assert r"'.cspace/memory/li\nnk' is a link" in found.problem
    assert link.is_symlink()
    assert found.repair == "cspace init"
    init_project(root, OWNER)
    assert checks.check_shared(patient) == ()


def test_what_waits_in_quarantine_is_named(patient: Patient) -> None:
    root = patient.project.root
    (root / ".cspace/memory/link").symlink_to("/etc")
    init_project(root, OWNER)
    (found,) = checks.check_quarantine(patient)
    assert "'.cspace/memory/link'" in found.problem
    *_, id_ = found.repair.split()
    shelf.remove(root, id_)
    assert checks.check_quarantine(patient) == ()


def test_files_of_the_context_that_can_not_be_read_are_named(patient: Patient) -> None:
    context = patient.project.root / ".cspace/context"
    (context / "findings/2026-04-14-a.md").mkdir()
    (context / "decisions/2026-04-14-b.md").touch()
    os.truncate(context / "decisions/2026-04-14-b.md", 10 << 30)
    (context / "direction.md").unlink()
    (context / "direction.md").mkdir()
    found = checks.check_context(patient)
    assert [one.problem.split("'")[1] for one in found] == [
        ".cspace/context/direction.md",
        ".cspace/context/decisions/2026-04-14-b.md",
        ".cspace/context/findings/2026-04-14-a.md",
    ]
    assert all(one.repair.startswith("look at it and move it away: ls -ld ") for one in found)


def test_an_examination_changes_nothing(patient: Patient, home: Path) -> None:
    root = patient.project.root
    make_instance(patient, "{")
    (root / ".cspace/memory/link").symlink_to("/etc")
    before = (tree(root), tree(home), sorted(root.rglob("*")), sorted(home.rglob("*")))
    assert names(patient) == ["instances", "shared", "memory"]
    assert (tree(root), tree(home), sorted(root.rglob("*")), sorted(home.rglob("*"))) == before


def test_a_repository_that_cspace_never_saw_gets_nothing(repo: Path, patient: Patient) -> None:
    proc.run("rm", "-r", repo / ".cspace")
    before = sorted(repo.rglob("*"))
    assert names(patient) == []
    assert sorted(repo.rglob("*")) == before


def test_a_shared_directory_that_is_a_link_is_named(patient: Patient, tmp_path: Path) -> None:
    memory = patient.project.root / ".cspace/memory"
    memory.rename(tmp_path / "aside")
    memory.symlink_to(tmp_path / "aside")
    assert names(patient) == ["shared", "memory"]


def test_an_engine_that_does_not_answer_is_exit_8_and_the_rest_is_examined(
    patient: Patient,
) -> None:
    (patient.project.root / ".cspace/memory/link").symlink_to("/etc")
    words = ("-m", "cspace.cli.app", "doctor", "--json")
    done = proc.run(sys.executable, *words, cwd=patient.project.root, ok=(8,))
    engine, shared, memory = json.loads(done.stdout)["diagnoses"]
    assert set(engine) == {"check", "problem", "repair"}
    assert "Docker does not answer" in engine["problem"]
    assert "systemctl start docker" in engine["repair"]
    assert (shared["check"], memory["check"]) == ("shared", "memory")
    assert b"error: doctor found 3 things" in done.stderr


def test_curated_memories_that_concern_the_project_are_examined(patient: Patient) -> None:
    place = curated_memory(patient.user) / "user"
    place.mkdir(parents=True)
    (place / "rule.md").write_text("No header.\n", encoding="utf-8")
    found = checks.check_curated(patient)
    assert [one.repair for one in found] == [
        "cspace memory edit rule --scope user",
        "cspace memory reindex --scope user",
    ]
    assert {one.check for one in found} == {"memory"}
    assert checks.check_curated in checks.CHECKS


def test_a_table_of_projects_that_can_not_be_read_is_named(patient: Patient) -> None:
    root = curated_memory(patient.user)
    root.mkdir(parents=True)
    (root / ".projects.json").write_text("{", encoding="utf-8")
    (found,) = checks.check_curated(patient)
    assert "is no table of projects" in found.problem
