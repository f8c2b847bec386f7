"""Times programs side by side, and prints medians and the ratios between them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CSPACE = Path(sys.executable).with_name("cspace")


@dataclass(frozen=True, slots=True)
class Ratio:
    """A claim: a subject's median time or its size over another's, and what it may not exceed."""

    subject: str
    baseline: str
    limit: float


def run(*argv: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a program to its end and return its output; a failure ends the benchmark."""
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=environment() | dict(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{argv} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def environment() -> dict[str, str]:
    """Return ours, where Python keeps what it compiled, as it does for an installed cspace.

    Else every start of cspace compiles three hundred files, which takes longer than what it does.
    """
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def timed(act: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def alternate(
    subjects: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, tuple[float, ...]]:
    """Measure every subject once a round, so that a slow minute hits all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, measure in subjects.items():
            times[name].append(measure())
    return {name: tuple(values) for name, values in times.items()}


def show(times: Mapping[str, Sequence[float]], ratios: Sequence[Ratio]) -> None:
    """Print a line a subject and a line a ratio."""
    width = max(map(len, times))
    for name, values in times.items():
        spread = f"{min(values):.4f} … {max(values):.4f}"
        median = statistics.median(values)
        print(f"{name:<{width}}  median {median:.4f} s  ({spread}, n = {len(values)})")
    _show_ratios({name: statistics.median(values) for name, values in times.items()}, ratios)


def show_bytes(
    sizes: Mapping[str, int], ratios: Sequence[Ratio], *, where: str = "on disk"
) -> None:
    """Print what each subject takes, on the disk or elsewhere, and the ratios."""
    width = max(map(len, sizes))
    for name, size in sizes.items():
        print(f"{name:<{width}}  {size / 1e6:.1f} MB {where}")
    _show_ratios(sizes, ratios)


def _show_ratios(values: Mapping[str, float], ratios: Sequence[Ratio]) -> None:
    for ratio in ratios:
        if ratio.subject not in values or ratio.baseline not in values:
            print(f"{ratio.subject} ÷ {ratio.baseline}: not measured here")
            continue
        value = values[ratio.subject] / values[ratio.baseline]
        verdict = "ok" if value <= ratio.limit else "ABOVE"
        name = f"{ratio.subject} ÷ {ratio.baseline}"
        print(f"{name}: {value:.2f}  (claimed ≤ {ratio.limit:g}: {verdict})")


def size_of(directory: Path) -> int:
    """Return the bytes that a directory takes on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in directory.rglob("*"))
