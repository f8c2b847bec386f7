"""Archiving and removing an instance with 1,000 changed files, over plain `docker compose down`.

Both end the same composition: the file that cspace rendered, the same image, a running container,
with the same grace. Compose archives nothing, and removes neither the workspace nor any other
file; that is cspace's additional work, and all of it is measured. What removing the files alone
takes is shown too. Of the 1,000 files, in a
repository of as many, each has a line of its own more than the last commit.

    python -m bench.down [ROUNDS]
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from bench.measure import Ratio, alternate, run, show, timed
from bench.up import Site, make_site

ROUNDS = 7
FILES = 1_000
CHANGE = 'for file in src/*/*; do echo "changed $file" >>"$file"; done'


def make_files(repository: Path) -> None:
    """Make a repository of small files."""
    run("git", "init", "--quiet", repository)
    for number in range(FILES):
        file = repository / "src" / f"{number % 20:02}" / f"file{number:04}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{number} {line}\n" for line in range(100)), encoding="utf-8")


def changed(site: Site, name: str) -> Path:
    """Bring an instance up and change its files; return its state directory."""
    site.cspace("up", name, "--no-attach")
    site.cspace("exec", name, "--", "sh", "-c", CHANGE)
    counted = "git status --porcelain | wc -l"
    assert site.cspace("exec", name, "--", "sh", "-c", counted).strip() == str(FILES)
    [state] = site.home.glob(f".cspace/instances/*/{name}")
    return state


def cspace_down(site: Site) -> float:
    changed(site, "mercury")
    return timed(lambda: site.cspace("down", "mercury"))


def compose_down(site: Site, removal: list[float]) -> float:
    """Measure the peer; add what `rm -rf` of the same state directory takes to removal."""
    state = changed(site, "venus")
    file = state / "compose.yaml"
    [name] = (line for line in file.read_text("utf-8").splitlines() if line.startswith("name: "))
    [project] = shlex.split(name.removeprefix("name: "))
    seconds = timed(lambda: run("docker", "compose", "-p", project, "-f", file, "down"))
    removal.append(timed(lambda: run("rm", "-rf", state)))
    return seconds


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-", ignore_cleanup_errors=True) as place:
        site = make_site(Path(place), make_files)
        removal: list[float] = []
        times = alternate(
            {
                "cspace down": lambda: cspace_down(site),
                "compose down": lambda: compose_down(site, removal),
            },
            rounds,
        )
    show(times | {"rm -rf": tuple(removal)}, (Ratio("cspace down", "compose down", 2.5),))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
