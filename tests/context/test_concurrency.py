"""Many processes write at once; nothing is lost, torn, empty or left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore

WRITERS = 8
APPENDER = """
import sys
from pathlib import Path
from cspace.context.store import ContextStore
store = ContextStore(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    store.append_to_finding(sys.argv[2], f"{sys.argv[4]}:{number}")
"""
CREATOR = """
import sys
from pathlib import Path
from cspace.context.records import Category, Finding
from cspace.context.store import ContextStore
store = ContextStore(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    store.log_finding(Finding(sys.argv[2], Category.BUG, f"{sys.argv[4]}:{number}"))
"""
RACER = """
import sys
from pathlib import Path
from cspace.context.store import ContextStore
from cspace.errors import NotFound
store = ContextStore(Path(sys.argv[1]))
try:
    while True:
        store.append_to_finding(sys.argv[2], "x")
except NotFound:
    pass
"""


def start(script: str, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)], stdin=subprocess.DEVNULL
    )


def observe(directory: Path, writers: list[subprocess.Popen[bytes]]) -> int:
    """Read every record raw until the writers are done; return how many reads that were."""
    reads = 0
    while any(writer.poll() is None for writer in writers):
        for path in directory.glob("[!.]*.md"):
            content = path.read_bytes()
            assert content.startswith(b"---\ntitle: ")
            assert content.endswith(b"\n")
            assert b"## Updates\n### " in content
            reads += 1
    return reads


def test_8_writers_on_one_finding_keep_every_update(
    store: ContextStore, root: Path, counts: Callable[[int, int], int]
) -> None:
    each = counts(6, 50)
    slug = store.log_finding(Finding("x", Category.BUG, "s")).slug
    writers = [start(APPENDER, root, slug, each, name) for name in range(WRITERS)]
    assert observe(root / ".cspace/context/findings", writers) > 0
    assert [writer.wait() for writer in writers] == [0] * WRITERS
    notes = [update.note for update in store.read_entry(Kind.FINDING, slug).updates]
    assert sorted(notes) == sorted(
        ["filed", *(f"{name}:{number}" for name in range(WRITERS) for number in range(each))]
    )
    assert sorted(os.listdir(root / ".cspace/context/findings")) == [
        f"{slug}.md",
        f"{slug}.md.lock",
    ]


def test_8_creators_of_one_title_get_a_file_each(
    root: Path, store: ContextStore, counts: Callable[[int, int], int]
) -> None:
    each = counts(6, 50)
    writers = [start(CREATOR, root, "same title", each, name) for name in range(WRITERS)]
    observe(root / ".cspace/context/findings", writers)
    assert [writer.wait() for writer in writers] == [0] * WRITERS
    folder = store.folder(Kind.FINDING)
    summaries = {store.load_entry(Kind.FINDING, s).sections["Summary"] for s in folder.list_stems()}
    assert len(summaries) == WRITERS * each
    assert len(os.listdir(root / ".cspace/context/findings")) == WRITERS * each


def test_a_removed_finding_never_comes_back(
    store: ContextStore, root: Path, counts: Callable[[int, int], int]
) -> None:
    for _ in range(counts(3, 50)):
        slug = store.log_finding(Finding("x", Category.BUG, "s")).slug
        racers = [start(RACER, root, slug) for _ in range(4)]
        while len(store.read_entry(Kind.FINDING, slug).updates) < 2:
            pass
        store.remove_entry(Kind.FINDING, slug)
        assert [racer.wait() for racer in racers] == [0] * 4
        assert store.folder(Kind.FINDING).list_stems() == ()


def test_kill_9_at_any_moment_leaves_every_file_whole(
    store: ContextStore, root: Path, counts: Callable[[int, int], int]
) -> None:
    directory = root / ".cspace/context/findings"
    slug = store.log_finding(Finding("x", Category.BUG, "s")).slug
    for number in range(counts(4, 100)):
        before = len(store.read_entry(Kind.FINDING, slug).updates)
        writers = [
            start(APPENDER, root, slug, 10_000, number),
            start(CREATOR, root, "y", 10_000, number),
        ]
        while len(store.read_entry(Kind.FINDING, slug).updates) < before + 3:
            pass
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        for path in directory.glob("[!.]*.md"):
            assert b"## Updates\n### " in path.read_bytes()
    ContextStore(root).append_to_finding(slug, "the next writer sweeps")
    assert [name for name in os.listdir(directory) if name.endswith("-tmp")] == []
