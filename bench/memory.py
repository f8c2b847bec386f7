"""Writes, reads and searches of curated memory, at 10, 1,000 and 10,000 entries of one scope.

Each in this process, as a tool's call is, and as a whole process, as a person's command is. Entries
have 1 KB. A write is one of a new entry, its line of the index and a line of the log, each on the
disk before it ends. A search reads every file, from the page cache, as `grep -ri` does.

    python -m bench.memory [ROUNDS]
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.measure import CSPACE, Ratio, alternate, environment, run, show, timed
from cspace.memory.changes import Change, Operation
from cspace.memory.scopes import Kind, Scope
from cspace.memory.search import search_memory
from cspace.memory.store import MemoryStore
from cspace.paths import curated_memory, user_directory

ROUNDS = 15
SIZES = (10, 1_000, 10_000)
SCOPE = Scope(Kind.USER)
TEXT = "The queue keeps a row for every worker, and the row goes only when it ends by itself. " * 5
BODY = "# What worker {0} does\n\n**Why:** {1}\n\n**How to apply:** {1}\n"
HEAD = (
    "---\nname: what-worker-{0}-does\ndescription: What worker {0} does when it waits\n"
    "metadata:\n  type: user\n  updated_at: 2026-04-14T10:30:00Z\n---\n"
)
# In one entry; in the texts of all; in the names, descriptions and texts of all; in none.
QUERIES = {"rare": "heron", "common": "queue", "everywhere": "worker", "absent": "walrus"}
HELP = "cspace --help"
WRITES = ("write", "cspace memory write")


def fill(store: MemoryStore, size: int) -> None:
    """Write the files as the store does, and the index from them."""
    directory = store.directory(SCOPE)
    directory.mkdir(parents=True)
    for number in range(size):
        text = (HEAD + BODY).format(number, TEXT) + ("A heron.\n" if number == size // 2 else "")
        (directory / f"what-worker-{number}-does.md").write_text(text, encoding="utf-8")
    assert store.reindex(SCOPE) == size


@dataclass
class Home:
    """An empty home with a filled memory; every measured write removes what it wrote."""

    path: Path
    size: int
    store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(curated_memory(user_directory(self.path)))
        self._numbers = itertools.count()
        fill(self.store, self.size)

    def subjects(self) -> dict[str, Callable[[], float]]:
        """Return what is measured, each with its size in its name."""
        acts: dict[str, Callable[[], float]] = {
            "write": self._write,
            "show": lambda: timed(lambda: self.store.read(SCOPE, self._middle)),
            "list": lambda: timed(lambda: self.store.list_entries(SCOPE)),
        }
        for kind, word in QUERIES.items():
            acts[f"search, {kind}"] = partial(self._search, word)
        acts["cspace memory write"] = self._run_write
        acts["cspace memory show"] = partial(self._cspace, "show", self._middle)
        acts["cspace memory list"] = partial(self._cspace, "list")
        for kind, word in QUERIES.items():
            acts[f"cspace memory search --all, {kind}"] = partial(
                self._cspace, "search", "--all", word
            )
            acts[f"grep -ri, {kind}"] = partial(
                self._process, "grep", "-ri", word, str(self.store.root)
            )
        return {f"{name}, {self.size}": act for name, act in acts.items()}

    @property
    def _middle(self) -> str:
        return f"what-worker-{self.size // 2}-does"

    def _write(self) -> float:
        slug = f"new-{next(self._numbers)}"
        seconds = timed(
            lambda: self.store.change(
                Change(SCOPE, slug, Operation.CREATE, TEXT, description="What was learnt")
            )
        )
        self.store.change(Change(SCOPE, slug, Operation.REMOVE))
        return seconds

    def _search(self, word: str) -> float:
        return timed(lambda: search_memory(self.store, (SCOPE,), word))

    def _run_write(self) -> float:
        slug = f"new-{next(self._numbers)}"
        seconds = self._cspace("write", slug, "--scope", "user", "--yes", "--body", TEXT)
        self.store.change(Change(SCOPE, slug, Operation.REMOVE))
        return seconds

    def _cspace(self, *words: str) -> float:
        return self._process(str(CSPACE), "memory", *words)

    def _process(self, *argv: str) -> float:
        def start() -> None:
            done = subprocess.run(
                argv,
                cwd=self.path,
                env=environment() | {"HOME": str(self.path)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            # Nothing found is 3 for us and 1 for grep.
            assert done.returncode in {0, 1, 3}, done.stderr

        return timed(start)


def ratios(least: int, most: int) -> tuple[Ratio, ...]:
    """Return the claims, each about the largest memory."""
    return (
        *(Ratio(f"{name}, {most}", f"{name}, {least}", 3.0) for name in WRITES),
        *(Ratio(f"cspace memory search --all, {kind}, {most}", HELP, 4.0) for kind in QUERIES),
    )


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-") as place:
        subjects: dict[str, Callable[[], float]] = {
            HELP: lambda: timed(lambda: run(CSPACE, "--help", env={"HOME": place}))
        }
        for size in SIZES:
            home = Path(place) / str(size)
            home.mkdir()
            subjects |= Home(home, size).subjects()
        alternate(subjects, 1)  # compiles what is not compiled yet, and fills the page cache
        show(alternate(subjects, rounds), ratios(SIZES[0], SIZES[-1]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
