"""Reads and writes of the project context, from 10 to 10,000 records of each kind.

Each is compared with the least that any program would have to do for it, in the same run: list the
directories, look at every file's status, or parse every front matter. The records, of 1 to 2 KB,
are spread over 365 days; a fifth of the findings is open, and each has three updates. Files come
from the page cache, for both sides alike. A `read_finding` is twenty of them.

    python -m bench.context [ROUNDS]
"""

from __future__ import annotations

import datetime
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bench import one_tool_server
from bench.measure import CSPACE, Ratio, alternate, show, show_bytes, timed
from bench.servers import Server
from cspace.context import entryfile
from cspace.context.digest import read_context
from cspace.context.listing import Period, Wanted, list_entries, list_findings
from cspace.context.records import HUMAN, LAYOUTS, ROOT, UPDATES, Category, Finding, Kind, Update
from cspace.context.remembered import SETTLING
from cspace.context.search import search_context
from cspace.context.store import ContextStore
from cspace.docstore.frontmatter import Value

ROUNDS = 15
SIZES = (10, 100, 1_000, 10_000)
DAYS = 365
NEWEST = datetime.datetime(2026, 4, 14, 10, 30, tzinfo=datetime.UTC)
TEXT = "The queue keeps a row for every worker, and the row goes only when it ends by itself. " * 4
NOTE = "Seen again on the second machine, an hour after the first. " * 2
OPEN = Wanted(status=frozenset({"open"}))
LAST_WEEK = Period(since=NEWEST.date() - datetime.timedelta(days=7))


def fill(root: Path, size: int) -> None:
    """Write the records of a project, as the store writes them."""
    for kind in Kind:
        directory = root / ROOT / kind.plural
        directory.mkdir(parents=True)
        for number in range(size):
            created = NEWEST - datetime.timedelta(days=DAYS) * number / size
            name = f"{created.date().isoformat()}-what-worker-{number}-does.md"
            (directory / name).write_bytes(_record(kind, number, created))
    for human in HUMAN:
        (root / ROOT / f"{human}.md").write_text(f"# {human}\n\n{TEXT}\n", encoding="utf-8")


def _record(kind: Kind, number: int, created: datetime.datetime) -> bytes:
    status = "open" if number % 5 == 0 else "resolved"
    pairs: tuple[tuple[str, Value], ...] = (
        ("title", f"What worker {number} does: it waits"),
        ("date", created.date()),
        ("kind", kind.value),
    )
    texts = dict.fromkeys(LAYOUTS[kind].names, TEXT)
    if kind is Kind.FINDING:
        tags, related = ("queue", "worker"), (f"src/worker{number}.py",)
        pairs += (("status", status), ("category", "bug"), ("tags", tags), ("related", related))
        times = (created + datetime.timedelta(hours=hours) for hours in range(3))
        updates = (entryfile.dump_update(Update(time, "ann", status, NOTE)) for time in times)
        texts[UPDATES] = "\n\n".join(updates)
    signed = (("author", "ann"), ("instance", "mercury"), ("commit", "0123456789abcdef" * 2))
    return entryfile.dump_entry(kind, (*pairs, ("created", created), *signed), texts)


