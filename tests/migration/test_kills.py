"""kill -9 at any moment: nothing half-written, nothing overwritten, and the next run mends it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cspace.migration.model import Choice, Policy
from tests.migration.sources import BOTH, OURS, THEIRS, hashes, migrate, source, write

# At its call of this number to the system the whole group is killed.
RUN = """
import os, signal, sys
from pathlib import Path
from cspace.migration.model import Choice, Policy
from tests.migration.test_kills import SOURCE
from tests.migration.sources import migrate

root, choice, merge, limit = sys.argv[1:]
limit = int(limit)
calls = 0
def watch(frame, event, called):
    global calls
    if event == "c_call" and getattr(called, "__module__", "") == "posix":
        calls += 1
        if calls == limit:
            os.killpg(0, signal.SIGKILL)
print("ready", flush=True)
if limit >= 0:
    sys.setprofile(watch)
migrate(SOURCE, Path(root), Policy(Choice(choice), merge == "True"))
sys.setprofile(None)
print(calls)
"""
SOURCE = source(
    {
        "MEMORY.md": "- theirs\n- common\n",
        "big.bin": bytes(range(251)) * 12_000,
        **{f"conflict-{number}.md": f"theirs {number}" for number in range(20)},
        **{f"notes/{number % 7}/note-{number}.md": f"note {number}" for number in range(120)},
    }
)
HERE = {
    "MEMORY.md": "- ours\n- common\n",
    "only.md": "only ours",
    **{f"conflict-{number}.md": f"ours {number}" for number in range(20)},
}
POLICIES = {
    "ours": OURS,
    "theirs": THEIRS,
    "both": BOTH,
    "merge": Policy(Choice.OURS, merge_index=True),
}
KILLS = 100


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """What a run that nobody kills does: how many calls, in how long, from what to what."""

    calls: int
    seconds: float
    before: dict[str, str]
    after: dict[str, str]


def start(root: Path, policy: Policy, limit: int) -> subprocess.Popen[bytes]:
    words = [
        sys.executable,
        "-c",
        RUN,
        str(root),
        policy.choice,
        str(policy.merge_index),
        str(limit),
    ]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, process_group=0)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def undisturbed(root: Path, policy: Policy) -> Undisturbed:
    write(root, HERE)
    before = hashes(root)
    process = start(root, policy, 0)
    calls = int(process.communicate()[0])
    after = hashes(root)
    shutil.rmtree(root)
    write(root, HERE)
    process, began = start(root, policy, -1), time.monotonic()
    process.communicate()
    seconds = time.monotonic() - began
    shutil.rmtree(root)
    return Undisturbed(calls, seconds, before, after)


def kill(root: Path, policy: Policy, known: Undisturbed, chance: random.Random) -> bool:
    """Kill a run at a random call, or after a random time; tell whether that was before its end."""
    by_call = chance.random() < 0.5
    process = start(root, policy, chance.randint(1, known.calls) if by_call else -1)
    if not by_call:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=chance.random() * known.seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def check_whole(root: Path, policy: Policy, known: Undisturbed) -> None:
    """Every file is one of the beginning or of the end, and ours is somewhere in any case."""
    there = hashes(root)
    for name, digest in there.items():
        assert digest in {known.before.get(name), known.after.get(name)}, name
    assert there.keys() >= known.before.keys()
    if policy.choice is not Choice.OURS:
        lost = set(known.before.values()) - set(there.values())
        assert lost <= {known.before["MEMORY.md"]} if policy.merge_index else not lost


@pytest.mark.parametrize("name", POLICIES)
def test_killed_at_any_moment_nothing_is_half_written_and_the_next_run_ends_in_the_same_tree(
    name: str, tmp_path: Path, counts: Callable[[int, int], int]
) -> None:
    policy, root = POLICIES[name], tmp_path / "project"
    chance = random.Random(name)  # noqa: S311  a test that can be repeated
    known = undisturbed(root, policy)
    killed = 0
    while killed < counts(8, KILLS):
        write(root, HERE)
        killed += kill(root, policy, known, chance)
        check_whole(root, policy, known)
        migrate(SOURCE, root, policy)
        assert hashes(root) == known.after
        assert sorted(os.listdir(root / ".cspace")) == [".memory.md.lock", "memory"]
        shutil.rmtree(root)


def test_a_run_that_is_killed_again_and_again_still_gets_there(tmp_path: Path) -> None:
    root = tmp_path / "project"
    chance = random.Random(7)  # noqa: S311  a test that can be repeated
    known = undisturbed(root, THEIRS)
    write(root, HERE)
    for _ in range(6):
        kill(root, THEIRS, known, chance)
        check_whole(root, THEIRS, known)
    migrate(SOURCE, root, THEIRS)
    assert hashes(root) == known.after


def test_a_conflict_is_never_overwritten_by_a_killed_run_without_the_flag(tmp_path: Path) -> None:
    known = undisturbed(tmp_path / "project", OURS)
    ours = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in HERE.items()}
    assert known.before == ours
    assert known.after.items() >= ours.items()
