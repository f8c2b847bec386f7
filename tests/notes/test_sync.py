from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import git, git_import, proc
from cspace.errors import CommandFailed, NotFound, UsageError
from cspace.git_remote import GitRemote
from cspace.notes.configure import configure
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.remote import find_offer, find_remote, hint_where_none
from cspace.notes.sync import Sync
from tests.notes.clones import Person, clone, make_bare
from tests.notes.test_overwritten import overwrite

KEY = "ghp_" + "q8Zr1Xv7Lm3Tn5Wb9Yc2Kd4Jf6Hg0PsAaBbC"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return make_bare(tmp_path / "hub.git")


@pytest.fixture
def ann(bare: Path, tmp_path: Path) -> Person:
    """Return the one who made the first commit and pushed it."""
    person = clone(bare, tmp_path / "ann")
    person.commit("README.md", "# Sample\n", "Start")
    person.git("push", "--quiet", "origin", "HEAD:main")
    return person


@pytest.fixture
def bob(ann: Person, bare: Path, tmp_path: Path) -> Person:
    return clone(bare, tmp_path / "bob")


def test_two_clones_that_capture_on_one_commit_have_the_union_after_they_sync(
    ann: Person, bob: Person, bare: Path
) -> None:
    one, two = ann.capture("Chose RS256"), bob.capture("Chose Postgres")
    for _ in range(2):
        ann.sync()
        bob.sync()
    assert {each.id for each in ann.store.iter_memories()} == {one.id, two.id}
    assert ann.trees() == bob.trees() == Person(bare).trees()


def test_a_sync_without_news_makes_no_commit(ann: Person, bob: Person, bare: Path) -> None:
    ann.capture("Chose RS256")
    bob.capture("Chose Postgres")
    for _ in range(2):
        ann.sync()
        bob.sync()
    before = ann.tips(), bob.tips(), Person(bare).tips()
    assert all(one.received == one.sent == 0 for one in (*ann.sync(), *bob.sync()))
    assert (ann.tips(), bob.tips(), Person(bare).tips()) == before


def test_hazard_what_two_people_wrote_on_one_commit_is_read_again_by_both(
    ann: Person, bob: Person
) -> None:
    bodies = ["---\nid: x\n---\n\n## One\n", "b\n\n\na\n---\ntype: decision\n"]
    for person, body in zip((ann, bob), bodies, strict=True):
        person.capture(f"Wrote {len(body)}", body=body)
    ann.sync(), bob.sync(), ann.sync()
    for person in (ann, bob):
        assert {one.record.body for one in person.store.iter_memories()} == set(bodies)


def test_what_one_forgets_stays_forgotten_when_both_have_synced(ann: Person, bob: Person) -> None:
    kept, gone = ann.capture("Keep this"), ann.capture("Drop that")
    ann.sync(), bob.sync()
    bob.store.forget(f"decisions:{gone.commit[:10]}/{gone.id}")
    ann.capture("Something new")
    for person in (bob, ann, bob, ann):
        person.sync()
    assert ann.summaries() == bob.summaries() == sorted(["Keep this", "Something new"])
    assert kept.commit == gone.commit
    assert ann.trees() == bob.trees()


def test_a_secret_that_was_forgotten_holds_up_no_sync_and_is_gone_from_every_tip(
    ann: Person, bob: Person, bare: Path
) -> None:
    ann.capture("Before")
    ann.sync()
    leaked = ann.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    assert not all(one.is_whole for one in ann.sync())
    ann.store.forget(f"decisions:{leaked.commit}/{leaked.id}")
    assert all(one.is_whole for one in ann.sync())
    assert KEY.encode() not in _objects(bare)
    bob.sync()
    assert bob.summaries() == ["Before"]


def test_forgetting_takes_the_text_out_of_the_notes_of_all_who_sync(
    ann: Person, bob: Person, bare: Path
) -> None:
    gone = ann.capture("Drop that", body="It said too much.\n")
    ann.sync(), bob.sync()
    bob.capture("Something new")
    ann.store.forget(gone.reference)
    for person in (ann, bob, ann, bob):
        person.sync()
    assert ann.trees() == bob.trees() == Person(bare).trees()
    for root in (ann.root, bob.root, bare):
        assert "too much" not in Person(root).git(
            "notes", "--ref=cs/decisions", "show", gone.commit
        )


