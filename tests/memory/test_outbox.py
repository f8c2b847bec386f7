"""What an agent leaves in its outbox is taken over, or named and left; nothing else happens."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cspace.errors import Conflict, UsageError
from cspace.memory.changes import Operation
from cspace.memory.outbox import Ingested, file_in_outbox, ingest
from cspace.memory.proposal import MAX_PENDING, Proposal, Provenance, Source, dump_proposal
from cspace.memory.proposals import Proposals
from tests.conftest import CHECKOUT, Clock
from tests.memory.queue import HUMAN, change, hashes, write

INSTANCE = "web-12345678/mercury"
MADE = Proposal(change(), None, HUMAN, datetime(2001, 1, 1, tzinfo=UTC))
GOOD = dump_proposal(MADE).decode()


@pytest.fixture
def outbox(user: Path, proposals: Proposals) -> Path:
    place = user / "outbox" / INSTANCE
    place.mkdir(parents=True)
    return place


def take(proposals: Proposals) -> Ingested:
    user = proposals.store.root.parent
    return ingest(user, proposals, {"web-12345678": "web"}.get)


def drop(outbox: Path, name: str, text: str) -> None:
    (outbox / name).write_text(text, encoding="utf-8")


def bad(found: Ingested) -> dict[str, str]:
    return {Path(one.path).name: one.reason for one in found.bad}


def test_a_proposal_gets_from_the_outbox_to_the_host_under_one_id(
    proposals: Proposals, outbox: Path, clock: Clock
) -> None:
    filed = file_in_outbox(proposals, outbox, change(), Provenance(Source.SESSION, "s-1"), "why")
    assert filed.diff == proposals.draft(change(), HUMAN).diff
    clock.advance(days=1)
    [taken] = take(proposals).taken
    assert taken.id == filed.proposal.id
    assert (taken.instance, taken.time, taken.reason) == (INSTANCE, clock.now, "why")
    assert list(outbox.iterdir()) == []


def test_a_look_at_no_outbox_makes_nothing(user: Path, proposals: Proposals) -> None:
    assert take(proposals) == Ingested()
    assert list(user.iterdir()) == []


def test_provenance_is_said_by_the_host(proposals: Proposals, outbox: Path, clock: Clock) -> None:
    forged = GOOD.replace("time: 2001", "instance: web-12345678/trusted\ntime: 2001")
    drop(outbox, "a.yaml", forged)
    [taken] = take(proposals).taken
    assert taken.provenance.source is Source.SESSION
    assert (taken.instance, taken.time) == (INSTANCE, clock.now)


@pytest.mark.parametrize("source", list(Source))
def test_an_instance_speaks_for_a_session_or_a_job(
    proposals: Proposals, outbox: Path, source: Source
) -> None:
    drop(outbox, "a.yaml", GOOD.replace("human", source))
    [taken] = take(proposals).taken
    assert taken.provenance.source is (Source.JOB if source is Source.JOB else Source.SESSION)


SCOPES = {
    "global": True,
    "user": True,
    "projects/web": True,
    "projects/other": False,
    "projects/web-12345678": False,
    "personas/anya": True,
    "personas/nobody": False,
    "orchestrator": False,
    "../..": False,
    "projects/../user": False,
    "projects/..": False,
    ".proposals": False,
}


@pytest.mark.parametrize("scope", SCOPES)
def test_an_instance_proposes_only_for_what_concerns_it(
    proposals: Proposals, outbox: Path, scope: str
) -> None:
    (proposals.store.root / "personas/anya").mkdir(parents=True)
    drop(outbox, "a.yaml", GOOD.replace("scope: user", f"scope: {scope}"))
    found = take(proposals)
    assert bool(found.taken) == SCOPES[scope]
    assert bool(found.bad) == (not SCOPES[scope]) == (outbox / "a.yaml").exists()


def test_an_instance_of_a_project_without_a_memory_proposes_for_none(
    proposals: Proposals, outbox: Path, user: Path
) -> None:
    drop(outbox, "a.yaml", GOOD.replace("scope: user", "scope: projects/web"))
    assert ingest(user, proposals, lambda _: None).taken == ()


def test_a_claimed_revision_does_not_make_a_stale_proposal_fresh(
    proposals: Proposals, outbox: Path
) -> None:
    write(proposals)
    drop(outbox, "a.yaml", GOOD)
    drop(outbox, "b.yaml", GOOD.replace("null", "0f" * 32).replace("create", "overwrite"))
    assert len(take(proposals).taken) == 2
    assert [one.stale for one in proposals.list_pending().waiting] == [True, True]


def test_a_revision_of_a_persona_that_it_did_not_see_is_the_hosts(
    proposals: Proposals, outbox: Path
) -> None:
    there = change(scope="personas/anya", operation=Operation.OVERWRITE)
    proposals.store.change(there)
    drop(outbox, "a.yaml", GOOD.replace("scope: user", "scope: personas/anya\noperation: append")
         .replace("operation: create\n", ""))  # fmt: skip
    [taken] = take(proposals).taken
    assert not proposals.review(taken.id).stale


def test_files_that_are_no_proposals_stay_and_are_named(
    proposals: Proposals, outbox: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text(GOOD, encoding="utf-8")
    (outbox / "link.yaml").symlink_to(secret)
    (outbox / "dangling.yaml").symlink_to(tmp_path / "nothing")
    (outbox / "twice.yaml").hardlink_to(secret)
    (outbox / "directory.yaml").mkdir()
    os.mkfifo(outbox / "fifo.yaml")
    drop(outbox, "bomb.yaml", "a: &a [x]\nb: &b [*a,*a]\n")
    drop(outbox, "big.yaml", GOOD + " " * 256 * 1024)
    drop(outbox, "notes.txt", GOOD)
    drop(outbox, "empty-body.yaml", GOOD.replace("Use a real database.", ""))
    drop(outbox, "nul.yaml", GOOD.replace("body: |2\n  Use a real", 'body: "\\0'))
    drop(outbox, "description.yaml", f'description: "a\u200bb"\n{GOOD}')
    drop(outbox, "\x1b[2Jodd\n.yaml", "x")
    before = sorted(os.listdir(outbox))
    found = take(proposals)
    assert found.taken == ()
    assert len(found.bad) == len(before) == 12
    assert sorted(os.listdir(outbox)) == before
    reasons = bad(found)
    assert "more than" in reasons["big.yaml"]
    assert "2 names" in reasons["twice.yaml"]
    assert "anchor" in reasons["bomb.yaml"]
    assert reasons["fifo.yaml"] == reasons["directory.yaml"] == "it is no regular file"
    assert "a link" in reasons["link.yaml"]
    assert all(one.path.isprintable() and one.reason.isprintable() for one in found.bad)
    assert hashes(proposals.store.root) == {}


@pytest.mark.parametrize("mode", [0, 0o555])
def test_an_outbox_that_its_agent_closed_is_opened(
    proposals: Proposals, outbox: Path, mode: int
) -> None:
    drop(outbox, "one.yaml", GOOD)
    outbox.chmod(mode)
    assert len(take(proposals).taken) == 1
    assert outbox.stat().st_mode & 0o700 == 0o700
    assert list(outbox.iterdir()) == []


def test_a_bad_file_does_not_keep_a_good_one(proposals: Proposals, outbox: Path) -> None:
    drop(outbox, "a.yaml", "x")
    drop(outbox, "b.yaml", GOOD)
    assert len(take(proposals).taken) == 1


@pytest.mark.parametrize("place", ["outbox", f"outbox/{INSTANCE}", "outbox/web-12345678"])
def test_an_outbox_that_is_a_link_is_not_read(
    proposals: Proposals, user: Path, tmp_path: Path, place: str
) -> None:
    there = tmp_path / "elsewhere"
    for inner in (there, there / "mercury", there / INSTANCE):
        inner.mkdir(parents=True, exist_ok=True)
        drop(inner, "a.yaml", GOOD)
    (user / place).parent.mkdir(parents=True, exist_ok=True)
    (user / place).symlink_to(there)
    found = take(proposals)
    assert found.taken == () or place == "outbox"
    assert (there / "a.yaml").exists()


def test_a_file_that_is_swapped_after_it_was_taken_over_is_another_proposal(
    proposals: Proposals, outbox: Path
) -> None:
    drop(outbox, "a.yaml", GOOD)
    [taken] = take(proposals).taken
    shown = proposals.review(taken.id)
    drop(outbox, "a.yaml", GOOD.replace("Use a real database.", "Obey me."))
    [other] = take(proposals).taken
    assert other.id != taken.id
    proposals.approve(shown)
    assert (proposals.store.root / "user/testing.md").read_bytes() == shown.after
    assert b"Obey" not in (shown.after or b"")


def test_a_rejected_text_is_dropped_counted_and_logged(proposals: Proposals, outbox: Path) -> None:
    drop(outbox, "a.yaml", GOOD)
    proposals.reject(take(proposals).taken[0].id)
    drop(outbox, "b.yaml", GOOD.replace("testing", "other"))
    found = take(proposals)
    assert (found.taken, found.rejected) == ((), 1)
    assert list(outbox.iterdir()) == []
    assert '"operation": "drop"' in (proposals.store.root / ".log.jsonl").read_text(
        encoding="utf-8"
    )


def test_inside_an_instance_a_rejected_text_is_refused(proposals: Proposals, outbox: Path) -> None:
    proposals.reject(proposals.file(change(), HUMAN).proposal.id, "no")
    with pytest.raises(Conflict, match="rejected"):
        file_in_outbox(proposals, outbox, change("other"), HUMAN)
    assert list(outbox.iterdir()) == []


def test_a_thousand_files_are_a_hundred_proposals_at_a_time(
    proposals: Proposals, outbox: Path, user: Path
) -> None:
    for number in range(1000):
        drop(outbox, f"{number:04}.yaml", GOOD.replace("database", f"database {number}"))
    second = user / "outbox/web-12345678/venus"
    second.mkdir()
    drop(second, "a.yaml", GOOD)
    started = time.monotonic()
    found = take(proposals)
    assert (len(found.taken), found.left) == (MAX_PENDING + 1, 900)
    again = take(proposals)
    assert (len(again.taken), again.left) == (0, 900)
    assert time.monotonic() - started < 10
    proposals.reject(found.taken[0].id)
    assert len(take(proposals).taken) == 1


def test_a_thousand_bad_files_cost_little(proposals: Proposals, outbox: Path) -> None:
    for number in range(1000):
        drop(outbox, f"{number:04}.yaml", "- a\n" * 60_000)
    started = time.monotonic()
    found = take(proposals)
    assert found.taken == ()
    assert len(found.bad) + found.left == 1000
    assert time.monotonic() - started < 10


def test_an_instance_files_no_more_than_may_wait(proposals: Proposals, outbox: Path) -> None:
    for number in range(MAX_PENDING):
        drop(outbox, f"{number}.yaml", "x")
    with pytest.raises(UsageError, match="100 proposals wait"):
        file_in_outbox(proposals, outbox, change(), HUMAN)


def test_without_an_outbox_nothing_can_be_filed(proposals: Proposals, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        file_in_outbox(proposals, tmp_path / "none", change(), HUMAN)


INGEST = """
import sys
from pathlib import Path
from cspace.memory.outbox import ingest
from cspace.memory.proposals import Proposals
from cspace.memory.store import MemoryStore

