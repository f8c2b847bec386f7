"""The index of commit notes at 10,000 and at 100,000 memories: how fast it is made and searched.

    python -m bench.notes_recall [SIZE …]

A repository of so many annotated commits is made, git chooses the fan-out. Summaries have 8 words,
bodies 60, of 20,000 words as common as in a language. Vectors have 384 dimensions and the shape of
a model's: 2,000 topics in 100 fields, all of them somewhat alike, more in some directions than in
others, and queries near a topic and no nearer to any memory than a paraphrase is.

A recall is what a tool's call costs in a process that is warm: git is asked whether the index is
still current, words and meaning are searched, hits are read. The embedding of the query is not
counted. sqlite-vec's own scan is that of `vec0` over bits, and the nearest compared again by whole
vectors, as many as give 0.95 of the exact scan's ten nearest.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.measure import CSPACE, Ratio, alternate, environment, run, show, timed
from cspace.events import Event
from cspace.index.database import load_vector_functions
from cspace.index.index import Index
from cspace.index.model import Filters
from cspace.notes.catalog import Catalog
from cspace.notes.question import Question
from tests.notes.annotated import annotate, open_catalog

SIZES = (10_000, 100_000)
DIMENSIONS, FIELDS, TOPICS, VOCABULARY = 384, 100, 2_000, 20_000
QUERIES = 60
ROUNDS = 15
NEAREST = 10
MIN_OVERLAP = 0.95
MAX_RECALL = 0.010  # seconds, at the first of the sizes
Vectors = NDArray[np.float32]


@dataclass
class Shape:
    """Vectors as a model makes them, the same in every run."""

    source: np.random.Generator = field(default_factory=lambda: np.random.default_rng(8))

    def __post_init__(self) -> None:
        # More in some directions than in others.
        self.scales = (1 + np.arange(DIMENSIONS)) ** -0.35
        self.turn = np.linalg.qr(self.source.normal(size=(DIMENSIONS, DIMENSIONS)))[0]
        fields = self._noise(FIELDS)
        self.topics = fields[self.source.integers(0, FIELDS, TOPICS)] + 0.8 * self._noise(TOPICS)
        self.common = 0.5 * self._noise(1)

    def memories(self, count: int) -> Vectors:
        return self._near(self.source.integers(0, TOPICS, count), 0.8)

    def queries(self, count: int) -> Vectors:
        return self._near(self.source.integers(0, TOPICS, count), 1.0)

    def _near(self, topics: NDArray[np.int64], distance: float) -> Vectors:
        found = self.common + self.topics[topics] + distance * self._noise(len(topics))
        unit: Vectors = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype("<f4")
        return unit

    def _noise(self, count: int) -> NDArray[np.float64]:
        noise: NDArray[np.float64] = self.source.normal(size=(count, DIMENSIONS)) * self.scales
        turned: NDArray[np.float64] = noise @ self.turn
        return turned


@dataclass
class Prepared:
    """Gives vectors that were made before: a query's embedding is not what is measured."""

    vector: bytes = b""
    id: str = "prepared"
    dimensions: int = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self.vector for _ in texts]


class World:
    """A repository with so many memories, its index, and queries."""

    def __init__(self, directory: Path, size: int) -> None:
        self.repository, self.size = directory / "repository", size
        run("git", "init", "--quiet", "-b", "main", self.repository)
        who = ("-c", "user.name=Test", "-c", "user.email=t@example.com")
        words = ("commit", "--quiet", "--allow-empty", "-m", "Start")
        run("git", *who, "-C", self.repository, *words)
        texts = list(_texts(size + QUERIES))
        annotate(self.repository, texts[:size])
        source = random.Random(5)  # noqa: S311  no secret
        words_of = [" ".join(source.sample(body.split(), 5)) for _, body in texts[size:]]
        self.catalog: Catalog = open_catalog(self.repository)
        self.questions = words_of

    def embed(self, shape: Shape) -> None:
        """Give every memory a vector, without a model."""
        self.vectors, self.asked = shape.memories(self.size), shape.queries(QUERIES)
        index = Index.open(self.catalog.path, to_change=True)
        index.expect("prepared")
        digests = list(index.missing_vectors(self.size))
        index.put_vectors(
            "prepared",
            {one: self.vectors[at].tobytes() for at, one in enumerate(digests)},
        )
        self.vectors = self.vectors[: len(digests)]
        index.close()

    def blobs(self) -> bytes:
        ref = "--ref=refs/notes/cs/decisions"
        said = run("git", "-C", self.repository, "notes", ref, "list")
        return "".join(f"{line.split()[0]}\n" for line in said.splitlines()).encode()


def _texts(count: int) -> Iterator[tuple[str, str]]:
    source = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lengths = source.integers(3, 10, VOCABULARY)
    words = np.array(["".join(source.choice(letters, length)) for length in lengths])
    weights = 1 / np.arange(1, VOCABULARY + 1)
    for number in range(count):
        chosen = words[source.choice(VOCABULARY, 68, p=weights / weights.sum())]
        yield f"{' '.join(chosen[:8])} {number}", " ".join(chosen[8:]) + "\n"


def _silent(_: Event) -> None:
    return None