@dataclass
class Project:
    """One filled project, with a store that lives as long as a server's."""

    root: Path
    size: int
    store: ContextStore = field(init=False)
    slugs: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.store = ContextStore(self.root)
        self.slugs = self.store.folder(Kind.FINDING).list_stems()
        self._turns = itertools.cycle(self.slugs)

    def subjects(self) -> dict[str, Callable[[], float]]:
        """Return what is measured, each with its size in its name."""
        acts: dict[str, Callable[[], object]] = {
            "listdir of decisions and discoveries": lambda: self._listdir(*tuple(Kind)[:2]),
            "listdir of all": lambda: self._listdir(*Kind),
            "scandir and stat": self._scandir,
            "loop over every front matter": self._loop,
            "read_context, human files, decisions, discoveries": lambda: read_context(
                self.store, (*HUMAN, "decisions", "discoveries")
            ),
            "the same, cold": lambda: read_context(
                ContextStore(self.root), (*HUMAN, "decisions", "discoveries")
            ),
            "list_entries(50)": lambda: list_entries(self.store, limit=50),
            "list_entries(50), cold": lambda: list_entries(ContextStore(self.root), limit=50),
            "list_findings(open), warm": lambda: list_findings(self.store, OPEN),
            "list_findings(since), warm": lambda: list_findings(
                self.store, Wanted(), period=LAST_WEEK
            ),
            "read_context(findings), warm": lambda: read_context(self.store, ("findings",)),
            "list_findings(open), cold": lambda: list_findings(ContextStore(self.root), OPEN),
            "list_findings(since), cold": lambda: list_findings(
                ContextStore(self.root), Wanted(), period=LAST_WEEK
            ),
            "search_context, a rare word": lambda: search_context(self.store, "9"),
            "read_finding": self._read_findings,
            "append_to_finding": lambda: self.store.append_to_finding(next(self._turns), NOTE),
            "log_finding": lambda: self.store.log_finding(Finding("New", Category.BUG, TEXT)),
        }
        return {f"{name}, {self.size}": _timer(act) for name, act in acts.items()}

    def _read_findings(self) -> None:
        # One alone takes no longer than the machine's other work may interrupt it.
        for slug in itertools.islice(self._turns, 20):
            self.store.read_entry(Kind.FINDING, slug)

    def _directory(self, kind: Kind) -> str:
        return str(self.root / ROOT / kind.plural)

    def _listdir(self, *kinds: Kind) -> None:
        for kind in kinds:
            os.listdir(self._directory(kind))  # noqa: PTH208  the bound

    def _scandir(self) -> None:
        with os.scandir(self._directory(Kind.FINDING)) as entries:
            for entry in entries:
                entry.stat()

    def _loop(self) -> None:
        directory = self._directory(Kind.FINDING)
        for name in os.listdir(directory):  # noqa: PTH208  the bound
            if name.endswith(".md"):
                with open(f"{directory}/{name}", "rb") as file:  # noqa: PTH123  the fastest way
                    header = file.read().split(b"---\n", 2)[1]
                # The fastest loader that reads a header as text.
                yaml.load(header, Loader=yaml.CBaseLoader)  # noqa: S506  builds only text


def _timer(act: Callable[[], object]) -> Callable[[], float]:
    return lambda: timed(act)


def ratios(least: int, most: int) -> tuple[Ratio, ...]:
    """Return the claims, each about the largest project."""

    def over(baseline: str, limit: float, *subjects: str) -> list[Ratio]:
        return [Ratio(f"{one}, {most}", f"{baseline}, {most}", limit) for one in subjects]

    human = "read_context, human files, decisions, discoveries"
    return (
        *over("listdir of decisions and discoveries", 3.0, human, "the same, cold"),
        *over("listdir of all", 3.0, "list_entries(50)", "list_entries(50), cold"),
        *over("scandir and stat", 3.0, "list_findings(open), warm", "list_findings(since), warm"),
        *over("scandir and stat", 3.0, "read_context(findings), warm"),
        *over("loop over every front matter", 1.5, "list_findings(open), cold"),
        *over("loop over every front matter", 1.5, "list_findings(since), cold"),
        *(
            Ratio(f"{name}, {most}", f"{name}, {least}", limit)
            for name, limit in (
                ("read_finding", 1.5),
                ("append_to_finding", 1.5),
                ("log_finding", 2.0),
            )
        ),
    )


def start(*argv: str | Path) -> float:
    """Return the seconds from a server's start to its answer to tools/list."""
    started = time.perf_counter()
    with Server(*argv) as server:
        assert server.ask("tools/list")["tools"]
        return time.perf_counter() - started


def resident(root: Path) -> int:
    """Return the bytes that the server holds after a `read_context` of everything."""
    with Server(CSPACE, "context-server", "--root", root) as server:
        server.call("read_context")
        return server.resident()


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="cspace-bench-") as place:
        roots = {size: Path(place) / str(size) for size in SIZES}
        for size, root in roots.items():
            fill(root, size)
        time.sleep(SETTLING)
        projects = [Project(root, size) for size, root in roots.items()]
        subjects: dict[str, Callable[[], float]] = {}
        for project in projects:
            list_findings(project.store, OPEN)
            subjects |= project.subjects()
        show(alternate(subjects, rounds), ratios(SIZES[0], SIZES[-1]))
        one_tool = Path(one_tool_server.__file__)
        servers = {
            "one-tool server": lambda: start(sys.executable, one_tool),
            "context-server": lambda: start(CSPACE, "context-server", "--root", roots[SIZES[0]]),
        }
        alternate(servers, 1)  # compiles what is not compiled yet
        claim = Ratio("context-server", "one-tool server", 1.25)
        show(alternate(servers, rounds), (claim,))
        sizes = {
            f"resident, {size}": int(statistics.median(resident(root) for _ in range(rounds)))
            for size, root in roots.items()
        }
        claim = Ratio(f"resident, {SIZES[-1]}", f"resident, {SIZES[0]}", 1.6)
        show_bytes(sizes, (claim,), where="in memory")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
