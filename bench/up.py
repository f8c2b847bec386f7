"""Bringing an instance up, with the image there, over what others take for the same container.

Compose gets the very file that cspace rendered, whose network nobody seals then; the devcontainer
CLI gets the very image, and the time until the same container is ready, which it does not wait for
by itself. It is installed from npm for the run; without npm its line is left out. Neither of the
two makes a clone.

Then a workspace of a large repository beside `git clone --no-hardlinks` of it, in time and bytes:
the whole of `up`, the clone alone, and the clone where nothing but one pack is there, which holds
another branch too and so may not be copied.

    python -m bench.up [ROUNDS]
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.large import gather, make_large
from bench.measure import CSPACE, Ratio, alternate, run, show, show_bytes, size_of, timed
from cspace.files import Owner
from cspace.instance.workspace import new_workspace, plan_start
from cspace.project import find_project

ROUNDS = 7
# One of them takes as long as ten of a small repository.
LARGE_ROUNDS = 3
GIT_CLONE, UP_LARGE = "git clone --no-hardlinks", "cspace up, large"
WORKSPACE, GATHERED = "its workspace alone", "its workspace alone, one mixed pack"
UNTIL_READY = "until test -e /run/cspace/ready; do sleep 0.02; done"
DEVCONTAINER_CLI = "@devcontainers/cli@0.89.0"
CONFIGURATION = Path(__file__).parent.parent / "devcontainer" / "devcontainer.json"

_SEALED, _UNSEALED = '"CSPACE_FIREWALL": "on"', '"CSPACE_FIREWALL": "off"'
GIT = ("git", "-c", "user.name=Bench", "-c", "user.email=bench@example.com")


@dataclass(frozen=True, slots=True)
class Site:
    """A sample repository, and the home that the measured programs see."""

    home: Path
    repository: Path

    def cspace(self, *words: str) -> str:
        return run(CSPACE, *words, cwd=self.repository, env={"HOME": str(self.home)})

    def cspace_up(self, *names: str) -> float:
        seconds = timed(lambda: self.cspace("up", *names, "--no-attach"))
        self.cspace("down", *(f"--discard={name}" for name in names))
        return seconds

    def compose_up(self) -> float:
        """Start and remove the same service, with nothing done before that its start does."""
        [found] = self.home.glob(".cspace/instances/*/template/compose.yaml")
        for name in (".claude.json", "settings.json"):
            (found.parent / "claude" / name).unlink()
        words = ("docker", "compose", "-p", "cspace-bench", "-f", unsealed(found))
        seconds = timed(lambda: run(*words, "up", "--detach", "--wait"))
        run(*words, "down", "--timeout", "1")
        return seconds

    def devcontainer_up(self, program: Path, image: str) -> float:
        words = (program, "up", "--workspace-folder", self.repository, "--config", CONFIGURATION)
        container = ""

        def until_ready() -> None:
            nonlocal container
            said = run(*words, env={"HOME": str(self.home), "CSPACE_IMAGE": image})
            container = json.loads(said.splitlines()[-1])["containerId"]
            run("docker", "exec", container, "sh", "-c", UNTIL_READY)

        seconds = timed(until_ready)
        run("docker", "rm", "--force", container)
        return seconds


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-", ignore_cleanup_errors=True) as place:
        measure_start(Path(place), rounds)
    with tempfile.TemporaryDirectory(prefix="cspace-bench-", ignore_cleanup_errors=True) as place:
        measure_large(Path(place), min(rounds, LARGE_ROUNDS))


def measure_start(place: Path, rounds: int) -> None:
    """Measure a small repository against others who start the same container."""
    site = make_site(place)
    site.cspace("up", "template", "--no-attach")
    [template] = json.loads(site.cspace("status", "template", "--json"))["instances"]
    site.cspace("stop", "template")
    subjects = {
        "cspace up": lambda: site.cspace_up("mercury"),
        "compose up --wait": site.compose_up,
        "two cspace up at once": lambda: site.cspace_up("venus", "earth"),
    }
    program = devcontainer_program(place)
    if program is not None:
        subjects["devcontainer up"] = lambda: site.devcontainer_up(program, template["image"])
    try:
        times = alternate(subjects, rounds)
    finally:
        site.cspace("down", "--discard=template")
    show(
        times,
        (
            Ratio("cspace up", "compose up --wait", 1.5),
            Ratio("cspace up", "devcontainer up", 0.8),
            Ratio("two cspace up at once", "cspace up", 1.6),
        ),
    )


def measure_large(place: Path, rounds: int) -> None:
    """Measure a large repository against a clone of it."""
    site = make_site(place, make_large)
    os.environ["HOME"] = str(site.home)
    gathered = place / "gathered"
    gather(site.repository, gathered)
    target = place / "target"
    sizes: dict[str, int] = {}

    def cloning(name: str, make: Callable[[], object]) -> Callable[[], float]:
        def measure() -> float:
            os.sync()  # what the one before wrote is not this one's burden
            seconds = timed(make)
            sizes[name] = size_of(target)
            shutil.rmtree(target)
            return seconds

        return measure

    def of_git() -> object:
        return run("git", "clone", "--quiet", "--no-hardlinks", site.repository, target)

    def up() -> float:
        os.sync()
        return site.cspace_up("mercury")

    site.cspace_up("mercury")  # the image is there before anything is measured
    times = alternate(
        {
            GIT_CLONE: cloning(GIT_CLONE, of_git),
            UP_LARGE: up,
            WORKSPACE: cloning(WORKSPACE, lambda: make_workspace(site.repository, target)),
            GATHERED: cloning(GATHERED, lambda: make_workspace(gathered, target)),
        },
        rounds,
    )
    ratios = [Ratio(name, GIT_CLONE, 1.3) for name in (UP_LARGE, WORKSPACE, GATHERED)]
    show(times, ratios)
    show_bytes(sizes, ratios[1:])


def make_workspace(repository: Path, workspace: Path) -> None:
    project = find_project(repository)
    start = plan_start(project, "mercury", None)
    with new_workspace(project, start, workspace, Owner(1000, 1000)):
        pass


def make_small(repository: Path) -> None:
    """Make a repository with a single file."""
    run("git", "init", "--quiet", repository)
    (repository / "README.md").write_text("# Sample\n", encoding="utf-8")


def make_site(place: Path, make: Callable[[Path], None] = make_small) -> Site:
    """Make a repository and a home; as root they are the container user's, as everywhere."""
    site = Site(place / "home", place / "sample")
    site.home.mkdir()
    place.chmod(0o755)
    make(site.repository)
    site.cspace("init")
    run(*GIT, "-C", site.repository, "add", "--all")
    run(*GIT, "-C", site.repository, "commit", "--quiet", "--message", "Start")
    if os.geteuid() == 0:
        run("chown", "-R", "1000:1000", site.repository)
        safe = ("--add", "safe.directory", "*")
        run("git", "config", "--global", *safe, env={"HOME": str(site.home)})
    return site


def unsealed(file: Path) -> Path:
    """Write a Compose file again whose containers wait for nothing that only cspace does."""
    plain, text = file.with_name("unsealed.yaml"), file.read_text(encoding="utf-8")
    assert _SEALED in text
    plain.write_text(text.replace(_SEALED, _UNSEALED), encoding="utf-8")
    return plain


def devcontainer_program(place: Path) -> Path | None:
    """Install the reference CLI into a directory of the run."""
    if shutil.which("npm") is None:
        return None
    run("npm", "install", "--silent", "--prefix", place / "npm", DEVCONTAINER_CLI)
    return place / "npm" / "node_modules" / ".bin" / "devcontainer"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
