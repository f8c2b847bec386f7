"""The labels that say who owns a container, network or volume."""

from __future__ import annotations

from pathlib import Path

PROJECT = "dev.cspace.project"
ROOT = "dev.cspace.root"
INSTANCE = "dev.cspace.instance"
VERSION = "dev.cspace.version"
FOLDER = "devcontainer.local_folder"
SPEC = "dev.cspace.spec"
MEMORY = "dev.cspace.memory"
TASK = "dev.cspace.task"


def of_project(project_id: str) -> dict[str, str]:
    """Return the label that everything of one project carries."""
    return {PROJECT: project_id}


def of_instance(project_id: str, name: str) -> dict[str, str]:
    """Return the labels that everything of one instance carries."""
    return {PROJECT: project_id, INSTANCE: name}


def of_task(state: Path) -> dict[str, str]:
    """Return the label of the throw-away containers that work for one instance.

    Its state directory tells instances of several users of one engine apart.
    """
    return {TASK: str(state)}
