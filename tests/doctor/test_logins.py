"""A login of Claude Code that lies in two places is named; no token is ever shown."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from cspace import proc
from cspace.doctor.logins import MAX_BYTES, check_logins
from cspace.doctor.model import Patient
from cspace.paths import instance_paths

OTHER = "other-12345678"


def content(token: object) -> str:
    return json.dumps({"claudeAiOauth": {"accessToken": "marker-a", "refreshToken": token}})


def log_in(patient: Patient, name: str, token: object, project: str | None = None) -> Path:
    directory = instance_paths(patient.user, project or patient.project.id, name).claude
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / ".credentials.json"
    path.write_text(content(token), encoding="utf-8")
    return path


def log_in_here(patient: Patient, token: str) -> Path:
    path = patient.user.parent / ".claude/.credentials.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content(token), encoding="utf-8")
    return path


def test_logins_of_their_own_are_in_order(patient: Patient) -> None:
    log_in_here(patient, "marker-1")
    log_in(patient, "mercury", "marker-2")
    log_in(patient, "venus", "marker-3")
    assert check_logins(patient) == ()


def test_a_copy_of_the_persons_own_login_is_named_and_goes(patient: Patient) -> None:
    own = log_in_here(patient, "marker-1")
    copy = log_in(patient, "mercury", "marker-1")
    (found,) = check_logins(patient)
    assert f"you ({own}) and instance mercury have one copied login" in found.problem
    assert "marker" not in found.problem + found.repair
    command, _, _ = found.repair.partition("; then")
    proc.run("sh", "-c", command)
    assert (own.exists(), copy.exists()) == (True, False)
    assert check_logins(patient) == ()


def test_oauth_refresh_hazard_copies_in_instances_of_all_projects_are_named_together(
    patient: Patient,
) -> None:
    log_in(patient, "mercury", "marker-1")
    log_in(patient, "venus", "marker-1")
    log_in(patient, "mercury", "marker-1", OTHER)
    (found,) = check_logins(patient)
    names = ("instance mercury of other-12345678", "instance mercury", "instance venus")
    assert " and ".join(names) in found.problem
    assert found.repair.count("rm -- ") == 2


def test_another_directory_of_the_persons_own_is_looked_at(patient: Patient) -> None:
    moved = log_in_here(patient, "marker-1").parent.rename(patient.user.parent / "elsewhere")
    log_in(patient, "mercury", "marker-1")
    assert check_logins(patient) == ()
    (found,) = check_logins(replace(patient, environ={"CLAUDE_CONFIG_DIR": str(moved)}))
    assert "elsewhere" in found.problem


@pytest.mark.parametrize("planted", ["link", "parent", "fifo", "directory", "large", "deep", "odd"])
def test_what_an_agent_plants_there_is_not_followed(patient: Patient, planted: str) -> None:
    own = log_in_here(patient, "marker-1")
    path = log_in(patient, "mercury", "marker-1")
    assert len(check_logins(patient)) == 1
    path.unlink()
    match planted:
        case "link":
            path.symlink_to(own)
        case "parent":
            path.parent.rmdir()
            path.parent.symlink_to(own.parent)
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "large":
            path.write_text(content("marker-1") + " " * MAX_BYTES + "x", encoding="utf-8")
        case "deep":
            path.write_text("[" * 60_000, encoding="utf-8")
        case "odd":
            path.write_text(content({"a": ["marker-1"]}), encoding="utf-8")
    assert check_logins(patient) == ()
