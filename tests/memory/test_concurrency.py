"""Many processes write at once; nothing is lost, torn, or left out of the index."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from cspace.memory.changes import Change, Operation
from cspace.memory.store import MemoryStore
from tests.memory.conftest import USER
from tests.memory.writers import (
    APPENDER,
    CREATOR,
    check_clean,
    check_index,
    start,
    start_reader,
)

WRITERS = 8


def finish(writers: list[subprocess.Popen[bytes]]) -> None:
    assert [writer.wait() for writer in writers] == [0] * len(writers)


@pytest.mark.parametrize("way", ["locked", "seen"])
def test_8_processes_that_append_to_one_memory_keep_every_line(
    store: MemoryStore, root: Path, way: str
) -> None:
    store.change(Change(USER, "rules", Operation.CREATE, "# Rules"))
    finish([start(APPENDER, root, "rules", 10, name, way) for name in range(WRITERS)])
    lines = re.findall(r"^\d:\d$", store.read(USER, "rules").decode(), re.MULTILINE)
    assert sorted(lines) == [f"{name}:{n}" for name in range(WRITERS) for n in range(10)]
    check_index(root / "user")
    check_clean(root / "user")


def test_8_processes_that_make_10_memories_each_make_80_with_a_line_each(
    store: MemoryStore, root: Path
) -> None:
    finish([start(CREATOR, root, "new", 10, name) for name in range(WRITERS)])
    assert store.count(USER) == 80
    check_index(root / "user")
    check_clean(root / "user")
    assert (root / ".log.jsonl").read_bytes().count(b'"create"') == 80
    assert (root / "MEMORY.md").read_bytes().count(b"- [user]") == 1


def test_no_read_beside_writers_is_torn(
    store: MemoryStore, root: Path, counts: Callable[[int, int], int]
) -> None:
    least, reads, round_ = counts(1000, 30_000), 0, 0
    store.change(Change(USER, "rules", Operation.CREATE, "# Rules"))
    while reads < least:
        with ExitStack() as stack:
            readers = [stack.enter_context(start_reader(root / "user")) for _ in range(2)]
            writers = [start(APPENDER, root, "rules", 10, name) for name in range(3)]
            writers += [start(CREATOR, root, f"r{round_}", 10, name) for name in range(3)]
            finish(writers)
            reads += sum(int(reader.communicate("")[0]) for reader in readers)
            assert [reader.returncode for reader in readers] == [0, 0]
        round_ += 1
    check_index(root / "user")
