"""Of several that decide about one proposal at once, one does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cspace.memory.changes import Operation
from cspace.memory.proposals import Proposals
from tests.conftest import CHECKOUT
from tests.memory.queue import HUMAN, change, memory, write

DECIDE = """
import sys
from pathlib import Path
from cspace.errors import Conflict, NotFound
from cspace.memory.proposals import Proposals
from cspace.memory.store import MemoryStore
from tests.memory.queue import write

root, what, ids = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
proposals = Proposals(MemoryStore(root, by=what))
reviews = {}
for id_ in ids:
    reviews[id_] = proposals.review(id_)
print("ready", flush=True)
sys.stdin.readline()
for id_ in ids:
    try:
        if what == "approve":
            proposals.approve(reviews[id_])
        elif what == "reject":
            proposals.reject(id_)
        else:
            write(proposals, reviews[id_].proposal.change.slug, "A person's.\\n")
        print(id_, flush=True)
    except (Conflict, NotFound):
        pass
"""


def race(root: Path, ids: list[str], *whats: str) -> list[list[str]]:
    """Let processes decide about the same proposals at once, and return what each one did."""
    words = (sys.executable, "-c", DECIDE, root)
    running = [
        subprocess.Popen(
            (*words, what, *ids),
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for what in whats
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    done = [one.communicate()[0].split() for one in running]
    assert [one.returncode for one in running] == [0] * len(whats)
    return done


def many(proposals: Proposals, counts: Callable[[int, int], int]) -> list[str]:
    number = counts(20, 200)
    for index in range(number):
        write(proposals, f"m-{index}")
    appends = [change(f"m-{index}", f"{index}.\n", Operation.APPEND) for index in range(number)]
    return [proposals.file(one, HUMAN).proposal.id for one in appends]


def test_of_two_approvals_of_one_proposal_one_writes(
    proposals: Proposals, counts: Callable[[int, int], int]
) -> None:
    ids = many(proposals, counts)
    one, other = race(proposals.store.root, ids, "approve", "approve")
    assert sorted([*one, *other]) == sorted(ids)
    for index in range(len(ids)):
        assert memory(proposals, f"m-{index}").count(f"{index}.\n".encode()) == 1


def test_beside_a_rejection_a_proposal_is_approved_or_rejected(
    proposals: Proposals, counts: Callable[[int, int], int]
) -> None:
    ids = many(proposals, counts)
    approved, rejected = race(proposals.store.root, ids, "approve", "reject")
    assert sorted([*approved, *rejected]) == sorted(ids)
    for index, id_ in enumerate(ids):
        written = f"{index}.\n".encode() in memory(proposals, f"m-{index}")
        assert written == (id_ in approved)


def test_beside_a_direct_write_no_text_is_lost(
    proposals: Proposals, counts: Callable[[int, int], int]
) -> None:
    ids = many(proposals, counts)
    _, wrote = race(proposals.store.root, ids, "approve", "write")
    assert wrote == ids
    for index in range(len(ids)):
        assert memory(proposals, f"m-{index}").endswith(b"A person's.\n")
