"""What the processes of one test run make once and use together."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from cspace import files
from tests.conftest import OUTSIDE

LONGEST = 600.0  # seconds, to fill a directory


def run_directory(factory: pytest.TempPathFactory) -> Path:
    """Return a directory that all processes of this test run have in common."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in OUTSIDE else own


@contextmanager
def shared_directory(place: Path, fill: Callable[[Path], object]) -> Iterator[Path]:
    """Give a directory that any user may enter: the first process fills it, the last removes it.

    Args:
        place: a file that says where the directory is; who uses that one locks the file.
    """
    lock = place.with_suffix(".lock")
    changing = partial(files.lock, lock, timeout=LONGEST, holder="a test")
    with place.open("a", encoding="utf-8") as used:
        with changing():
            if not place.read_text(encoding="utf-8"):
                place.write_text(str(_filled(fill)), encoding="utf-8")
            directory = Path(place.read_text(encoding="utf-8"))
            fcntl.flock(used, fcntl.LOCK_SH)
        try:
            yield directory
        finally:
            with changing(), suppress(BlockingIOError):
                fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place.write_text("", encoding="utf-8")
                shutil.rmtree(directory)


def _filled(fill: Callable[[Path], object]) -> Path:
    # Not below pytest's own directory, which only one user may enter.
    directory = Path(tempfile.mkdtemp(prefix="cspace-e2e-"))
    directory.chmod(0o755)
    try:
        fill(directory)
    except BaseException:
        shutil.rmtree(directory)
        raise
    return directory