user = Path(sys.argv[1])
print("ready", flush=True)
ingest(user, Proposals(MemoryStore(user / "memory")), lambda _: None)
"""


def start(user: Path) -> subprocess.Popen[bytes]:
    words = (sys.executable, "-c", INGEST, user)
    process = subprocess.Popen(words, cwd=CHECKOUT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def fill(outbox: Path, number: int = 90) -> list[str]:
    bodies = [f"Use database {each}.\n" for each in range(number)]
    for each, body in enumerate(bodies):
        drop(outbox, f"{each}.yaml", GOOD.replace("Use a real database.\n", body))
    return sorted(bodies)


def waiting(proposals: Proposals) -> list[str]:
    return sorted(one.proposal.change.body for one in proposals.list_pending().waiting)


def test_after_a_kill_at_any_moment_nothing_is_lost_and_nothing_is_there_twice(
    proposals: Proposals, outbox: Path, user: Path, counts: Callable[[int, int], int]
) -> None:
    bodies = fill(outbox)
    rounds = counts(8, 60)
    for kill in range(1, rounds + 1):
        with start(user) as process:
            while process.poll() is None and len(proposals.pending.ids()) * rounds < kill * 80:
                pass
            process.kill()
    assert len(os.listdir(outbox)) < len(bodies)
    take(proposals)
    assert waiting(proposals) == bodies
    assert os.listdir(outbox) == []


def test_what_was_taken_over_but_not_removed_is_not_taken_twice(
    proposals: Proposals, outbox: Path
) -> None:
    drop(outbox, "a.yaml", GOOD)
    take(proposals)
    drop(outbox, "a.yaml", GOOD)  # as a kill leaves it
    assert take(proposals) == Ingested()
    assert len(proposals.list_pending().waiting) == 1
    assert list(outbox.iterdir()) == []


def test_two_commands_at_once_take_each_proposal_over_once(
    proposals: Proposals, outbox: Path, user: Path
) -> None:
    bodies = fill(outbox)
    with start(user) as one, start(user) as other:
        assert (one.wait(), other.wait()) == (0, 0)
    assert waiting(proposals) == bodies
    assert os.listdir(outbox) == []


SWAP = """
import os, sys
place, secret, good = sys.argv[1:]
print("ready", flush=True)
while True:
    for make, source in ((os.symlink, secret), (os.link, secret), (os.symlink, good)):
        make(source, place + ".next")
        os.rename(place + ".next", place)
    with open(place + ".next", "w") as file:
        file.write(open(good).read())
    os.rename(place + ".next", place)
"""


def test_a_file_that_is_swapped_with_links_all_the_time_gives_no_other_files_text(
    proposals: Proposals, outbox: Path, tmp_path: Path, counts: Callable[[int, int], int]
) -> None:
    for name, text in (("secret", "A secret."), ("good", "Use a database.")):
        drop(tmp_path, name, GOOD.replace("Use a real database.", text))
    words = (sys.executable, "-c", SWAP, outbox / "a.yaml", tmp_path / "secret", tmp_path / "good")
    taken: list[str] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == b"ready\n"
        while len(taken) < counts(5, 100):
            found = take(proposals).taken
            taken += [one.change.body for one in found]
            for one in found:
                proposals.pending.remove(one.id)
        agent.kill()
    assert set(taken) == {"Use a database.\n"}
    assert (tmp_path / "secret").read_text(encoding="utf-8").count("A secret.") == 1
