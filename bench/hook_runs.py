"""Times commands inside an instance, each with a text on stdin; prints JSON.

    python hook_runs.py ROUNDS COMMANDS    a JSON object: name → [argv, stdin]

For each name a list of [seconds from start to end, seconds of processor time]: on a machine that
has other things to do, only the second says what a command costs.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(argv: list[str], stdin: str) -> tuple[float, float]:
    started, used = time.perf_counter(), processor_seconds()
    subprocess.run(argv, input=stdin.encode(), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started, processor_seconds() - used


def main(rounds: str, commands: str) -> None:
    subjects = json.loads(commands)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in subjects}
    for _ in range(int(rounds)):
        for name, (argv, stdin) in subjects.items():
            times[name].append(run(argv, stdin))
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
