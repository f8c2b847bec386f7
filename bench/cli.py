"""Start-up: `cspace --help` and `cspace list` over `python -c "import typer"`.

python -m bench.cli
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.measure import CSPACE, Ratio, alternate, run, show, timed

ROUNDS = 15


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-") as directory:
        repository = Path(directory) / "sample"
        run("git", "init", "--quiet", repository)
        home = {"HOME": directory}

        def cspace(*words: str) -> float:
            return timed(lambda: run(CSPACE, *words, cwd=repository, env=home))

        subjects = {
            "import typer": lambda: timed(lambda: run(sys.executable, "-c", "import typer")),
            "cspace --help": lambda: cspace("--help"),
            "cspace list": lambda: cspace("list"),
        }
        show(
            alternate(subjects, ROUNDS),
            (
                Ratio("cspace --help", "import typer", 2.0),
                Ratio("cspace list", "import typer", 4.0),
            ),
        )


if __name__ == "__main__":
    main()
