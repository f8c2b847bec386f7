"""Memories on the commits of a real repository."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cspace.errors import CommandFailed, Conflict, CspaceError, NotFound, UsageError
from cspace.git import git
from cspace.git_import import BlobReader
from cspace.notes.census import Tally, take_census
from cspace.notes.draft import MAX_BODY, Draft
from cspace.notes.secrets import LeakFound
from cspace.notes.store import NotesStore
from tests.conftest import Clock
from tests.notes.conftest import BLOCKERS, DECISIONS, REVIEWS, commits_of, draft, show
from tests.notes.test_note import FIXTURE, OLD

# Not in one piece: this file is scanned too.
SECRET = "ghp_" + "x7Kq2mWv9Rt4Lp8Zc3Nd6Hb1Fg5Js0Ya2Be7"


def test_a_capture_stands_on_its_commit_where_git_shows_it(store: NotesStore) -> None:
    captured = store.capture(draft("Chose RS256"))
    assert captured.is_new
    assert captured.memory.reference == f"decisions:{captured.memory.commit[:7]}"
    assert show(store.repository, "cs/decisions").startswith(
        b"---\nid: " + captured.memory.id.encode()
    )


def test_the_same_capture_twice_is_one_record(store: NotesStore) -> None:
    first = store.capture(draft("Chose RS256"))
    before = store.tips()
    again = store.capture(draft("Chose RS256"))
    assert (first.is_new, again.is_new) == (True, False)
    assert again.memory.id == first.memory.id
    assert store.tips() == before


def test_several_memories_of_a_commit_are_told_apart_by_their_ids(store: NotesStore) -> None:
    for number in range(3):
        store.capture(draft(f"Chose {number}"))
    memories = tuple(store.iter_memories())
    assert [store.get(each.reference).id for each in memories] == [each.id for each in memories]
    with pytest.raises(Conflict, match="3 memories are called so") as refused:
        store.get(f"decisions:{memories[0].commit[:7]}")
    assert memories[0].reference in (refused.value.hint or "")


def test_a_reference_that_nothing_has_is_answered_with_what_is_near(store: NotesStore) -> None:
    one = store.capture(draft("Chose RS256")).memory
    with pytest.raises(NotFound) as missing:
        store.get(f"decisions:{one.commit[:7]}/{'0' if one.id[0] != '0' else '1'}")
    assert one.reference in (missing.value.hint or "")
    for wrong in ("decisions", "decisions:main", "plans:1a2b3c4", "decisions:1a2b3c4/x"):
        with pytest.raises(UsageError):
            store.find(wrong)


def test_a_reference_may_say_head_and_what_stands_before_it(store: NotesStore) -> None:
    first = store.capture(draft("Chose RS256")).memory
    git(store.repository, "commit", "--quiet", "--allow-empty", "--message", "Go on")
    second = store.capture(draft("Chose ES256")).memory
    assert [one.id for one in store.find("decisions:HEAD")] == [second.id]
    assert store.get(f"decisions:HEAD~1/{first.id[:4]}").id == first.id
    with pytest.raises(NotFound, match="HEAD~7: there is no such commit"):
        store.find("decisions:HEAD~7")


def test_a_blocker_is_open_until_it_is_resolved(store: NotesStore, clock: Clock) -> None:
    one = store.capture(draft("No network", namespace=BLOCKERS)).memory
    assert one.status == "open"
    clock.advance(hours=1)
    after = store.resolve(one.reference, "A proxy\n---\nwas missing.\n")
    assert (after.status, after.resolution) == ("resolved", "A proxy\n---\nwas missing.\n")
    assert after.resolved_at == clock()
    assert store.get(one.reference) == after
    clock.advance(hours=1)
    assert store.resolve(one.reference, "No: two were.").resolution == "No: two were."


def test_two_blockers_of_a_commit_resolved_in_the_same_words_are_both_resolved(
    store: NotesStore,
) -> None:
    for number in range(2):
        store.capture(draft(f"Blocked {number}", namespace=BLOCKERS))
    for memory in tuple(store.iter_memories()):
        store.resolve(memory.reference, "Fixed.")
    assert [each.status for each in store.iter_memories()] == ["resolved"] * 2


def test_what_has_no_status_is_not_resolved(store: NotesStore) -> None:
    one = store.capture(draft("Chose RS256")).memory
    with pytest.raises(UsageError, match="only blockers and reviews"):
        store.resolve(one.reference, "done")
    with pytest.raises(UsageError, match="empty"):
        store.resolve(one.reference, " \n")


def test_a_forgotten_memory_is_gone_for_good_and_its_neighbour_stays(store: NotesStore) -> None:
    one, two = (store.capture(draft(f"Chose {n}")).memory for n in range(2))
    store.forget(f"{one.reference}/{one.id}")
    assert [each.id for each in store.iter_memories()] == [two.id]
    with pytest.raises(Conflict, match="was forgotten on this commit"):
        store.capture(draft("Chose 0"))
    with pytest.raises(NotFound):
        store.forget(f"{one.reference}/{one.id}")


def test_a_forgotten_memory_leaves_no_byte_of_its_text_in_the_note(store: NotesStore) -> None:
    one = store.capture(draft("The wrong one", "It said too much.\n", BLOCKERS)).memory
    store.resolve(one.reference, "Said too much again.")
    git(store.repository, "notes", "--ref=cs/blockers", "append", "-m", "LGTM")
    store.forget(one.reference)
    text = show(store.repository, "cs/blockers")
    assert b"too much" not in text
    assert b"The wrong one" not in text
    assert text.startswith(b"LGTM\n")
    assert text.count(one.id.encode()) == 2  # both in the tombstone


def test_the_next_write_drops_what_somebody_put_back_below_a_tombstone(store: NotesStore) -> None:
    one = store.capture(draft("The wrong one", "It said too much.\n")).memory
    before = show(store.repository, "cs/decisions")
    store.forget(one.reference)
    git(store.repository, "notes", "--ref=cs/decisions", "append", "-F", "-", stdin=before)
    store.capture(draft("Next"))
    assert b"too much" not in show(store.repository, "cs/decisions")
    assert [each.record.summary for each in store.iter_memories()] == ["Next"]


def test_two_findings_that_differ_only_in_their_line_are_not_silently_one(
    store: NotesStore,
) -> None:
    first = Draft(REVIEWS, "Query from input", "Bind it.", file="a.py", line=1, severity="high")
    store.capture(first)
    with pytest.raises(Conflict, match=r"line 2: the same summary and body stand there with line"):
        store.capture(
            Draft(REVIEWS, "Query from input", "Bind it.", file="a.py", line=2, severity="high")
        )


def test_one_write_takes_many_captures_or_none(store: NotesStore) -> None:
    captured = store.capture_all([(draft(f"Chose {n}"), "HEAD") for n in range(20)])
    assert len({each.memory.id for each in captured}) == 20
    assert git(store.repository, "rev-list", "--count", DECISIONS.ref).text == "1"
    with pytest.raises(NotFound):
        store.capture_all([(draft("Good"), "HEAD"), (draft("Bad"), "nowhere")])
    assert take_census(store)[DECISIONS].memories == 20


@pytest.mark.parametrize("commit", ["nowhere", "", "HEAD^{tree}", "HEAD\nHEAD", "-h", "HEAD:x y"])
def test_a_commit_that_is_none_is_refused(store: NotesStore, commit: str) -> None:
    with pytest.raises(NotFound, match="there is no such commit"):
        store.capture(draft("Chose RS256"), commit)
    assert store.tips() == {}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"summary": ""}, "summary"),
        ({"summary": "a\nid: 5f0c9a21b7e4d803"}, "summary"),
        ({"summary": "x" * 101}, "summary"),
        ({"summary": " x"}, "summary"),
        ({"summary": "\x1b[31mred"}, "summary"),
        ({"body": "é" * (MAX_BODY // 2 + 1)}, "body"),
        ({"type": "tombstone"}, "type"),
        ({"type": "No Type"}, "type"),
        ({"spec": "a\0b"}, "spec"),
        ({"tags": ("a\nb",)}, "tag"),
        ({"tags": ("x",) * 33}, "tags"),
        ({"severity": "high"}, "severity"),
        ({"namespace": REVIEWS, "severity": "awful"}, "severity"),
        ({"namespace": REVIEWS, "category": "style"}, "category"),
        ({"namespace": REVIEWS, "file": "a\nb"}, "file"),
        ({"namespace": REVIEWS, "line": 0}, "line"),
    ],
)
def test_a_field_that_no_header_can_hold_is_named(
    store: NotesStore, fields: dict[str, object], named: str
) -> None:
    whole = {"namespace": DECISIONS, "summary": "Chose", "body": "b"} | fields
    with pytest.raises(UsageError, match=f"^{named}") as refused:
        store.capture(Draft(**whole))  # type: ignore[arg-type]
    assert refused.value.hint
    assert store.tips() == {}


@pytest.mark.parametrize("field", ["summary", "body", "spec", "phase", "tags", "file"])
def test_a_secret_in_any_field_blocks_the_capture_and_is_not_repeated(
    store: NotesStore, field: str
) -> None:
    value: object = (SECRET,) if field == "tags" else SECRET
    whole: dict[str, object] = {"namespace": REVIEWS, "summary": "s", "body": "b"}
    one = Draft(**(whole | {field: value}))  # type: ignore[arg-type]
    with pytest.raises(LeakFound) as refused:
        store.capture(one)
    assert SECRET not in f"{refused.value} {refused.value.hint}"
    assert store.tips() == {}
    assert store.capture(one, allow_secret=True).is_new


def test_a_secret_in_a_resolution_is_not_written(store: NotesStore) -> None:
    one = store.capture(draft("No network", namespace=BLOCKERS)).memory
    with pytest.raises(LeakFound):
        store.resolve(one.reference, f"token {SECRET}")
    assert store.get(one.reference).status == "open"


def test_notes_of_older_tools_and_of_people_are_counted_and_kept_at_every_write(
    store: NotesStore,
) -> None:
    text = b"LGTM\n\n" + OLD
    git(store.repository, "notes", "--ref=cs/reviews", "add", "-F", "-", stdin=text)
    before = show(store.repository, "cs/reviews")
    store.capture(draft("New", namespace=REVIEWS))
    assert show(store.repository, "cs/reviews").startswith(before)
    assert take_census(store) == {REVIEWS: Tally(commits=1, memories=2, stray=1)}


def test_an_edited_record_is_counted(store: NotesStore) -> None:
    git(store.repository, "notes", "--ref=cs/decisions", "add", "-F", "-", stdin=FIXTURE)
    assert take_census(store) == {DECISIONS: Tally(commits=1, memories=1, edited=1)}


def test_hazard_first_use_leaves_push_and_configuration_as_they_were(
    store: NotesStore, tmp_path: Path
) -> None:
    repo, remote = store.repository, tmp_path / "remote.git"
    git(repo, "init", "--quiet", "--bare", str(remote))
    git(repo, "remote", "add", "origin", str(remote))
    before, asked = git(repo, "config", "--list").stdout, git(repo, "push", "-n", "origin", "main")
    memory = store.capture(draft("No network", namespace=BLOCKERS)).memory
    store.resolve(memory.reference, "done")
    store.forget(memory.reference)
    assert git(repo, "config", "--list").stdout == before
    assert git(repo, "push", "-n", "origin", "main").stderr == asked.stderr
    git(repo, "-c", "push.default=current", "push", "--quiet", "origin")
    assert list(git(remote, "for-each-ref", "--format=%(refname)").text.split()) == [
        "refs/heads/main"
    ]


def test_a_capture_touches_neither_work_tree_nor_index_and_runs_no_hook(
    store: NotesStore, tmp_path: Path
) -> None:
    repo = store.repository
    hook = repo / ".git/hooks/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    index = (repo / ".git/index").read_bytes()
    store.capture(draft("Chose RS256"))
    assert not (tmp_path / "ran").exists()
    assert (repo / ".git/index").read_bytes() == index
    assert git(repo, "status", "--porcelain").text == ""


def test_reading_where_nothing_was_captured_creates_nothing(store: NotesStore) -> None:
    before = sorted(store.place.common_directory.rglob("*"))
    assert (take_census(store), tuple(store.iter_memories())) == ({}, ())
    assert sorted(store.place.common_directory.rglob("*")) == before


def test_a_capture_before_the_first_commit_says_that_there_is_none(
    tmp_path: Path, make_store: Callable[[Path], NotesStore]
) -> None:
    git(tmp_path, "init", "--quiet", "new")
    with pytest.raises(NotFound, match="commit 'HEAD'"):
        make_store(tmp_path / "new").capture(draft("Chose RS256"))


def test_a_ref_that_is_no_commit_of_notes_is_an_error_and_stays(store: NotesStore) -> None:
    blob = git(store.repository, "hash-object", "-w", "--stdin", stdin=b"x").text
    git(store.repository, "update-ref", DECISIONS.ref, blob)
    with pytest.raises(CspaceError, match="no commit of notes"):
        store.capture(draft("Chose RS256"))
    assert git(store.repository, "rev-parse", DECISIONS.ref).text == blob


def test_a_ref_that_is_no_commit_hides_no_other_namespace_and_is_named(store: NotesStore) -> None:
    store.capture(draft("Chose RS256"))
    blob = git(store.repository, "hash-object", "-w", "--stdin", stdin=b"x").text
    git(store.repository, "update-ref", REVIEWS.ref, blob)
    assert [one.record.summary for one in store.iter_memories()] == ["Chose RS256"]
    assert {one: each.memories for one, each in take_census(store).items()} == {DECISIONS: 1}
    assert store.broken() == (REVIEWS,)
    assert store.mend() == ()


def test_a_lock_that_a_killed_git_left_is_named(store: NotesStore) -> None:
    store.capture(draft("First"))
    lock = store.place.common_directory / f"{DECISIONS.ref}.lock"
    lock.touch()
    with pytest.raises(Conflict, match="locked by another git") as told:
        store.capture(draft("Second"))
    assert str(lock) in str(told.value)
    assert "remove that file" in (told.value.hint or "")
    lock.unlink()
    assert store.capture(draft("Second")).is_new


def test_a_store_kept_open_captures_as_one_that_is_not(store: NotesStore) -> None:
    with store.kept_open() as opened:
        captured = [opened.capture(draft(f"Chose {n}")) for n in range(3)]
    assert [each.memory.id for each in captured] == [one.id for one in store.iter_memories()]
    assert all(each.is_new for each in captured)


def test_a_worktree_and_a_bare_common_directory_share_their_notes(
    tmp_path: Path, repo: Path, make_store: Callable[[Path], NotesStore]
) -> None:
    bare, tree = tmp_path / "bare.git", tmp_path / "tree"
    git(repo, "clone", "--quiet", "--bare", str(repo), str(bare))
    git(bare, "worktree", "add", "--quiet", "-b", "work", str(tree))
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "Work")
    memory = make_store(tree).capture(draft("Chose RS256")).memory
    assert memory.commit == commits_of(tree)[0]
    assert make_store(bare).get(memory.reference).record.summary == "Chose RS256"
    assert make_store(bare).capture(draft("Chose ES256")).memory.commit != memory.commit


def test_a_repository_of_sha256_has_memories_too(
    tmp_path: Path, make_store: Callable[[Path], NotesStore]
) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "new")
    repository = tmp_path / "new"
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "Start")
    store = make_store(repository)
    memories = [store.capture(draft(f"Chose {n}")).memory for n in range(3)]
    assert len(memories[0].commit) == 64
    assert {one.id for one in store.iter_memories()} == {one.id for one in memories}
    assert store.get(memories[2].reference).record.summary == "Chose 2"
    git(repository, "fsck", "--strict")


def test_a_shared_repository_can_be_captured_in_by_its_whole_group(
    tmp_path: Path, make_store: Callable[[Path], NotesStore]
) -> None:
    git(tmp_path, "init", "--quiet", "--shared=group", "new")
    git(tmp_path / "new", "commit", "--quiet", "--allow-empty", "-m", "Start")
    store = make_store(tmp_path / "new")
    (store.place.common_directory / "cspace").mkdir(mode=0o700)
    store.capture(draft("Chose RS256"))
    assert (store.place.common_directory / "cspace").stat().st_mode & 0o070 == 0o070
    for path in (store.place.common_directory / "objects").iterdir():
        assert path.stat().st_mode & 0o020, path


def test_a_note_that_git_lost_hazard_a_capture_does_not_take_its_place(store: NotesStore) -> None:
    store.capture(draft("First"))
    repository = store.repository
    blob = git(repository, "notes", "--ref=cs/decisions", "list", "HEAD").text
    objects = repository / ".git/objects"
    (objects / blob[:2] / blob[2:]).rename(repository / "kept")
    with pytest.raises(CspaceError, match="can not be read"):
        store.capture(draft("Second"))
    (repository / "kept").rename(objects / blob[:2] / blob[2:])
    assert [one.record.summary for one in store.iter_memories()] == ["First"]


@contextlib.contextmanager
def ending(store: NotesStore, answers: int) -> Iterator[NotesStore]:
    """Give a store whose program for reading ends after so many answers."""
    script = f"for n in $(seq {answers}); do read one; echo $one | git cat-file --batch; done"
    with subprocess.Popen(
        ["bash", "-c", script], cwd=store.repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield replace(store, reader=BlobReader(process.stdin, process.stdout))
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()


@pytest.mark.parametrize("answers", [0, 1, 2, 3])
def test_a_reader_that_ends_halfway_hazard_nothing_is_written_over_what_it_did_not_read(
    store: NotesStore, answers: int
) -> None:
    store.capture(draft("First"))
    with (
        pytest.raises(CommandFailed, match="ended before it had answered"),
        ending(store, answers) as kept,
    ):
        kept.capture(draft("Second"))
    assert [one.record.summary for one in store.iter_memories()] == ["First"]
