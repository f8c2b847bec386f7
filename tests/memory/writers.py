"""Programs that write memories at once, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cspace.memory.entries import summary_of
from cspace.memory.index import BEGIN, END, dump_line, entry_prefix, find_lines

APPENDER = """
import sys
from pathlib import Path
from cspace.errors import Conflict
from cspace.memory.changes import Change, Operation, apply_change, revision_of
from cspace.memory.scopes import parse_scope
from cspace.memory.store import MemoryStore
store = MemoryStore(Path(sys.argv[1]), by=sys.argv[4])
scope = parse_scope("user")
for number in range(int(sys.argv[3])):
    change = Change(scope, sys.argv[2], Operation.APPEND, f"{sys.argv[4]}:{number}")
    while sys.argv[5:] == ["seen"]:
        before = store.read(scope, sys.argv[2])
        try:
            store.write(change, apply_change(before, change, store.now()), revision_of(before))
            break
        except Conflict:
            pass
    else:
        store.change(change)
"""
CREATOR = """
import sys
from pathlib import Path
from cspace.memory.changes import Change, Operation
from cspace.memory.scopes import parse_scope
from cspace.memory.store import MemoryStore
store = MemoryStore(Path(sys.argv[1]), by=sys.argv[4])
for number in range(int(sys.argv[3])):
    slug = f"{sys.argv[2]}-{sys.argv[4]}-{number}"
    store.change(Change(parse_scope("user"), slug, Operation.CREATE, f"# By {slug}"))
"""
# Ends when its standard input does, with what it counted.
READER = """
import select, sys
from pathlib import Path
directory, reads = Path(sys.argv[1]), 0
while not select.select([sys.stdin], [], [], 0)[0]:
    for path in directory.glob("[!.]*.md"):
        content = path.read_bytes()
        if path.name == "MEMORY.md":
            assert content.startswith(sys.argv[2].encode()), content
            assert content.endswith(sys.argv[3].encode() + b"\\n"), content
        else:
            assert content.startswith(b"---\\nname: "), content
            assert content.endswith(b"\\n"), content
            assert content.count(b"---\\n") == 2, content
        reads += 1
print(reads)
"""


def start(script: str, *words: object) -> subprocess.Popen[bytes]:
    """Start a program that is given words."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, words)], stdin=subprocess.DEVNULL
    )


def start_reader(directory: Path) -> subprocess.Popen[str]:
    """Start a program that reads every file of a directory again and again."""
    words = [str(directory), BEGIN.decode(), END.decode()]
    return subprocess.Popen(
        [sys.executable, "-c", READER, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def check_index(directory: Path) -> None:
    """The index has one line for each file, and no other."""
    expected = sorted(
        dump_line(entry_prefix(path.stem), summary_of(path.read_bytes()))
        for path in directory.glob("[!.]*.md")
        if path.name != "MEMORY.md"
    )
    assert find_lines((directory / "MEMORY.md").read_bytes()) == tuple(expected)


def check_clean(directory: Path) -> None:
    """Nothing is left but memories and the index; the lock lies elsewhere."""
    hidden = [name for name in os.listdir(directory) if name.startswith(".")]
    assert hidden == []
