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
# Of an instance's containers: whether they were made to have no way out but the proxy.
FIREWALL = "dev.cspace.firewall"
# Of an instance's container: the scopes of curated memory that it mounts.
SCOPES = "dev.cspace.scopes"
# The same of the directory of models that it mounts; "" for none.
MODELS = "dev.cspace.models"
# Of a project's proxy, its network and its image.
ROLE = "dev.cspace.role"
EGRESS = "egress"
# Of the container by which an instance has ports, beside the one that it is.
GATE = "gate"
# Of a project's proxy and its network: the directory of what it reads.
EGRESS_DIRECTORY = "dev.cspace.egress"


def of_project(project_id: str) -> dict[str, str]:
    """Return the label that everything of one project carries."""
    return {PROJECT: project_id}


def of_instance(project_id: str, name: str) -> dict[str, str]:
    """Return the labels that everything of one instance carries."""
    return {PROJECT: project_id, INSTANCE: name}


def of_gate(project_id: str, name: str) -> dict[str, str]:
    """Return the labels that the gate of an instance carries."""
    return of_instance(project_id, name) | {ROLE: GATE}


def of_egress(project_id: str) -> dict[str, str]:
    """Return the labels that a project's proxy and its network carry."""
    return {PROJECT: project_id, ROLE: EGRESS}


def of_task(state: Path) -> dict[str, str]:
    """Return the label of the throw-away containers that work for one instance.

    Its state directory tells instances of several users of one engine apart.
    """
    return {TASK: str(state)}
