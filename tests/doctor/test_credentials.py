"""Doctor says where credentials come from, and never what they are."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cspace import proc
from cspace.doctor.credentials import check_private, check_sources, list_credentials
from cspace.doctor.model import Patient
from cspace.instance.secret_sources import Source, find_secrets


def put(patient: Patient, name: str, value: str = "marker", mode: int = 0o600) -> Path:
    path = patient.user / "secrets" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value, encoding="utf-8")
    path.chmod(mode)
    return path


def having(patient: Patient, **environ: str) -> Patient:
    project = patient.project.id
    return replace(patient, secrets=lambda: find_secrets(patient.user, project, environ, {}))


def test_sources_are_told_without_values(patient: Patient) -> None:
    file = put(patient, "npm_token")
    found = list_credentials(having(patient, GH_TOKEN="marker"))
    assert [(one.name, one.source, one.place) for one in found] == [
        ("github_token", Source.ENVIRONMENT, "$GH_TOKEN"),
        ("npm_token", Source.USER, str(file)),
    ]
    assert "marker" not in repr(found)


def test_a_token_that_has_no_effect_beside_an_api_key_is_named(patient: Patient) -> None:
    file = put(patient, "claude_code_oauth_token")
    (found,) = check_sources(having(patient, ANTHROPIC_API_KEY="marker"))
    assert "Claude Code uses the API key" in found.problem
    assert f"unset ANTHROPIC_API_KEY; to use the key: rm -- {file}" in found.repair
    file.unlink()
    assert check_sources(having(patient, ANTHROPIC_API_KEY="marker")) == ()


def test_a_secret_that_can_not_be_read_is_named_and_the_rest_is_examined(patient: Patient) -> None:
    put(patient, "blob").write_bytes(b"\xff")
    (found,) = check_sources(patient)
    assert "secrets/blob is not UTF-8 text" in found.problem
    assert list_credentials(patient) == ()


@pytest.mark.parametrize("name", ["github_token", "projects/sample-12345678/npm_token"])
def test_a_secret_that_others_can_read_is_named(patient: Patient, name: str) -> None:
    path = put(patient, name, mode=0o644)
    (found,) = check_private(patient)
    assert str(path) in found.problem
    proc.run("sh", "-c", found.repair)
    assert check_private(patient) == ()


@pytest.mark.parametrize("closed", ["", "secrets"])
def test_what_lies_where_nobody_can_pass_is_private(patient: Patient, closed: str) -> None:
    put(patient, "github_token", mode=0o644)
    (patient.user / closed).chmod(0o700)
    assert check_private(patient) == ()


def test_many_open_files_are_counted(patient: Patient) -> None:
    for number in range(7):
        put(patient, f"token-{number}", mode=0o640)
    (found,) = check_private(patient)
    assert found.problem.endswith("token-4 and 2 more")


def test_the_command_shows_sources_though_nothing_is_wrong(patient: Patient) -> None:
    put(patient, "npm_token")
    words = ("-m", "cspace.cli.app", "doctor")
    told = proc.run(sys.executable, *words, cwd=patient.project.root, ok=(8,)).text
    shown = f"credentials: the next up gives npm_token, from user, {patient.user}/secrets/npm_token"
    assert shown in told.splitlines()
    document = proc.run(sys.executable, *words, "--json", cwd=patient.project.root, ok=(8,)).text
    (npm,) = json.loads(document)["credentials"]
    assert npm == {"name": "npm_token", "source": "user", "place": npm["place"]}
    assert "marker" not in told + document
