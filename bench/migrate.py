"""A volume of 10,000 files of 2 KB brought home, over `docker run … cp -a` of the same volume.

Ours is `cspace memory migrate`, which plans, copies, publishes and verifies: it reads the volume
twice and the target once. Memory is the peak of that process, over volumes of the same number of
files and of one large file.

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

from bench.measure import CSPACE, Ratio, alternate, run, show, show_bytes, timed

ROUNDS = 9
IMAGE = "debian:bookworm-slim"
FILES = 10_000
LARGE_MB = 500
# Prints the peak of the command that it runs, in bytes.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
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
    """Bring a volume home into an empty project; return the peak of memory in bytes."""
    run("git", "init", "--quiet", place)
    home = {"HOME": str(place.parent)}
    command = (CSPACE, "memory", "migrate", "--volume", name)
    return int(run(sys.executable, "-c", MEASURED, *command, cwd=place, env=home))


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
