"""A project that an examination finds nothing wrong with, beside its engine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace.doctor.model import Patient
from cspace.engine.docker import DockerEngine
from cspace.files import Owner
from cspace.instance.secret_sources import find_secrets
from cspace.lifecycle.init import init_project
from cspace.project import find_project


@pytest.fixture
def patient(repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Patient:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    init_project(repo, Owner(os.geteuid(), os.getegid()))
    project, user = find_project(repo), home / ".cspace"
    return Patient(
        DockerEngine(), project, user, {}, lambda: find_secrets(user, project.id, {}, {})
    )
