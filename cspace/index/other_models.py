"""Any other model, through sentence-transformers where that is installed."""

from __future__ import annotations

import importlib
import threading
import time
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cspace.errors import CommandFailed, CspaceError
from cspace.events import Event, Report, State
from cspace.index.model_files import new_model, publish_model

_FLOAT_BYTES = 4


def find_place(model: str, cache: Path) -> Path | None:
    """Return the directory of a model: a path of its own, or the one that `fetch` made."""
    place = Path(model) if Path(model).is_absolute() else _cached(model, cache)
    return place if place.is_dir() else None


def _cached(model: str, cache: Path) -> Path:
    return cache / f"sentence-transformers-{urllib.parse.quote(model, safe='')}"


@dataclass(slots=True)
class OtherModel:
    """An Embedder. Not frozen, since the first `embed` loads the model.

    Args:
        model: its name.
        directory: its files; nothing is looked for elsewhere.
    """

    model: str
    directory: Path
    _loaded: Any = None
    _loading: threading.Lock = field(default_factory=threading.Lock)

    @property
    def id(self) -> str:
        """What made a vector."""
        return f"sentence-transformers:{self.model}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; loads the model."""
        return len(self.embed([""])[0]) // _FLOAT_BYTES

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one vector for each text, see `Embedder`."""
        whole = [text.encode("utf-8", "replace").decode() for text in texts]
        vectors = self._load().encode(whole, normalize_embeddings=True, show_progress_bar=False)
        return [vector.astype("<f4").tobytes() for vector in vectors]

    def _load(self) -> Any:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(str(self.directory), None)
            return self._loaded


def _load(name: str, downloads: Path | None) -> Any:
    """Load a model, and download it where downloads says to which directory."""
    try:
        # By its name: it is nobody's dependency, and starts torch, which takes seconds.
        library = importlib.import_module("sentence_transformers")
        return library.SentenceTransformer(
            name,
            device="cpu",
            cache_folder=str(downloads) if downloads else None,
            local_files_only=downloads is None,
        )
    except Exception as error:  # several libraries, each with errors of its own
        raise CommandFailed(
            f"sentence-transformers could not load the model {name}: {error}",
            hint="see that the name is right and huggingface.co answers; or set notes.model to "
            "the path of a directory, or remove it: cspace config --help",
        ) from error


def fetch(model: str, cache: Path, report: Report) -> None:
    """Download a model with sentence-transformers into the cache; its own progress bars show.

    Raises:
        CommandFailed: the network refused, or there is no such model.
        Conflict: another process has been at it for too long.
    """
    begun = time.monotonic()
    with new_model(cache) as partial:
        if find_place(model, cache):
            return  # another process had it while we waited
        report(Event(model, "fetch", State.STARTED, "from huggingface.co, once for this user"))
        try:
            _load(model, partial / "downloads").save(str(partial / "model"))
        except CspaceError:
            report(Event(model, "fetch", State.FAILED, seconds=time.monotonic() - begun))
            raise
        publish_model(partial / "model", _cached(model, cache))
    report(Event(model, "fetch", State.DONE, seconds=time.monotonic() - begun))
