"""What a plain `git notes append` takes away when it runs at the same time as a capture."""

from __future__ import annotations

from cspace.git import git, resolve
from cspace.notes.store import NotesStore
from tests.notes.conftest import DECISIONS, add_commits, draft

SAID = "notes: Notes added by 'git notes append'"


def summaries(store: NotesStore) -> list[str]:
    return sorted(memory.record.summary for memory in store.iter_memories())


def overwrite(store: NotesStore, stale: str, commit: str, *, parent: str) -> None:
    """Do what git does that read the notes at stale, and moves the ref when it has written.

    Args:
        parent: where the ref was when it made its commit.
    """
    repo, ref = store.repository, "refs/notes/aside"
    git(repo, "update-ref", ref, stale)
    git(repo, "notes", f"--ref={ref}", "append", "-m", "by hand", commit)
    message = "Notes added by 'git notes append'"
    made = git(repo, "commit-tree", f"{ref}^{{tree}}", "-p", parent, "-m", message).text
    git(repo, "update-ref", "-m", SAID, DECISIONS.ref, made)
    git(repo, "update-ref", "-d", ref)


def test_hazard_what_git_overwrote_on_the_same_commit_is_back_with_the_next_write(
    store: NotesStore,
) -> None:
    store.capture(draft("First"))
    stale = store.tips()[DECISIONS]
    store.capture(draft("Lost"))
    overwrite(store, stale, "HEAD", parent=stale)
    assert summaries(store) == ["First"]
    store.capture(draft("Next"))
    assert summaries(store) == ["First", "Lost", "Next"]
    assert b"by hand" in git(store.repository, "notes", "--ref=cs/decisions", "show").stdout


def test_hazard_what_git_overwrote_on_another_commit_is_back_when_it_is_asked_for(
    store: NotesStore,
) -> None:
    commits = add_commits(store.repository, 3)
    store.capture(draft("First"), commits[0])
    stale = store.tips()[DECISIONS]
    store.capture(draft("Lost"), commits[1])
    store.capture(draft("Lost too"), commits[0])
    overwrite(store, stale, commits[2], parent=store.tips()[DECISIONS])
    git(store.repository, "notes", "--ref=cs/decisions", "append", "-m", "later", commits[2])
    back = store.mend()
    assert sorted(one.record.summary for one in back) == ["Lost", "Lost too"]
    assert summaries(store) == ["First", "Lost", "Lost too"]
    before = resolve(store.repository, DECISIONS.ref)
    assert store.mend() == ()
    assert resolve(store.repository, DECISIONS.ref) == before


def test_a_look_for_what_is_lost_reads_many_moves_of_git_in_one_go(store: NotesStore) -> None:
    store.capture(draft("First"))
    stale = store.tips()[DECISIONS]
    store.capture(draft("Lost"))
    overwrite(store, stale, "HEAD", parent=stale)
    for number in range(6):
        git(store.repository, "notes", "--ref=cs/decisions", "append", "-m", f"said {number}")
    assert [one.record.summary for one in store.mend()] == ["Lost"]
    assert b"said 5" in git(store.repository, "notes", "--ref=cs/decisions", "show").stdout


def test_what_was_forgotten_stays_so_when_git_writes_over_it(store: NotesStore) -> None:
    commits = add_commits(store.repository, 2)
    one = store.capture(draft("Forgotten", "too much"), commits[0]).memory
    stale = store.tips()[DECISIONS]
    store.forget(one.reference)
    overwrite(store, stale, commits[1], parent=store.tips()[DECISIONS])
    assert summaries(store) == ["Forgotten"]
    store.mend()
    assert summaries(store) == []
    assert (
        b"too much"
        not in git(store.repository, "notes", "--ref=cs/decisions", "show", commits[0]).stdout
    )


def test_what_a_person_removes_or_edits_with_git_stays_so(store: NotesStore) -> None:
    commits = add_commits(store.repository, 2)[:2]
    for commit in commits:
        store.capture(draft("Removed"), commit)
    git(store.repository, "notes", "--ref=cs/decisions", "remove", commits[0])
    git(store.repository, "notes", "--ref=cs/decisions", "add", "-f", "-m", "new", commits[1])
    git(store.repository, "notes", "--ref=cs/decisions", "append", "-m", "more", commits[1])
    store.capture(draft("Next"), commits[0])
    assert summaries(store) == ["Next"]


def test_without_a_log_of_the_ref_a_capture_beside_git_works_as_ever(store: NotesStore) -> None:
    git(store.repository, "config", "core.logAllRefUpdates", "false")
    git(store.repository, "notes", "--ref=cs/decisions", "append", "-m", "by hand")
    store.capture(draft("Next"))
    assert summaries(store) == ["Next"]
