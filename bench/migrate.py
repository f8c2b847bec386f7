"""A volume of 10,000 files of 2 KB brought home, over `docker run … cp -a` of the same volume.

Ours is a fresh process that plans, copies, publishes and verifies: it reads the volume twice and
the target once. Memory is the peak of that process, over volumes of the same number of files and of
one large file.

    python -m bench.migrate [ROUNDS]
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Ratio, alternate, run, show, show_bytes, timed

ROUNDS = 9
IMAGE = "debian:bookworm-slim"
FILES = 10_000
LARGE_MB = 500
# What is measured; it prints its own peak in bytes.
MIGRATE = """
import os, resource, sys
from pathlib import Path, PurePosixPath
from cspace.engine.docker import DockerEngine
from cspace.files import Owner
from cspace.migration.apply import apply_plan
from cspace.migration.model import Policy, Source, Target
from cspace.migration.plan import make_plan
engine, volume = DockerEngine(), sys.argv[1]
source = Source(volume, "legacy", lambda: engine.open_volume(volume))
owner = Owner(os.getuid(), os.getgid())
target = Target(Path(sys.argv[2]), PurePosixPath(".cspace/memory"), owner, lambda path: path)
outcome = apply_plan(make_plan(source, target, Policy()), source, target)
assert outcome.dispensable and outcome.written
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@contextlib.contextmanager
def volume(files: int, size: int) -> Iterator[str]:
    """Make a volume of so many files of so many bytes."""
    name = f"cspace-bench-{uuid.uuid4().hex[:12]}"
    run("docker", "volume", "create", name)
    try:
        script = (
            f"cd /volume; head -c {files * size} /dev/urandom"
            f" | split -b {size} -a 5 -d --additional-suffix=.md - note-;"
            f" for d in $(seq -f %03.0f 0 {(files - 1) // 100}); do"
            " mkdir $d; mv note-$d??.md $d; done"
        )
        run("docker", "run", "--rm", f"--volume={name}:/volume", IMAGE, "sh", "-euc", script)
        yield name
    finally:
        run("docker", "volume", "rm", name)


def migrate(name: str, place: Path) -> int:
    """Bring a volume home into an empty directory; return the peak of memory in bytes."""
    place.mkdir()
    return int(run(sys.executable, "-c", MIGRATE, name, place))


def copy(name: str, place: Path) -> None:
    """Have a container copy a volume into an empty directory."""
    place.mkdir()
    mounts = (f"--volume={name}:/from:ro", f"--volume={place}:/to")
    run("docker", "run", "--rm", *mounts, IMAGE, "cp", "-a", "/from/.", "/to")


def measure_times(place: Path, rounds: int) -> None:
    ours, theirs = place / "ours", place / "theirs"

    def once(name: str, to: Path) -> float:
        seconds = timed(lambda: migrate(name, to) if to is ours else copy(name, to))
        if ours.exists() and theirs.exists():
            run("diff", "-r", ours / ".cspace" / "memory", theirs)
            shutil.rmtree(ours)
            shutil.rmtree(theirs)
        return seconds

    with volume(FILES, 2048) as name:
        times = alternate(
            {"migrate": lambda: once(name, ours), "cp -a": lambda: once(name, theirs)}, rounds
        )
    show(times, (Ratio("migrate", "cp -a", 3),))


def measure_memory(place: Path) -> None:
    peaks: dict[str, int] = {}
    shapes = {
        "1 × 2 KB": (1, 2048),
        "10,000 × 2 KB": (FILES, 2048),
        "10,000 × 20 KB": (FILES, 20_480),
        f"1 × {LARGE_MB} MB": (1, LARGE_MB * 1_000_000),
    }
    for subject, (files, size) in shapes.items():
        with volume(files, size) as name:
            peaks[subject] = migrate(name, place / "memory")
        shutil.rmtree(place / "memory")
    ratios = (
        Ratio("10,000 × 20 KB", "10,000 × 2 KB", 1.1),
        Ratio(f"1 × {LARGE_MB} MB", "1 × 2 KB", 1.1),
    )
    show_bytes(peaks, ratios, where="of memory at the most")


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-") as directory:
        measure_times(Path(directory), rounds)
        measure_memory(Path(directory))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