def test_a_resolution_reaches_the_other(ann: Person, bob: Person) -> None:
    ann.capture("CI is red", namespace=Namespace.BLOCKERS)
    ann.sync(), bob.sync()
    (found,) = bob.store.iter_memories()
    bob.store.resolve(found.reference, "A cache was stale.")
    bob.sync(), ann.sync()
    assert [one.status for one in ann.store.iter_memories()] == ["resolved"]


def test_a_fanned_out_tree_of_git_itself_merges_with_a_flat_one(
    ann: Person, bob: Person, counts: Callable[[int, int], int]
) -> None:
    many = counts(300, 1000)
    commits = _commit_many(ann, many)
    ann.git("push", "--quiet", "origin", "HEAD:main")
    bob.git("pull", "--quiet")
    ann.store.capture_all(
        (Draft(Namespace.DECISIONS, f"At {one[:6]}", "Why.\n"), one) for one in commits[: many // 2]
    )
    bob.capture("Only Bob", commits[0])
    ann.sync(), bob.sync(), ann.sync()
    assert len(bob.memories()) == many // 2 + 1
    assert ann.trees() == bob.trees()


def _commit_many(person: Person, count: int) -> list[str]:
    stream = b"".join(
        b"commit refs/heads/more\ncommitter A <a@x> %d +0000\ndata 1\n.\n" % (1700000000 + number)
        + (b"from refs/heads/main^0\n" if number == 0 else b"")
        for number in range(count)
    )
    person.git("fast-import", "--quiet", stdin=stream)
    person.git("merge", "--quiet", "more")
    return person.git("rev-list", "more").split()[:count]


def test_all_ten_namespaces_travel(ann: Person, bob: Person) -> None:
    for namespace in Namespace:
        ann.capture(f"About {namespace}", namespace=namespace)
    assert sum(one.sent for one in ann.sync()) == 10
    assert sum(one.received for one in bob.sync()) == 10
    assert bob.memories() == ann.memories()


def test_a_shallow_clone_syncs_and_cuts_nothing(ann: Person, bare: Path, tmp_path: Path) -> None:
    first = ann.git("rev-parse", "HEAD")
    ann.commit("a.txt", "a\n")
    ann.git("push", "--quiet", "origin", "HEAD:main")
    ann.capture("On an old commit", first)
    ann.sync()
    shallow = clone(bare, tmp_path / "shallow", "--depth", "1")
    before = git.list_cuts(shallow.root)
    shallow.sync()
    shallow.capture("On the newest")
    shallow.sync()
    ann.sync()
    assert shallow.memories() == ann.memories()
    assert git.list_cuts(shallow.root) == before


def test_a_partial_clone_gets_the_notes_themselves(ann: Person, bare: Path, tmp_path: Path) -> None:
    proc.run("git", "-C", bare, "config", "uploadpack.allowFilter", "true")
    ann.capture("Chose RS256")
    ann.sync()
    partial = clone(bare, tmp_path / "partial", "--filter=blob:none")
    partial.sync()
    partial.git("remote", "set-url", "origin", "/nowhere")
    assert partial.summaries() == ["Chose RS256"]


def test_a_remote_that_does_not_answer_is_named_and_nothing_is_lost(ann: Person) -> None:
    ann.capture("Chose RS256")
    ann.git("remote", "set-url", "origin", "/nowhere/at/all")
    before = ann.tips()
    with pytest.raises(CommandFailed, match=r"origin can not be reached: .*nowhere"):
        ann.sync()
    assert ann.tips() == before


def test_a_repository_without_a_remote_says_how_to_add_one(repo: Path) -> None:
    with pytest.raises(UsageError, match="no remote") as told:
        find_remote(repo, None)
    assert told.value.hint is not None
    assert "remote add origin" in told.value.hint


def test_a_remote_that_is_not_configured_is_not_found(ann: Person) -> None:
    with pytest.raises(NotFound, match="upstream"):
        find_remote(ann.root, "upstream")


def test_a_leak_holds_back_its_namespace_and_no_other(ann: Person, bob: Person) -> None:
    leaked = ann.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    ann.capture("No token", namespace=Namespace.LEARNINGS)
    results = {one.namespace: one for one in ann.sync()}
    (leak,) = results[Namespace.DECISIONS].blocked
    assert leak.reference == f"decisions:{leaked.commit[:7]}/{leaked.id[:4]}"
    assert KEY not in str(leak)
    bob.sync()
    assert bob.summaries() == ["No token"]


def test_a_leak_goes_when_a_person_allows_it_and_holds_up_nobody_else(
    ann: Person, bob: Person
) -> None:
    ann.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    assert all(one.is_whole for one in ann.sync(allow_secret=True))
    bob.sync()
    bob.capture("Without one")
    assert all(one.is_whole for one in bob.sync())


def test_a_text_that_was_taken_out_by_hand_is_not_pushed_as_history(
    ann: Person, bare: Path
) -> None:
    ann.capture("Start")
    ann.sync()
    ann.capture(
        "A token", body=f"token = {KEY}\n", namespace=Namespace.LEARNINGS, allow_secret=True
    )
    ann.git("notes", "--ref=cs/learnings", "remove", "HEAD")
    ann.capture("Clean", namespace=Namespace.LEARNINGS)
    assert all(one.is_whole for one in ann.sync())
    assert KEY.encode() not in _objects(bare)


def _objects(bare: Path) -> bytes:
    return proc.run("git", "-C", bare, "cat-file", "--batch", "--batch-all-objects").stdout


def test_what_comes_in_is_here_although_a_leak_blocks_the_push(ann: Person, bob: Person) -> None:
    bob.capture("Of Bob")
    bob.sync()
    ann.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    (result,) = ann.sync()
    assert result.blocked
    assert ann.summaries() == ["A token", "Of Bob"]


def test_people_who_sync_at_once_all_get_through(
    ann: Person, bare: Path, tmp_path: Path, counts: Callable[[int, int], int]
) -> None:
    people = [clone(bare, tmp_path / f"p{number}") for number in range(counts(3, 6))]
    for number, person in enumerate(people):
        person.capture(f"Of {number}")
    threads = [threading.Thread(target=person.sync) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ann.sync()
    assert ann.summaries() == [f"Of {number}" for number in range(len(people))]


def test_what_is_captured_while_a_sync_runs_is_kept(ann: Person, bob: Person) -> None:
    def capture() -> None:
        for number in range(5):
            ann.capture(f"Meanwhile {number}")

    bob.capture("Of Bob")
    bob.sync()
    thread = threading.Thread(target=capture)
    thread.start()
    while thread.is_alive():
        ann.sync()
    ann.sync(), bob.sync()
    assert bob.summaries() == ann.summaries()
    assert len(bob.summaries()) == 6


def test_a_remote_without_atomic_pushes_gets_them_one_by_one(
    ann: Person, bob: Person, bare: Path
) -> None:
    proc.run("git", "-C", bare, "config", "receive.advertiseAtomic", "false")
    ann.capture("One")
    ann.capture("Two", namespace=Namespace.LEARNINGS)
    ann.sync()
    bob.sync()
    assert bob.summaries() == ["One", "Two"]


def test_a_remote_whose_hook_says_no_is_reported_with_its_words(ann: Person, bare: Path) -> None:
    hook = bare / "hooks/update"
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    ann.capture("One")
    with pytest.raises(CommandFailed, match=r"though it did not move: decisions.*hook declined"):
        ann.sync()
    assert ann.summaries() == ["One"]


def test_a_hook_that_checks_pushed_code_does_not_run(ann: Person, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("pre-push", "post-merge"):
        hook = ann.root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n", encoding="utf-8")
        hook.chmod(0o755)
    ann.capture("One")
    ran.unlink(missing_ok=True)
    Sync(ann.store, find_remote(ann.root, None)).run()
    assert not ran.exists()


def test_hazard_configuration_and_plain_pushes_are_as_before(ann: Person, bob: Person) -> None:
    before = ann.git("config", "--list", "--show-origin")
    ann.capture("One")
    ann.sync()
    ann.commit("b.txt", "b\n")
    pushed = ann.git("push", "--porcelain", "--dry-run", "origin", "HEAD:main")
    assert ann.git("config", "--list", "--show-origin") == before
    assert "refs/notes" not in pushed
    assert "refs/cspace" not in ann.git("push", "--porcelain", "--dry-run", "origin")


def test_a_dry_run_changes_no_note_on_either_side(ann: Person, bob: Person, bare: Path) -> None:
    ann.capture("Of Ann")
    bob.capture("Of Bob")
    bob.sync()
    before = ann.tips(), Person(bare).tips()
    (planned,) = Sync(ann.store, find_remote(ann.root, None)).plan()
    assert (planned.received, planned.sent) == (1, 1)
    assert (ann.tips(), Person(bare).tips()) == before


@pytest.mark.parametrize("path", ["README", "a" * 39])
def test_a_remote_tree_that_holds_no_notes_is_refused_by_name_and_others_go_on(
    path: str, ann: Person, bob: Person, bare: Path
) -> None:
    _plant(bob, path, b"x")
    ann.capture("Of Ann")
    ann.capture("Learned", namespace=Namespace.LEARNINGS)
    results = {one.namespace: one for one in ann.sync()}
    assert "names no object" in (results[Namespace.DECISIONS].refused or "")
    assert results[Namespace.LEARNINGS].sent == 1
    assert ann.summaries() == ["Learned", "Of Ann"]


def test_a_link_in_the_place_of_a_note_is_refused(ann: Person, bob: Person) -> None:
    _plant(bob, ann.git("rev-parse", "HEAD"), b"/etc/passwd", mode="120000")
    (result,) = ann.sync()
    assert "mode 120000" in (result.refused or "")
    assert ann.summaries() == []


def test_a_note_that_is_too_large_is_refused(ann: Person, bob: Person) -> None:
    _plant(bob, ann.git("rev-parse", "HEAD"), bytes(17 << 20))
    (result,) = ann.sync()
    assert "17825792 bytes" in (result.refused or "")


def _plant(person: Person, path: str, content: bytes, mode: str = "100644") -> None:
    """Push a commit with one path of any name where notes should be."""
    blob = person.git("hash-object", "-w", "--stdin", stdin=content)
    stream = (
        f"commit refs/odd\ncommitter A <a@x> 1700000000 +0000\ndata 1\n.\nM {mode} {blob} {path}\n"
    )
    person.git("fast-import", "--quiet", stdin=stream.encode())
    person.git("push", "--quiet", "origin", "refs/odd:refs/notes/cs/decisions")


def test_a_remote_that_sends_too_much_is_stopped(ann: Person, bob: Person) -> None:
    _plant(bob, ann.git("rev-parse", "HEAD"), os.urandom(1 << 20))
    remote = GitRemote(ann.root, ann.root / ".git/objects", "origin", most=1 << 18)
    with pytest.raises(CommandFailed, match="sends more than 262144 bytes"):
        remote.fetch(["+refs/notes/cs/decisions:refs/cspace/notes/origin/decisions"])


def test_a_ref_of_ours_that_is_no_commit_is_refused_and_the_others_go_on(
    ann: Person, bob: Person
) -> None:
    blob = ann.git("hash-object", "-w", "--stdin", stdin=b"x")
    ann.git("update-ref", Namespace.DECISIONS.ref, blob)
    ann.capture("Learned", namespace=Namespace.LEARNINGS)
    results = {one.namespace: one for one in ann.sync()}
    assert "no commit of notes" in (results[Namespace.DECISIONS].refused or "")
    assert results[Namespace.LEARNINGS].sent == 1


def test_a_namespace_that_the_remote_lost_is_pushed_again(ann: Person, bare: Path) -> None:
    ann.capture("One")
    ann.sync()
    proc.run("git", "-C", bare, "update-ref", "-d", "refs/notes/cs/decisions")
    (result,) = ann.sync()
    assert result.sent == 1
    assert Person(bare).trees() == ann.trees()


def test_notes_that_somebody_is_merging_by_hand_are_left_alone(ann: Person, bob: Person) -> None:
    ann.capture("One")
    (ann.root / ".git/NOTES_MERGE_REF").write_text("ref: refs/notes/cs/decisions\n")
    (result,) = ann.sync()
    assert "git notes merge" in (result.refused or "")


def test_what_is_no_record_travels_too(ann: Person, bob: Person) -> None:
    ann.git("notes", "--ref=cs/decisions", "add", "-m", "A plain remark", "HEAD")
    bob.capture("A record")
    ann.sync(), bob.sync(), ann.sync()
    assert "A plain remark" in bob.git("notes", "--ref=cs/decisions", "show", "HEAD")
    assert ann.trees() == bob.trees()


def test_a_sync_works_from_a_linked_work_tree(ann: Person, bob: Person, tmp_path: Path) -> None:
    ann.git("worktree", "add", "--quiet", "-b", "side", tmp_path / "side")
    side = Person(tmp_path / "side")
    side.capture("From the side")
    side.sync()
    bob.sync()
    assert bob.summaries() == ann.summaries() == ["From the side"]


def test_two_remotes_get_the_same_notes(ann: Person, bob: Person, tmp_path: Path) -> None:
    other = make_bare(tmp_path / "other.git")
    ann.git("remote", "add", "other", str(other))
    ann.capture("One")
    for name in ("origin", "other", "origin"):
        Sync(ann.store, find_remote(ann.root, name)).run()
    assert Person(other).trees() == ann.trees()
    assert all(one.sent == 0 for one in ann.sync())


def test_a_sha256_repository_syncs(tmp_path: Path) -> None:
    bare = tmp_path / "hub.git"
    proc.run("git", "init", "--quiet", "--bare", "--object-format=sha256", bare)
    proc.run("git", "init", "--quiet", "--object-format=sha256", tmp_path / "one")
    one = Person(tmp_path / "one")
    one.git("remote", "add", "origin", bare)
    one.commit("a.txt", "a\n")
    one.git("push", "--quiet", "origin", "HEAD:main")
    two = clone(bare, tmp_path / "two")
    one.capture("One")
    one.sync()
    two.sync()
    assert two.memories() == one.memories()


def test_a_fresh_clone_is_told_what_its_remote_has(ann: Person, bare: Path, tmp_path: Path) -> None:
    ann.capture("One", namespace=Namespace.LEARNINGS)
    ann.sync()
    fresh = clone(bare, tmp_path / "fresh")
    offer = find_offer(fresh.root)
    assert offer is not None
    assert offer.namespaces == (Namespace.LEARNINGS,)
    assert offer.command == hint_where_none(fresh.root) == "cspace notes sync origin"
    fresh.sync()
    assert find_offer(fresh.root) is None


def test_what_a_plain_fetch_brought_is_offered_until_a_sync_has_merged_it(
    ann: Person, bob: Person
) -> None:
    bob.capture("Mine")
    configure(bob.root, bob.store.place)
    ann.capture("Theirs")
    ann.sync()
    assert find_offer(bob.root) is None
    bob.git("fetch", "--quiet")
    offer = find_offer(bob.root)
    assert offer is not None
    assert offer.namespaces == (Namespace.DECISIONS,)
    bob.capture("A token", body=f"token = {KEY}\n", allow_secret=True)
    bob.sync()  # merges, and pushes nothing
    assert find_offer(bob.root) is None


def test_a_sync_brings_back_what_git_overwrote_before_it_reads(ann: Person, bob: Person) -> None:
    ann.capture("First")
    stale = ann.store.tips()[Namespace.DECISIONS]
    ann.capture("Lost")
    overwrite(ann.store, stale, "HEAD", parent=stale)
    assert ann.summaries() == ["First"]
    sync = Sync(ann.store, find_remote(ann.root, None))
    sync.run()
    assert [one.record.summary for one in sync.restored] == ["Lost"]
    bob.sync()
    assert bob.summaries() == ["First", "Lost"]


def test_nobody_is_told_of_a_remote_that_is_silent_or_not_there(ann: Person, repo: Path) -> None:
    ann.git("remote", "set-url", "origin", "/nowhere")
    assert find_offer(ann.root) is None
    assert find_offer(repo) is None
    assert hint_where_none(repo) is None


def test_places_are_found_in_the_common_directory(ann: Person) -> None:
    ann.capture("One")
    ann.sync()
    place = git_import.find_place(ann.root)
    assert (place.common_directory / "cspace/sync.lock").is_file()
