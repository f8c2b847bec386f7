"""Captures of commit notes, beside `git notes append` of the same text.

In repositories of which 10 and 10,000 commits have a note. A capture is the core's call in a
process that is warm: checked, scanned for secrets, under the lock, read, written, and the ref
moved. `kept open` has the program for reading from the start; `alone` starts it for each, as every
command and the context server do. Every round writes on another commit that has no note yet;
`again` writes on one commit, whose note grows.

    python -m bench.notes [ROUNDS]
"""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import Ratio, alternate, environment, run, show, timed
from cspace.git_import import find_place
from cspace.git_notes import write_notes
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.record import dump_record
from cspace.notes.store import NotesStore

ROUNDS = 40
SIZES = (10, 10_000)
BODY = "## Context\n\nThe queue keeps a row for every worker, until it ends by itself.\n" * 13
LIMIT = 2.0
PERSON = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")


def draft(number: int) -> Draft:
    return Draft(
        Namespace.DECISIONS, f"Chose queue {number} over a table", f"{BODY}{number}\n",
        spec="queue", phase="architecture", tags=("queue", "workers"),
    )  # fmt: skip


@dataclass
class Repository:
    """A repository with a note on each of its first commits, in our namespace and in git's."""

    path: Path
    size: int
    spare: int
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        run("git", "init", "--quiet", "--initial-branch=main", self.path)
        stream = "".join(
            "commit refs/heads/main\ncommitter bench <bench@localhost> 1700000000 +0000\n"
            f"data {len(str(number))}\n{number}\n"
            for number in range(self.size + self.spare)
        )
        words = ["git", "-C", str(self.path), "fast-import", "--quiet"]
        subprocess.run(words, input=stream.encode(), check=True)
        commits = run("git", "-C", self.path, "rev-list", "--reverse", "main").split()
        at = datetime.now(UTC)
        notes = {
            one: dump_record(draft(n).record(at)) for n, one in enumerate(commits[: self.size])
        }
        for ref in (Namespace.DECISIONS.ref, "refs/notes/plain"):
            write_notes(self.path, ref, None, notes, at)
        self.grown, *free = commits[self.size :]
        self.free = {name: iter(free) for name in ("kept", "alone", "plain")}
        self.store = NotesStore(self.path, find_place(self.path))

    def subjects(self, kept: NotesStore) -> dict[str, Callable[[], float]]:
        of = f"of {self.size}"
        return {
            f"capture, kept open, {of}": lambda: self._capture(kept, next(self.free["kept"])),
            f"capture, alone, {of}": lambda: self._capture(self.store, next(self.free["alone"])),
            f"git notes append, {of}": lambda: self._append(next(self.free["plain"])),
            f"capture again, kept open, {of}": lambda: self._capture(kept, self.grown),
            f"git notes append again, {of}": lambda: self._append(self.grown),
        }

    def _capture(self, store: NotesStore, commit: str) -> float:
        new = draft(self.size + next(self.numbers))
        return timed(lambda: store.capture(new, commit))

    def _append(self, commit: str) -> float:
        text = dump_record(draft(next(self.numbers)).record(datetime.now(UTC)))
        words = ["git", "-C", str(self.path), *PERSON, "notes", "--ref=plain", "append", "-F", "-"]
        return timed(
            lambda: subprocess.run(
                [*words, commit], input=text, env=environment(), capture_output=True, check=True
            )
        )


def ratios() -> list[Ratio]:
    few, many = SIZES
    claimed = [
        ratio
        for size in SIZES
        for ratio in (
            Ratio(f"capture, kept open, of {size}", f"git notes append, of {size}", LIMIT),
            Ratio(f"capture, alone, of {size}", f"git notes append, of {size}", LIMIT * 1.5),
            Ratio(
                f"capture again, kept open, of {size}", f"git notes append again, of {size}", LIMIT
            ),
        )
    ]
    flat = Ratio(f"capture, kept open, of {many}", f"capture, kept open, of {few}", LIMIT)
    return [*claimed, flat]


def main(rounds: int) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="cspace-bench-") as place,
        contextlib.ExitStack() as stack,
    ):
        subjects: dict[str, Callable[[], float]] = {}
        for size in SIZES:
            repository = Repository(Path(place) / str(size), size, rounds + 2)
            subjects |= repository.subjects(stack.enter_context(repository.store.kept_open()))
        alternate(subjects, 1)  # compiles what is not compiled yet, and fills the page cache
        show(alternate(subjects, rounds), ratios())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
