"""The models that turn texts into vectors: an instance reads those that its host has."""

from __future__ import annotations

from pathlib import Path

from cspace.engine.model import Container, Mount
from cspace.instance import labels
from cspace.paths import INSIDE


def model_mounts(models: Path | None) -> tuple[Mount, ...]:
    """List what an instance mounts of a directory of models; nothing where there is none."""
    return (Mount(models, INSIDE.models, read_only=True),) if models else ()


def mounted_models(container: Container | None) -> Path | None:
    """Return the host's directory that a container was made with, by its label."""
    said = container.labels.get(labels.MODELS, "") if container else ""
    return Path(said) if said else None
