"""A writer that is killed leaves whole files, and an index that the next writer makes whole."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cspace import files
from cspace.memory.changes import Change, Operation
from cspace.memory.store import MemoryStore
from tests.memory.conftest import USER
from tests.memory.writers import check_clean, check_index

# Says what was acknowledged, so that nothing of it may be missing later.
VICTIM = """
import os, sys
from pathlib import Path
from cspace.memory.changes import Change, Operation
from cspace.memory.scopes import parse_scope
from cspace.memory.store import MemoryStore
store, scope = MemoryStore(Path(sys.argv[1]), by="victim"), parse_scope("user")
os.write(1, b"ready\\n")
for number in range(10_000):
    slug = f"v{sys.argv[2]}-{number}"
    store.change(Change(scope, slug, Operation.CREATE, "# Made"))
    os.write(1, f"{slug}\\n".encode())
    store.change(Change(scope, "rules", Operation.APPEND, f"{slug}."))
    os.write(1, f"{slug}.\\n".encode())
"""


def kill(root: Path, number: int, until: Callable[[], bool]) -> list[str]:
    """Start a writer, kill it as soon as something holds, and return what it acknowledged."""
    words = (sys.executable, "-c", VICTIM, str(root), str(number))
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        while not until():
            pass
        process.kill()
        said = process.stdout.read().decode().splitlines()
    assert process.returncode == -9
    return said


def _is_over(deadline: float) -> bool:
    return time.perf_counter() > deadline


def check(store: MemoryStore, root: Path, said: list[str], number: int) -> None:
    """All that was acknowledged is there; after one more write the index is that of the files."""
    text = store.read(USER, "rules").decode()
    assert all(line in text if line.endswith(".") else store.read(USER, line) for line in said)
    assert not files.is_locked(root / "user/.lock")
    store.change(Change(USER, f"next-{number}", Operation.CREATE, "# Next"))
    check_index(root / "user")
    check_clean(root / "user")


def test_kill_9_at_a_random_moment_loses_nothing_that_was_acknowledged(
    store: MemoryStore, root: Path, counts: Callable[[int, int], int]
) -> None:
    chance = random.Random(7)  # noqa: S311
    store.change(Change(USER, "rules", Operation.CREATE, "# Rules"))
    for number in range(counts(6, 200)):
        deadline = time.perf_counter() + chance.uniform(0, 0.05)
        said = kill(root, number, partial(_is_over, deadline))
        check(store, root, said, number)
    for line in (root / ".log.jsonl").read_bytes().splitlines():
        assert json.loads(line)["scope"] == "user"


def test_kill_9_between_a_memory_and_its_index_line_is_mended_by_the_next_writer(
    store: MemoryStore, root: Path, counts: Callable[[int, int], int]
) -> None:
    store.change(Change(USER, "rules", Operation.CREATE, "# Rules"))
    mark, found = root / "user/.changing", 0
    number = 0
    while found < counts(1, 20):
        said = kill(root, number, lambda: os.path.lexists(mark))
        found += os.path.lexists(mark)
        check(store, root, said, number)
        number += 1
    assert number >= found


def test_a_mark_of_a_killed_writer_makes_the_index_anew(store: MemoryStore, root: Path) -> None:
    store.change(Change(USER, "a", Operation.CREATE, "# A"))
    (root / "user/b.md").write_text("# B\n", encoding="utf-8")
    (root / "user/.changing").touch()
    (root / "user/.b.md.0123456789ab.cspace-tmp").touch()
    store.change(Change(USER, "c", Operation.CREATE, "# C"))
    check_index(root / "user")
    check_clean(root / "user")
