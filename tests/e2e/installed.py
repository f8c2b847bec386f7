"""The wheel as a user gets it: installed into an empty environment, with what it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import CHECKOUT, OUTSIDE

SYSTEM_PYTHON = Path("/usr/bin/python3")


def build_wheel(directory: Path) -> Path:
    """Build the wheel of this checkout into a directory."""
    words = ("-m", "build", "--wheel", "--no-isolation", f"--outdir={directory}", str(CHECKOUT))
    _run(sys.executable, *words)
    (wheel,) = directory.glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> Path:
    """Install a wheel with its dependencies; return the cspace that a user would call."""
    _run(str(find_python()), "-m", "venv", str(environment))
    _run(str(environment / "bin" / "pip"), "install", "--quiet", str(wheel))
    return environment / "bin" / "cspace"


def find_python() -> Path:
    """Return a Python that every user may run, where there is one; else the tests' own."""
    own = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if not open_to_all(own) and SYSTEM_PYTHON.exists() and _suits(SYSTEM_PYTHON):
        return SYSTEM_PYTHON
    return own


def open_to_all(path: Path) -> bool:
    """Tell whether every user may reach this path."""
    return all(place.stat().st_mode & 0o001 for place in (path, *path.parents))


def _suits(python: Path) -> bool:
    question = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
    return (
        subprocess.run([python, "-c", question], check=False, capture_output=True).returncode == 0
    )


def _run(*words: str) -> None:
    done = subprocess.run(
        words, check=False, capture_output=True, text=True, env=OUTSIDE, stdin=subprocess.DEVNULL,
        cwd=os.sep,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
