"""`cspace memory write` of many processes at once, in two worktrees of one project."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cspace import proc
from tests.cli.memories import memory, root
from tests.memory.writers import check_clean, check_index

WRITERS = 8
# In one process after another, as a script does it.
SCRIPT = """
import subprocess, sys
cspace, writer, each = sys.argv[1], sys.argv[2], int(sys.argv[3])
write = (cspace, "-m", "cspace.cli.app", "memory", "write")
for number in range(each):
    for words in (("rules", "--append"), (f"new-{writer}-{number}",)):
        body = f"--body={writer}:{number}"
        subprocess.run((*write, *words, body, "--yes"), check=True, stdout=subprocess.DEVNULL)
"""


def test_8_processes_in_two_worktrees_lose_nothing(
    repo: Path, home: Path, tmp_path: Path, counts: Callable[[int, int], int]
) -> None:
    proc.run("git", "-C", repo, "worktree", "add", "--quiet", tmp_path / "linked")
    memory("write", "rules", "--body", "# Rules", "--yes", cwd=repo)
    each = counts(1, 10)
    writers = [
        subprocess.Popen(
            (sys.executable, "-c", SCRIPT, sys.executable, str(writer), str(each)),
            cwd=(repo, tmp_path / "linked")[writer % 2],
        )
        for writer in range(WRITERS)
    ]
    assert [writer.wait() for writer in writers] == [0] * WRITERS
    scope = root(home) / "projects/sample"
    lines = re.findall(r"^\d:\d$", (scope / "rules.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(lines) == [f"{name}:{n}" for name in range(WRITERS) for n in range(each)]
    assert len(list(scope.glob("new-*.md"))) == WRITERS * each
    check_index(scope)
    check_clean(scope)
