"""What a test run makes once is there for all of its processes, and for nobody after it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.shared import shared_directory

USE = """
import sys
from pathlib import Path
from tests.shared import shared_directory
with shared_directory(Path(sys.argv[1]), lambda made: (made / sys.argv[2]).touch()) as directory:
    print(directory, flush=True)
    sys.stdin.read()
"""


@contextmanager
def using(place: Path, name: str) -> Iterator[Path]:
    """Give the directory as another process has it, which would put a file of a name there."""
    words = (sys.executable, "-c", USE, str(place), name)
    with subprocess.Popen(
        words, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield Path(process.stdout.readline().decode().rstrip("\n"))


def test_the_first_process_fills_it_and_the_last_one_removes_it(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with using(place, "second") as later:
        with using(place, "third") as last:
            assert later == last
            assert [path.name for path in later.iterdir()] == ["second"]
        assert later.is_dir()
        assert later.stat().st_mode & 0o005
    assert not later.exists()
    with using(place, "anew") as again:
        assert [path.name for path in again.iterdir()] == ["anew"]


def test_one_that_could_not_be_filled_is_filled_by_the_next(tmp_path: Path) -> None:
    made: list[Path] = []

    def fail(directory: Path) -> None:
        made.append(directory)
        raise ValueError("no wheel")

    with pytest.raises(ValueError, match="no wheel"), shared_directory(tmp_path / "place", fail):
        pass
    assert not made[0].exists()
    with shared_directory(tmp_path / "place", made.append) as directory:
        assert made[1] == directory