def measure_reindex(world: World) -> None:
    """Compare a build of the index, nothing embedded, with git's reading of the same notes."""
    blobs = world.blobs()

    def read() -> None:
        words = ("git", "-C", world.repository, "cat-file", "--batch")
        subprocess.run(words, input=blobs, stdout=subprocess.DEVNULL, check=True)

    times = alternate(
        {
            "git cat-file --batch": lambda: timed(read),
            "reindex": lambda: timed(lambda: world.catalog.reindex(_silent, None)),
        },
        5,
    )
    show(times, [])
    if world.size == SIZES[0]:
        by_git, took = (statistics.median(values) for values in times.values())
        verdict = "ok" if took <= max(3, 3 * by_git) else "ABOVE"
        print(f"reindex: {took:.2f} s  (claimed ≤ 3 s, or ≤ 3 × git cat-file --batch: {verdict})")


def measure_recall(world: World) -> None:
    """Compare a whole recall with sqlite-vec's own scan of bits, and its hits with an exact one."""
    exact = [set(np.argsort(-(world.vectors @ one))[:NEAREST].tolist()) for one in world.asked]
    with tempfile.TemporaryDirectory() as directory:
        baseline = Baseline(Path(directory) / "vec0.db", world.vectors)
        count = next(
            count for count in (20, 50, 100, 200, 400, 800)
            if _overlap(exact, (baseline.nearest(one, count) for one in world.asked)) >= MIN_OVERLAP
        )  # fmt: skip
        ours = _overlap(exact, _nearest(world))
        print(f"the {NEAREST} nearest are the exact scan's: {ours:.3f}  (claimed ≥ {MIN_OVERLAP})")
        scan = f"vec0 over bits, {count} again exactly"
        each: dict[str, Callable[[int], object]] = {
            "recall": lambda at: _recall(world, at),
            "recall by words": lambda at: world.catalog.recall(Question(world.questions[at])),
            "the current index's check": lambda _: world.catalog.store.tips(),
            scan: lambda at: baseline.nearest(world.asked[at], count),
        }
        times: dict[str, list[float]] = {name: [] for name in each}
        for at in range(QUERIES):
            for name, act in each.items():
                times[name].append(timed(lambda act=act, at=at: act(at)))  # type: ignore[misc]
        # A scan of few takes less than asking git whether anything has changed.
        show(times, [Ratio("recall", scan, 3)] if world.size >= SIZES[1] else [])
    if world.size == SIZES[0]:
        median = statistics.median(times["recall"])
        verdict = "ok" if median <= MAX_RECALL else "ABOVE"
        print(f"recall: {1000 * median:.1f} ms  (claimed ≤ {1000 * MAX_RECALL:g} ms: {verdict})")


def _recall(world: World, at: int) -> None:
    embedder = Prepared(world.asked[at].tobytes())
    found = world.catalog.recall(Question(world.questions[at]), embedder)
    assert len(found.hits) == NEAREST
    assert found.without_vector == 0


def _nearest(world: World) -> Iterator[list[int]]:
    """Return what our own search finds by meaning alone."""
    index = Index.open(world.catalog.path)
    place = {row.tobytes(): at for at, row in enumerate(world.vectors)}
    sql = "select vectors.vector from items join vectors on vectors.id = items.vector where key = ?"
    for one in world.asked:
        hits = index.search("absentword", one.tobytes(), Filters(), NEAREST)
        yield [place[index.db.execute(sql, (hit.key,)).get] for hit in hits]
    index.close()


def _overlap(exact: Sequence[set[int]], found: Iterator[list[int]]) -> float:
    return statistics.mean(
        len(right & set(ours)) / NEAREST for right, ours in zip(exact, found, strict=True)
    )


class Baseline:
    """The same vectors as sqlite-vec itself would have them."""

    def __init__(self, path: Path, vectors: Vectors) -> None:
        self.db = apsw.Connection(str(path))
        load_vector_functions(self.db)
        self.db.execute("pragma synchronous = off")
        self.db.execute("pragma mmap_size = 1073741824")
        self.db.execute("create table whole(id integer primary key, vector blob)")
        self.db.execute(f"create virtual table bits using vec0(bits bit[{DIMENSIONS}])")
        with self.db:
            rows = ((at, one.tobytes()) for at, one in enumerate(vectors))
            self.db.executemany("insert into whole values(?, ?)", rows)
            sql = "insert into bits(rowid, bits) select id, vec_quantize_binary(vector) from whole"
            self.db.execute(sql)

    def nearest(self, vector: Vectors, count: int) -> list[int]:
        sql = (
            "select id from whole where id in (select rowid from bits where bits match"
            " vec_quantize_binary(?1) and k = ?2) order by vec_distance_cosine(vector, ?1) limit ?3"
        )
        rows = self.db.execute(sql, (vector.tobytes(), count, NEAREST))
        return [int(at) for (at,) in rows]


def measure_process(world: World) -> None:
    """Compare a person's command, by words, with the shortest that there is."""
    # Where no model is.
    env = environment() | {"XDG_CACHE_HOME": str(world.repository / "no-cache")}

    def cspace(*words: str) -> float:
        start = time.perf_counter()
        subprocess.run(
            (CSPACE, *words), cwd=world.repository, env=env, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return time.perf_counter() - start

    question = world.questions[0]
    times = alternate(
        {
            "cspace --help": lambda: cspace("--help"),
            "cspace notes recall": lambda: cspace("notes", "recall", question),
        },
        ROUNDS,
    )
    show(times, [Ratio("cspace notes recall", "cspace --help", 4)])


def measure(size: int) -> None:
    """Make a world of so many memories, and measure it."""
    print(f"{size:,} memories")
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory), size)
        measure_reindex(world)
        measure_process(world)
        world.embed(Shape())
        measure_recall(world)


if __name__ == "__main__":
    for asked in [int(word) for word in sys.argv[1:]] or SIZES:
        measure(asked)
