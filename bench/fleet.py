"""Bringing up N instances at once, beside N × what others take for the same containers.

`docker compose up --wait` gets the very files that cspace rendered, with networks and proxy there
already, and seals nothing; the devcontainer CLI gets the very image and a copy of the repository
each, and the time until the container is ready. Both are started N at once, as many at a time as
cspace works on. Neither makes a clone or a network. The devcontainer CLI is installed from npm for
the run; without npm its lines are left out.

    python -m bench.fleet [N ...]
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.measure import CSPACE, Ratio, environment, run, show, size_of, timed
from bench.up import CONFIGURATION, UNTIL_READY, Site, devcontainer_program, make_site, unsealed
from cspace.lifecycle.batch import at_once

SIZES = (1, 2, 4, 8, 16, 32)
COMPARED = 8
OURS, COMPOSE, DEVCONTAINER = "cspace up -n", "compose up --wait ×", "devcontainer up ×"
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


@dataclass(frozen=True, slots=True)
class Fleet:
    """What one batch took.

    Attributes:
        ready: seconds from the start of the batch until each was ready, sorted.
        memory: bytes of all containers together.
        disk: bytes of all workspaces, state directories and writable layers together.
    """

    total: float
    ready: tuple[float, ...]
    memory: int
    disk: int

    def part(self, share: float) -> float:
        """Return the seconds after which this share of them was ready."""
        return self.ready[math.ceil(share * len(self.ready)) - 1]


def main(sizes: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-", ignore_cleanup_errors=True) as place:
        site = make_site(Path(place))
        site.cspace_up("template")  # the images are there before anything is measured
        program = devcontainer_program(Path(place))
        for size in sizes:
            found = measure(site, size, program)
            for name, fleet in found.items():
                print(describe(f"{name} {size}", fleet), flush=True)
            if size == COMPARED:
                show_ratios(found)


def measure(site: Site, size: int, program: Path | None) -> dict[str, Fleet]:
    """Measure one size by all three, one after the other."""
    found = {OURS: by_cspace(site, size)}
    image = json.loads(site.cspace("status", "mercury", "--json"))["instances"][0]["image"]
    site.cspace("stop", "--all")
    found[COMPOSE] = by_compose(site)
    print(f"cspace down --all, {size}: {timed(lambda: site.cspace('down', '--all')):.1f} s")
    if program is not None:
        found[DEVCONTAINER] = by_devcontainer(site, size, program, image)
    return found


def by_cspace(site: Site, size: int) -> Fleet:
    words = (str(CSPACE), "up", "-n", str(size), "--json")
    home = {"HOME": str(site.home)}
    started = time.perf_counter()
    with subprocess.Popen(
        words, cwd=site.repository, env=environment() | home, stdout=subprocess.PIPE
    ) as process:
        ready = [
            time.perf_counter() - started
            for line in process.stdout or ()
            if json.loads(line)["event"] == "result"
        ]
    if process.returncode:
        sys.exit(f"{words} ended with {process.returncode}")
    total = time.perf_counter() - started
    containers = run("docker", "ps", "-q", f"--filter=label=dev.cspace.root={site.repository}")
    state = sum(size_of(path) for path in (site.home / ".cspace" / "instances").iterdir())
    return _fleet(total, ready, containers.split(), state)


def by_compose(site: Site) -> Fleet:
    """Start and remove the same services, with nothing done before that their start does."""
    files = sorted(site.home.glob(".cspace/instances/*/*/compose.yaml"))
    for file in files:
        for name in (".claude.json", "settings.json"):
            (file.parent / "claude" / name).unlink(missing_ok=True)
    words = [
        ("docker", "compose", "-p", f"cspace-bench-{number}", "-f", unsealed(file))
        for number, file in enumerate(files)
    ]
    total, ready = together([partial(run, *one, "up", "-d", "--wait") for one in words])
    containers = [run(*one, "ps", "-q").strip() for one in words]
    fleet = _fleet(total, ready, containers, 0)
    run("docker", "rm", "--force", *containers)
    return fleet


def by_devcontainer(site: Site, size: int, program: Path, image: str) -> Fleet:
    containers: list[str] = []
    copies = [site.home / f"copy-{number}" for number in range(size)]
    for copy in copies:
        run("cp", "--archive", site.repository, copy)

    def up(copy: Path) -> None:
        words = (program, "up", "--workspace-folder", copy, "--config", CONFIGURATION)
        said = run(*words, env={"HOME": str(site.home), "CSPACE_IMAGE": image})
        container = json.loads(said.splitlines()[-1])["containerId"]
        containers.append(container)
        run("docker", "exec", container, "sh", "-c", UNTIL_READY)

    total, ready = together([partial(up, copy) for copy in copies])
    fleet = _fleet(total, ready, containers, sum(map(size_of, copies)))
    run("docker", "rm", "--force", *containers)
    for copy in copies:
        shutil.rmtree(copy)
    return fleet


def together(acts: Sequence[Callable[[], object]]) -> tuple[float, list[float]]:
    """Do all, as many at a time as cspace does; return the total, and when each was done."""
    started = time.perf_counter()

    def done(act: Callable[[], object]) -> float:
        act()
        return time.perf_counter() - started

    with ThreadPoolExecutor(at_once()) as pool:
        ready = list(pool.map(done, acts))
    return time.perf_counter() - started, ready


def _fleet(total: float, ready: Sequence[float], containers: Sequence[str], disk: int) -> Fleet:
    used = run("docker", "stats", "--no-stream", "--format={{.MemUsage}}", *containers)
    written = run("docker", "inspect", "--size", "--format={{.SizeRw}}", *containers)
    return Fleet(
        total,
        tuple(sorted(ready)),
        sum(_parse_size(line.partition(" / ")[0]) for line in used.splitlines()),
        disk + sum(map(int, written.split())),
    )


def _parse_size(text: str) -> int:
    number = text.rstrip("BGKMTi")
    return int(float(number) * _UNITS[text[len(number) :]])


def describe(name: str, fleet: Fleet) -> str:
    count = len(fleet.ready)
    return (
        f"{name:<22} total {fleet.total:6.1f} s  p50 {fleet.part(0.5):6.1f} s"
        f"  p95 {fleet.part(0.95):6.1f} s  each {fleet.memory / count / 1e6:6.1f} MB of memory"
        f"  {fleet.disk / count / 1e6:6.2f} MB on disk"
    )


def show_ratios(found: dict[str, Fleet]) -> None:
    show(
        {name: (fleet.total,) for name, fleet in found.items()},
        (Ratio(OURS, COMPOSE, 1.4), Ratio(OURS, DEVCONTAINER, 0.5)),
    )


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or SIZES)
