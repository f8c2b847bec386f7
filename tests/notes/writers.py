"""Programs that write notes at once, each a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# Captures on each of the commits that its input names.
CAPTURER = """
import sys
from pathlib import Path
from cspace.git_import import find_place
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.store import NotesStore
repository, name = Path(sys.argv[1]), sys.argv[2]
store = NotesStore(repository, find_place(repository), by=name)
for number, commit in enumerate(sys.stdin.read().split()):
    summary = f"Chose {name}.{number}"
    store.capture(Draft(Namespace.DECISIONS, summary, f"---\\nid: {name}\\n---\\n"), commit)
"""
# A person's git, which looks at nothing that we lock, and tries again when its ref is locked.
APPENDER = """
import subprocess, sys
repository, name = sys.argv[1:3]
for number, commit in enumerate(sys.stdin.read().split()):
    words = ["git", "-C", repository, "notes", "--ref=cs/decisions", "append", "-m"]
    while subprocess.run([*words, f"by hand {name}.{number}.", commit], stderr=-3).returncode:
        pass
"""


def start(program: str, repository: Path, name: str, commits: list[str]) -> subprocess.Popen[bytes]:
    """Start a writer, which begins as soon as it has read on which commits it writes."""
    writer = subprocess.Popen(
        [sys.executable, "-c", program, repository, name], stdin=subprocess.PIPE
    )
    assert writer.stdin is not None
    writer.stdin.write("\n".join(commits).encode())
    writer.stdin.close()
    return writer
