"""A writer that is killed leaves whole files, no lock, and all that it acknowledged."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cspace import files
from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore

# Says what was acknowledged, so that nothing of it may be missing later.
VICTIM = """
import os, sys
from pathlib import Path
from cspace.context.records import Category, Finding
from cspace.context.store import ContextStore
root, slug, name = sys.argv[1:]
store = ContextStore(Path(root))
os.write(1, b"ready\\n")
for number in range(10_000):
    store.append_to_finding(slug, f"{name}.{number}")
    os.write(1, f"noted {name}.{number}\\n".encode())
    store.log_finding(Finding("y", Category.BUG, f"{name}.{number}"))
    os.write(1, f"filed {name}.{number}\\n".encode())
"""


@pytest.fixture
def slug(store: ContextStore) -> str:
    return store.log_finding(Finding("x", Category.BUG, "s")).slug


@contextlib.contextmanager
def victim(root: Path, slug: str, name: int, said: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a writer; after the block it is killed, and what it acknowledged is in said."""
    words = (sys.executable, "-c", VICTIM, root, slug, str(name))
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()
        said += process.stdout.read().decode().splitlines()
    assert process.returncode == -9


def check_whole(findings: Path, slug: str) -> None:
    """Every file is whole, and no lock is held."""
    for path in findings.glob("[!.]*.md"):
        content = path.read_bytes()
        assert content.startswith(b"---\ntitle: ")
        assert b"## Updates\n### " in content
        assert content.endswith(b"\n")
    assert not files.is_locked(findings / f"{slug}.md.lock")


def check_kept(store: ContextStore, slug: str, said: list[str], kills: int) -> None:
    """What was acknowledged is there, and beyond it at most what each kill came just after."""
    notes = [update.note for update in store.read_entry(Kind.FINDING, slug).updates]
    stems = [stem for stem in store.folder(Kind.FINDING).list_stems() if stem != slug]
    filed = [store.load_entry(Kind.FINDING, stem).sections["Summary"] for stem in stems]
    found = [*(f"noted {note}" for note in notes if "." in note), *(f"filed {s}" for s in filed)]
    assert set(said) <= set(found)
    assert len(found) == len(set(found)) <= len(said) + kills


def check_swept(findings: Path, slug: str) -> None:
    """The next writer, another process, removes what killed ones left."""
    ContextStore(findings.parents[2]).append_to_finding(slug, "next")
    assert list(findings.glob(".*")) == []


def test_kill_9_at_a_random_moment_loses_nothing_that_was_acknowledged(
    store: ContextStore, root: Path, slug: str, counts: Callable[[int, int], int]
) -> None:
    findings = root / ".cspace/context/findings"
    start = time.perf_counter()
    store.append_to_finding(slug, "how long")
    store.log_finding(Finding("y", Category.BUG, "how.long"))
    both = time.perf_counter() - start
    said, kills, chance = ["filed how.long"], counts(8, 200), random.Random(4)  # noqa: S311
    for number in range(kills):
        # Into the first calls, where files and locks are made, and into later ones.
        moment = chance.uniform(0, 4 * both)
        late = contextlib.suppress(subprocess.TimeoutExpired)
        with victim(root, slug, number, said) as process, late:
            process.wait(timeout=moment)
        check_whole(findings, slug)
        check_swept(findings, slug)
    check_kept(store, slug, said, kills)


def test_kill_9_while_a_temporary_file_is_there_leaves_it_to_the_next_writer(
    store: ContextStore, root: Path, slug: str, counts: Callable[[int, int], int]
) -> None:
    findings = root / ".cspace/context/findings"
    said: list[str] = []
    kills, left = counts(8, 200), 0
    for number in range(kills):
        with victim(root, slug, number, said):
            while not any(name.endswith("-tmp") for name in os.listdir(findings)):
                pass
        left += len(files.list_abandoned(findings))
        check_whole(findings, slug)
        check_swept(findings, slug)
    check_kept(store, slug, said, kills)
    # Else this would show nothing.
    assert left > 0
