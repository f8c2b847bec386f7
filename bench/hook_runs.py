"""Times commands inside an instance, each with an event on stdin; prints their seconds as JSON.

python hook_runs.py ROUNDS COMMANDS    a JSON object: name → [argv, stdin]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time


def seconds(argv: list[str], stdin: str) -> float:
    started = time.perf_counter()
    subprocess.run(argv, input=stdin.encode(), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def main(rounds: str, commands: str) -> None:
    subjects = json.loads(commands)
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(int(rounds)):
        for name, (argv, stdin) in subjects.items():
            times[name].append(seconds(argv, stdin))
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
