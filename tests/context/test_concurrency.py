"""Many processes write at once; nothing is lost, torn, empty or left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore
from cspace.errors import Conflict

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
HOLDER = """
import sys
from pathlib import Path
from cspace.context.records import Kind, Origin
from cspace.context.store import ContextStore
store = ContextStore(Path(sys.argv[1]), Origin("mercury", "mercury"))
def hold(document):
    print("held", flush=True)
    sys.stdin.read()
    return document
store.folder(Kind.FINDING).edit(sys.argv[2], hold)
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


def test_writers_lose_each_others_lines_hazard_8_on_one_finding_keep_every_update(
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


def test_a_lock_that_another_process_holds_times_out_with_its_name(
    store: ContextStore, root: Path
) -> None:
    slug = store.log_finding(Finding("x", Category.BUG, "s")).slug
    folder = replace(store.folder(Kind.FINDING), lock_seconds=0.05)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, root, slug], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Conflict, match=rf"{slug}\.md has been locked by mercury for 0\.05 s"):
            folder.edit(slug, lambda document: document + b"x")
        with pytest.raises(Conflict, match="locked by mercury"):
            folder.remove(slug)
        holder.communicate()
    assert store.append_to_finding(slug, "free again").status == "open"
