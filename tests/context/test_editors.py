"""A person's editor takes no lock, and still nothing that it saved is lost by an append."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cspace.context.records import Category, Finding, Kind
from cspace.context.store import ContextStore
from cspace.errors import Conflict

# Saves a line more when it is told to, as editors do: all of it anew, in place, or beside the file
# and renamed. Between opening the file and having saved it is as slow as a disk.
EDITOR = """
import os, sys
path, how = sys.argv[1:]
for number, _ in enumerate(sys.stdin):
    with open(path) as file:
        text = file.read()
    line = f"person:{number}\\n"
    head, tail = text.split("## Details\\n")
    target = path if how == "in place" else path + "~"
    with open(target, "w") as file:
        file.write(f"{head}## Details\\n{line}{tail}")
        file.flush()
        os.fsync(file.fileno())
    if how == "by rename":
        os.rename(target, path)
    print(number, flush=True)
"""


@contextlib.contextmanager
def editor(path: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", EDITOR, path, how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process
        process.communicate()
    assert process.returncode == 0


def saved(process: subprocess.Popen[str], *, begin: bool) -> None:
    """Let the editor begin to save, or wait until it has."""
    assert process.stdin is not None
    assert process.stdout is not None
    if begin:
        process.stdin.write("\n")
        process.stdin.flush()
    else:
        process.stdout.readline()


@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_what_was_saved_before_an_append_began_is_there_after_it(
    store: ContextStore, root: Path, counts: Callable[[int, int], int], how: str
) -> None:
    logged = store.log_finding(Finding("x", Category.BUG, "s"))
    path = root / logged.path
    rounds = counts(20, 300)
    with editor(path, how) as person:
        for number in range(rounds):
            before = {line for line in path.read_text("utf-8").splitlines() if "person:" in line}
            saved(person, begin=True)
            with contextlib.suppress(Conflict):
                store.append_to_finding(logged.slug, f"note {number}")
            saved(person, begin=False)
            assert before <= set(path.read_text("utf-8").splitlines())
    entry = store.read_entry(Kind.FINDING, logged.slug)
    assert "person:0" in entry.sections["Details"]
    assert entry.updates
