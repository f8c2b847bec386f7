"""Search quality: recall@5 by words and meaning together, by words only, and by meaning only.

python -m bench.recall [--misses]

Two labelled sets were written for this: memories of made-up projects in one repository, with
near-duplicates, superseded decisions and distractors, and questions of four kinds. recall@5 is
the share of the memories that answer a question which are among the first five, averaged over
questions.

`recall_set` is what search is developed with: the weights of the fusion and what is embedded were
chosen by it. Its `queries.yaml` came first, `queries_more.yaml` was written after the first
experiments, to tell more from noise. `recall_held_out` was written before its author knew how
search works, and nothing was chosen by it. The verdict is on it. --misses shows the misses of the
first set only.
"""

from __future__ import annotations

import math
import os
import statistics
import struct
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from functools import partial
from pathlib import Path

import yaml

from bench.measure import run
from cspace.events import ignore
from cspace.git_import import find_place
from cspace.index.embedder import (
    DEFAULT_MODEL,
    Embedder,
    Missing,
    find_embedder,
    models_directory,
)
from cspace.index.model import embedded
from cspace.notes.catalog import Catalog
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.question import Question
from cspace.notes.store import NotesStore

DEVELOPED = Path(__file__).with_name("recall_set")
HELD_OUT = Path(__file__).with_name("recall_held_out")
DEPTH = 5
KINDS = ("entity", "exact", "paraphrase", "temporal")
LEAST = 0.90


@dataclass(frozen=True, slots=True)
class Labelled:
    """A memory of the set, by its name in the labels."""

    id: str
    project: str
    at: datetime
    draft: Draft


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the names of the memories that answer it."""

    kind: str
    query: str
    relevant: tuple[str, ...]


Search = Callable[[str], list[str]]


def load_memories(directory: Path) -> list[Labelled]:
    """Read every project's memories, in the order of their days."""
    found = []
    for path in sorted(directory.glob("*.yaml")):
        if path.name.startswith("queries"):
            continue
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            at = datetime.combine(datetime.fromisoformat(entry["date"]), time(12), UTC)
            draft = Draft(
                Namespace(entry["namespace"]), entry["summary"], entry["body"], spec=path.stem,
                tags=tuple(entry.get("tags", ())),
            )  # fmt: skip
            found.append(Labelled(entry["id"], path.stem, at, draft))
    return sorted(found, key=lambda one: one.at)


def load_questions(path: Path) -> list[Asked]:
    """Read the questions."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Asked(one["kind"], one["query"], tuple(one["relevant"])) for one in entries]


def make_repository(root: Path, memories: list[Labelled]) -> tuple[NotesStore, dict[str, str]]:
    """Make a repository with a commit for each memory; return the labels' names by record id."""
    run("git", "init", "--quiet", root)
    store = NotesStore(root, find_place(root))
    names = {}
    for number, memory in enumerate(memories):
        when = memory.at.isoformat()
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        who = ("-c", "user.name=Bench", "-c", "user.email=bench@localhost")
        subject = f"{memory.project}: change {number}"
        run("git", *who, "commit", "--quiet", "--allow-empty", "-m", subject, cwd=root, env=dates)
        captured = replace(store, now=partial(_same, memory.at)).capture(memory.draft)
        names[captured.memory.id] = memory.id
    return store, names


def _same(at: datetime) -> datetime:
    return at


def by_catalog(catalog: Catalog, names: Mapping[str, str], embedder: Embedder | None) -> Search:
    """Search as `cspace notes recall` does."""

    def search(query: str) -> list[str]:
        found = catalog.recall(Question(query, limit=DEPTH), embedder)
        return [names[hit.memory.id] for hit in found.hits]

    return search


def by_meaning(memories: list[Labelled], embedder: Embedder) -> Search:
    """Search by vectors only, exactly."""
    texts = [
        embedded(" ".join(one.draft.tags), one.draft.summary, one.draft.body) for one in memories
    ]
    vectors = [_numbers(vector) for vector in embedder.embed(texts)]

    def search(query: str) -> list[str]:
        asked = _numbers(embedder.embed([query])[0])
        near = sorted(range(len(vectors)), key=lambda at: -_dot(asked, vectors[at]))
        return [memories[at].id for at in near[:DEPTH]]

    return search


def _numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def _dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def recall(asked: Asked, found: list[str]) -> float:
    """Return the share of the right memories that were found."""
    return len(set(asked.relevant) & set(found)) / len(asked.relevant)


def measure(questions: list[Asked], search: Search, *, misses: bool) -> dict[str, list[float]]:
    """Return each question's recall by its kind."""
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for asked in questions:
        hits = search(asked.query)
        value = recall(asked, hits)
        found[asked.kind].append(value)
        if value < 1 and misses:
            print(f"  {asked.kind}: {asked.query!r} wants {asked.relevant}, got {hits}")
    return found


def show(results: Mapping[str, Mapping[str, list[float]]]) -> dict[str, float]:
    """Print a line for each way of searching, and return their averages."""
    whole = {}
    titles = "".join(f"{kind:>12}" for kind in KINDS)
    print(f"{f'recall@{DEPTH}':<14}{'all':>8}{titles}{'mean of kinds':>16}")
    for name, kinds in results.items():
        whole[name] = statistics.mean(value for values in kinds.values() for value in values)
        means = [statistics.mean(kinds[kind]) if kinds[kind] else math.nan for kind in KINDS]
        parts = "".join(f"{mean:>12.3f}" for mean in means)
        mean = statistics.mean(one for one in means if not math.isnan(one))
        print(f"{name:<14}{whole[name]:>8.3f}{parts}{mean:>16.3f}")
    return whole


def main() -> None:
    embedder = find_embedder(DEFAULT_MODEL, models_directory(Path.home(), os.environ))
    if isinstance(embedder, Missing):
        sys.exit("the model is not here: make model")
    measure_set(DEVELOPED, ("queries.yaml", "queries_more.yaml"), embedder)
    whole = measure_set(HELD_OUT, ("queries.yaml",), embedder)
    best = max(whole["words only"], whole["meaning only"])
    held = whole["hybrid"] >= LEAST and whole["hybrid"] > best
    print(f"held out: hybrid ≥ {LEAST:.2f} and above each alone: {'ok' if held else 'BELOW'}")


def measure_set(directory: Path, files: tuple[str, ...], embedder: Embedder) -> dict[str, float]:
    """Print what is found of one set, for each file of questions; return the last averages."""
    memories, whole = load_memories(directory), dict[str, float]()
    with tempfile.TemporaryDirectory(prefix="cspace-bench-") as scratch:
        store, names = make_repository(Path(scratch) / "sample", memories)
        catalog = Catalog(store)
        catalog.reindex(ignore, embedder)
        ways = {
            "hybrid": by_catalog(catalog, names, embedder),
            "words only": by_catalog(catalog, names, None),
            "meaning only": by_meaning(memories, embedder),
        }
        misses = directory == DEVELOPED and "--misses" in sys.argv
        for file in files:
            questions = load_questions(directory / file)
            found = {name: measure(questions, way, misses=misses) for name, way in ways.items()}
            print(f"{directory.name}/{file}: {len(memories)} memories, {len(questions)} questions")
            whole = show(found)
    return whole


if __name__ == "__main__":
    main()
