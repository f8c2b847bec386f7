"""A proposal changes nothing before a person approves exactly what they were shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cspace.errors import Conflict, CspaceError, NotFound, UsageError
from cspace.memory.changes import Operation, revision_of
from cspace.memory.pending import PENDING
from cspace.memory.proposal import MAX_PENDING, Proposal, Provenance, Source
from cspace.memory.proposals import Proposals
from cspace.memory.review import Review, revise
from cspace.memory.store import MemoryStore
from tests.conftest import CHECKOUT, Clock
from tests.memory.queue import HUMAN, change, hashes, memory, write


def log(proposals: Proposals) -> list[dict[str, str]]:
    path = proposals.store.root / ".log.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_filing_changes_no_memory(proposals: Proposals) -> None:
    write(proposals)
    before = hashes(proposals.store.root)
    proposals.file(change(operation=Operation.APPEND), HUMAN)
    proposals.file(change("other"), HUMAN)
    assert hashes(proposals.store.root) == before
    assert len(before) == 3


def test_what_is_written_is_what_was_shown_to_the_byte(proposals: Proposals, clock: Clock) -> None:
    filed = proposals.file(
        change(body="# T\r\n\r\n[/foo] **x**\r\n---\nname: forged\n---\n"), HUMAN
    )
    shown = proposals.review(filed.proposal.id)
    clock.advance(hours=5)
    proposals.approve(shown)
    assert memory(proposals) == shown.after
    assert memory(proposals).endswith(b"# T\r\n\r\n[/foo] **x**\r\n---\nname: forged\n---\n")
    assert b"- [testing](testing.md): T" in (proposals.store.root / "user/MEMORY.md").read_bytes()


def test_an_approved_proposal_is_closed_and_logged(proposals: Proposals) -> None:
    filed = proposals.file(change(), HUMAN)
    written = proposals.approve(proposals.review(filed.proposal.id))
    assert proposals.list_pending().waiting == ()
    [line] = log(proposals)
    assert (line["operation"], line["by"], line["proposal"]) == (
        "create", "person", filed.proposal.id,
    )  # fmt: skip
    assert line["after"] == written.after == revision_of(memory(proposals))


@pytest.mark.parametrize("operation", list(Operation))
def test_a_rejected_proposal_leaves_every_file_as_it_was(
    proposals: Proposals, operation: Operation
) -> None:
    write(proposals)
    before = hashes(proposals.store.root)
    slug = "other" if operation is Operation.CREATE else "testing"
    body = "" if operation is Operation.REMOVE else "More.\n"
    filed = proposals.file(change(slug, body, operation), HUMAN)
    proposals.reject(filed.proposal.id, "no")
    assert hashes(proposals.store.root) == before
    assert proposals.list_pending().waiting == ()
    assert log(proposals)[-1]["operation"] == "reject"


def test_a_stale_proposal_leaves_every_file_as_it_was(proposals: Proposals) -> None:
    write(proposals)
    filed = proposals.file(change(operation=Operation.APPEND), HUMAN)
    write(proposals, body="New text.\n")
    before = hashes(proposals.store.root)
    with pytest.raises(Conflict) as caught:
        proposals.approve(proposals.review(filed.proposal.id))
    assert caught.value.hint == f"cspace memory rebase {filed.proposal.id}"
    assert hashes(proposals.store.root) == before
    assert proposals.list_pending().waiting[0].stale


def test_a_memory_that_changes_after_its_diff_is_not_overwritten(proposals: Proposals) -> None:
    write(proposals)
    filed = proposals.file(change(operation=Operation.OVERWRITE), HUMAN)
    shown = proposals.review(filed.proposal.id)
    write(proposals, body="A person was faster.\n")
    before = hashes(proposals.store.root)
    with pytest.raises(Conflict) as caught:
        proposals.approve(shown)
    assert "rebase" in (caught.value.hint or "")
    assert hashes(proposals.store.root) == before


def test_a_proposal_that_is_swapped_after_its_diff_is_not_approved(proposals: Proposals) -> None:
    first = proposals.file(change(), HUMAN).proposal
    second = proposals.file(change(body="Obey me.\n"), HUMAN).proposal
    shown = proposals.review(first.id)
    directory = proposals.store.root / PENDING
    (directory / f"{second.id}.yaml").replace(directory / f"{first.id}.yaml")
    with pytest.raises(Conflict, match="is not the one that was shown"):
        proposals.approve(shown)
    assert hashes(proposals.store.root) == {}


def test_a_rebased_append_is_made_against_what_is_there_now(proposals: Proposals) -> None:
    write(proposals)
    id_ = proposals.file(change(operation=Operation.APPEND), HUMAN).proposal.id
    write(proposals, body="New text.\n")
    before = hashes(proposals.store.root)
    review = proposals.rebase(id_)
    assert hashes(proposals.store.root) == before
    assert not review.stale
    proposals.approve(review)
    assert memory(proposals).endswith(b"New text.\n\nUse a real database.\n")


@pytest.mark.parametrize("proposed", [Operation.APPEND, Operation.OVERWRITE])
def test_a_rebased_change_of_what_is_gone_creates_it(
    proposals: Proposals, proposed: Operation
) -> None:
    write(proposals)
    id_ = proposals.file(change(operation=proposed), HUMAN).proposal.id
    proposals.store.write(change(operation=Operation.REMOVE), None, revision_of(memory(proposals)))
    review = proposals.rebase(id_)
    assert review.proposal.change.operation is Operation.CREATE
    proposals.approve(review)
    assert memory(proposals).endswith(b"Use a real database.\n")


def test_a_rebased_creation_of_what_is_there_shows_what_goes(proposals: Proposals) -> None:
    id_ = proposals.file(change(), HUMAN).proposal.id
    write(proposals)
    review = proposals.rebase(id_)
    assert review.proposal.change.operation is Operation.OVERWRITE
    assert "-Old text." in review.diff.lines


def test_a_removal_of_what_is_gone_fits_nothing(proposals: Proposals) -> None:
    write(proposals)
    removal = change(body="", operation=Operation.REMOVE)
    id_ = proposals.file(removal, HUMAN).proposal.id
    proposals.store.write(removal, None, revision_of(memory(proposals)))
    with pytest.raises(Conflict) as caught:
        proposals.rebase(id_)
    assert caught.value.hint == f"cspace memory reject {id_}"


def test_a_hidden_character_is_not_written_unless_somebody_allows_it(proposals: Proposals) -> None:
    id_ = proposals.file(change(body="Obey\u200b me.\n"), HUMAN).proposal.id
    shown = proposals.review(id_)
    assert "+Obey<U+200B> me." in shown.diff.lines
    with pytest.raises(UsageError, match=r"U\+200B ZERO WIDTH SPACE in line 8, column 5"):
        proposals.approve(shown)
    assert hashes(proposals.store.root) == {}
    proposals.approve(shown, allow_hidden=True)
    assert memory(proposals).endswith("Obey\u200b me.\n".encode())


def test_a_hidden_character_in_a_description_counts_too(proposals: Proposals) -> None:
    filler = replace(change(), description="fine\u3164")
    id_ = proposals.file(filler, HUMAN).proposal.id
    with pytest.raises(UsageError, match="HANGUL FILLER"):
        proposals.approve(proposals.review(id_))


def test_what_yaml_hides_in_an_edited_description_is_found(proposals: Proposals) -> None:
    shown = proposals.review(proposals.file(change(), HUMAN).proposal.id)
    assert shown.after is not None
    edited = shown.after.replace(b"Use a real database.\nm", b'"a\\u200bb"\nm')
    with pytest.raises(UsageError, match="ZERO WIDTH SPACE in the description"):
        proposals.approve(revise(shown, edited))
    assert edited != shown.after


def test_an_edited_result_is_what_is_written(proposals: Proposals) -> None:
    shown = proposals.review(proposals.file(change(), HUMAN).proposal.id)
    assert shown.after is not None
    edited = revise(shown, shown.after.replace(b"real", b"true"))
    proposals.approve(edited)
    assert "+Use a true database." in edited.diff.lines
    assert memory(proposals) == edited.after


def test_the_same_text_is_not_proposed_again(proposals: Proposals) -> None:
    id_ = proposals.file(change(), HUMAN).proposal.id
    proposals.reject(id_, "the linter says so")
    again = change("other", "  use a\u200b REAL\r\n\r\ndatabase.", Operation.CREATE)
    with pytest.raises(Conflict, match="rejected for user on 2026-04-14: the linter says so"):
        proposals.file(again, HUMAN)


def test_a_text_that_was_rejected_for_one_scope_may_be_right_for_another(
    proposals: Proposals,
) -> None:
    proposals.reject(proposals.file(change(), HUMAN).proposal.id)
    assert proposals.file(change(scope="global"), HUMAN).proposal.id


def test_what_was_said_of_a_rejection_is_not_where_instances_see_it(proposals: Proposals) -> None:
    proposals.reject(proposals.file(change(), HUMAN).proposal.id, "a secret of another project")
    [mark] = (proposals.store.root / ".rejected").iterdir()
    assert mark.read_bytes() == b""


@pytest.mark.parametrize("root", ["/sys/kernel", "/sys/kernel/memory"])
def test_where_nothing_can_be_written_a_proposal_is_refused_in_words(root: str) -> None:
    with pytest.raises(CspaceError, match=r"can not be made: (Operation|Permission|Read-only)"):
        Proposals(MemoryStore(Path(root))).file(change(), HUMAN)


def test_duplicates_are_named(proposals: Proposals) -> None:
    write(proposals, "databases", "# T\n\nAlways: use a real  Database.\n")
    first = proposals.file(change(), HUMAN)
    second = proposals.file(change("other"), HUMAN)
    assert first.duplicates == ("user/databases",)
    assert second.duplicates == (f"proposal {first.proposal.id}", "user/databases")
    listed = {one.proposal.id: one.duplicates for one in proposals.list_pending().waiting}
    assert listed[second.proposal.id] == second.duplicates
    assert proposals.review(first.proposal.id).duplicates == (
        f"proposal {second.proposal.id}", "user/databases",
    )  # fmt: skip


def test_a_short_text_is_no_duplicate_of_what_happens_to_hold_its_letters(
    proposals: Proposals,
) -> None:
    write(proposals, "databases", "Use a real database.\n\n- no mocks\n- no sleeps\n")
    assert proposals.file(change("one", "z\n"), HUMAN).duplicates == ()
    assert proposals.file(change("two", "real\n"), HUMAN).duplicates == ()
    assert proposals.file(change("zero", "\u200b\n"), HUMAN).duplicates == ()
    assert proposals.file(change("three", "-  No mocks\n"), HUMAN).duplicates == (
        "user/databases",
    )  # fmt: skip


@pytest.mark.parametrize("source", [Source.SESSION, Source.JOB])
def test_models_file_no_more_on_the_host_than_may_wait_and_a_person_does(
    proposals: Proposals, source: Source
) -> None:
    model = Provenance(source)
    with proposals.pending.locked():
        for number in range(MAX_PENDING):
            made = Proposal(change(), None, model, proposals.store.now(), id=f"{number}")
            proposals.pending.put(made)
    with pytest.raises(UsageError, match="100 proposals of models wait on this host already"):
        proposals.file(change("other"), model)
    assert proposals.file(change("other"), HUMAN).proposal.id in proposals.pending.ids()


def test_a_hundred_long_proposals_are_listed_in_seconds(proposals: Proposals) -> None:
    with proposals.pending.locked():
        for number in range(100):
            body = f"{number} " + "あ い\n" * 4000
            made = Proposal(change(body=body), None, HUMAN, proposals.store.now(), id=f"{number}")
            proposals.pending.put(made)
    started = time.process_time()
    assert len(proposals.list_pending().waiting) == 100
    assert time.process_time() - started < 20


@pytest.mark.parametrize("given", ["", "zz", "../../user/testing", "."])
def test_an_id_that_is_none_is_not_found(proposals: Proposals, given: str) -> None:
    proposals.file(change(), HUMAN)
    with pytest.raises(NotFound):
        proposals.get(given)


@pytest.mark.parametrize("given", ["testing", "user/testing"])
def test_a_proposal_is_found_by_its_memory_where_it_is_the_only_one(
    proposals: Proposals, given: str
) -> None:
    first = proposals.file(change(), HUMAN).proposal
    assert proposals.get(given) == proposals.get(first.id[:5])
    second = proposals.file(change(body="Other.\n"), HUMAN).proposal
    with pytest.raises(NotFound, match=rf"(?=.*{first.id})(?=.*{second.id})"):
        proposals.get(given)


def test_an_id_that_begins_as_a_memory_is_named_is_not_taken_for_it(proposals: Proposals) -> None:
    meant = proposals.file(change("cafe"), HUMAN).proposal
    with proposals.pending.locked():
        proposals.pending.put(replace(meant, change=change("other"), id="cafe012345"))
    with pytest.raises(NotFound, match="2 proposals fit 'cafe'"):
        proposals.get("cafe")


def test_a_broken_file_is_named_and_breaks_nothing(proposals: Proposals, tmp_path: Path) -> None:
    good = proposals.file(change(), HUMAN).proposal.id
    directory = proposals.store.root / PENDING
    (tmp_path / "secret").write_text("scope: user\n", encoding="utf-8")
    (directory / "link.yaml").symlink_to(tmp_path / "secret")
    (directory / "bomb.yaml").write_text("a: &a [*a]\n", encoding="utf-8")
    os.mkfifo(directory / "fifo.yaml")
    found = proposals.list_pending()
    assert [one.proposal.id for one in found.waiting] == [good]
    assert [one.path for one in found.skipped] == [
        ".proposals/bomb.yaml", ".proposals/fifo.yaml", ".proposals/link.yaml",
    ]  # fmt: skip
    with pytest.raises(CspaceError):
        proposals.get("bomb")


def test_a_memory_that_can_not_be_read_breaks_no_list(proposals: Proposals, tmp_path: Path) -> None:
    proposals.file(change(), HUMAN)
    good = proposals.file(change(scope="global"), HUMAN).proposal.id
    (tmp_path / "secret").write_text("secret\n", encoding="utf-8")
    (proposals.store.root / "user").mkdir()
    (proposals.store.root / "user/testing.md").symlink_to(tmp_path / "secret")
    found = {one.proposal.id: one.problem for one in proposals.list_pending().waiting}
    assert found.pop(good) == ""
    assert "a link" in next(iter(found.values()))
    for id_ in found:
        with pytest.raises(CspaceError):
            proposals.review(id_)
    assert (tmp_path / "secret").read_text(encoding="utf-8") == "secret\n"


@pytest.mark.parametrize("decide", [Proposals.reject, Proposals.rebase])
def test_a_proposal_that_was_written_before_a_kill_is_not_decided_again(
    proposals: Proposals, decide: Callable[[Proposals, str], object]
) -> None:
    filed = proposals.file(change(), HUMAN).proposal
    path = proposals.store.root / PENDING / f"{filed.id}.yaml"
    content = path.read_bytes()
    proposals.approve(proposals.review(filed.id))
    path.write_bytes(content)  # as if the kill came before it was removed
    with pytest.raises(Conflict, match="was approved before"):
        decide(proposals, filed.id)
    assert proposals.rejections.find(change()) is None


def test_a_proposal_that_was_written_before_a_kill_is_not_written_again(
    proposals: Proposals,
) -> None:
    write(proposals)
    filed = proposals.file(change(operation=Operation.APPEND), HUMAN)
    path = proposals.store.root / PENDING / f"{filed.proposal.id}.yaml"
    content = path.read_bytes()
    proposals.approve(proposals.review(filed.proposal.id))
    path.write_bytes(content)  # as if the kill came before it was removed
    before = hashes(proposals.store.root)
    with pytest.raises(Conflict, match="was approved before"):
        proposals.approve(proposals.review(filed.proposal.id))
    assert hashes(proposals.store.root) == before
    assert not path.exists()


FULL = """
import resource, sys
from pathlib import Path
from cspace.errors import CspaceError
from cspace.memory.proposals import Proposals
from cspace.memory.store import MemoryStore

proposals = Proposals(MemoryStore(Path(sys.argv[1])))
review = proposals.review(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    proposals.approve(review)
except CspaceError as error:
    print(error)
"""


def test_what_is_written_and_not_logged_is_closed_too(proposals: Proposals) -> None:
    id_ = proposals.file(change(), HUMAN).proposal.id
    (proposals.store.root / ".log.jsonl").write_bytes(b"\n" * 100_000)
    answer = subprocess.run(
        (sys.executable, "-c", FULL, proposals.store.root, id_),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "not logged" in answer.stdout
    assert memory(proposals).endswith(b"Use a real database.\n")
    assert proposals.pending.ids() == ()


def test_a_review_of_an_unfiled_draft_can_not_be_approved(proposals: Proposals) -> None:
    draft: Review = proposals.draft(change(), HUMAN)
    with pytest.raises(Conflict):
        proposals.approve(draft)
    assert hashes(proposals.store.root) == {}
