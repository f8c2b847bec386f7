from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import Conflict, NotFound, UsageError
from cspace.notes.catalog import Catalog
from cspace.notes.copies import without_copies
from cspace.notes.namespaces import Namespace
from cspace.notes.orphans import Standing, observe_standings, place_memories
from cspace.notes.question import Question
from cspace.notes.rescue import Proposal, apply_rescue, choose_rescue, plan_rescue
from cspace.notes.successors import Kind
from tests.notes.clones import DECISIONS, Person, clone, make_bare


@pytest.fixture
def ann(repo: Path) -> Person:
    return Person(repo)


def rescue(person: Person) -> tuple[Proposal, ...]:
    """Plan and apply; then every memory is still there, and planning again moves nothing."""
    before = person.summaries()
    planned = plan_rescue(person.store)
    apply_rescue(person.store, planned)
    assert apply_rescue(person.store, planned) == ()
    assert person.summaries() == before
    return planned


def stands_on(person: Person, summary: str, commit: str = "HEAD") -> bool:
    return (DECISIONS, summary, person.git("rev-parse", commit)) in person.memories()


def test_hazard_an_amended_message_orphans_and_rescue_brings_it_back(ann: Person) -> None:
    ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    ann.git("commit", "--quiet", "--amend", "-m", "Say it better")
    assert (ann.orphans(), ann.summaries()) == ({DECISIONS: 1}, ["Chose alpha"])
    (one,) = rescue(ann)
    assert (one.kind, one.target) == (Kind.AMEND, ann.git("rev-parse", "HEAD"))
    assert stands_on(ann, "Chose alpha")
    assert ann.orphans() == {}


def test_an_amended_change_is_known_by_author_date_and_subject(ann: Person) -> None:
    ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    (ann.root / "a.py").write_text("beta = 2\n", encoding="utf-8")
    ann.git("commit", "--quiet", "--amend", "--all", "--no-edit")
    (one,) = rescue(ann)
    assert (one.kind, one.why) == (Kind.AMEND, "same author, author date and subject")
    assert stands_on(ann, "Chose alpha")


def test_a_rebase_orphans_each_commit_and_rescue_brings_all_back(ann: Person) -> None:
    ann.git("switch", "--quiet", "-c", "side")
    for number in range(3):
        ann.commit(f"{number}.py", f"value = {number}\n")
        ann.capture(f"Chose {number}")
    ann.git("switch", "--quiet", "main")
    ann.commit("main.py", "main = True\n")
    ann.git("rebase", "--quiet", "main", "side")
    assert ann.orphans() == {DECISIONS: 3}
    assert {one.kind for one in rescue(ann)} == {Kind.REBASE}
    assert all(stands_on(ann, f"Chose {number}", f"HEAD~{2 - number}") for number in range(3))
    assert ann.orphans() == {}


def test_an_autosquashed_fixup_goes_to_the_commit_that_it_mends(ann: Person) -> None:
    ann.commit("a.py", "alpha = 'first version'\n", "Add alpha")
    ann.capture("Chose alpha")
    ann.commit("b.py", "beta = 'another file'\n", "Add beta")
    ann.commit("a2.py", "repaired = 'by the fixup'\n", "fixup! Add alpha")
    ann.capture("Learned from the fixup")
    ann.git("-c", "sequence.editor=:", "rebase", "--quiet", "-i", "--autosquash", "--root")
    kinds = {one.memories[0]: one.kind for one in rescue(ann)}
    assert sorted(map(str, kinds.values())) == ["amend", "fixup"]
    assert stands_on(ann, "Chose alpha", "HEAD~1")
    assert stands_on(ann, "Learned from the fixup", "HEAD~1")


@pytest.mark.parametrize("word", ["fixup", "squash"])
def test_commits_joined_by_an_interactive_rebase_go_to_the_joined_one(
    word: str, ann: Person
) -> None:
    ann.commit("a.py", "alpha = 'first version'\n", "Add alpha")
    ann.capture("Of the first")
    ann.commit("a.py", "alpha = 'second version'\n", "Change alpha")
    ann.capture("Of the second")
    editor = f"sequence.editor=sed -i '2s/pick/{word}/'"
    ann.git("-c", editor, "-c", "core.editor=true", "rebase", "--quiet", "-i", "HEAD~2")
    kinds = {str(one.kind) for one in rescue(ann)}
    assert word in kinds
    assert stands_on(ann, "Of the first")
    assert stands_on(ann, "Of the second")


@pytest.mark.parametrize("deletes", [True, False])
def test_a_squash_merge_of_a_branch_takes_all_its_memories(*, deletes: bool, ann: Person) -> None:
    ann.git("switch", "--quiet", "-c", "side")
    for number in range(3):
        ann.commit("a.py", f"version = {number}\n", f"Version {number}")
        ann.capture(f"Of version {number}")
    ann.git("switch", "--quiet", "main")
    ann.commit("main.py", "main = True\n")
    ann.git("merge", "--quiet", "--squash", "side")
    ann.git("commit", "--quiet", "-m", "All of it")
    assert ann.orphans() == {}
    ann.git("branch", "--quiet", "-D", "side")
    if deletes:
        ann.git("reflog", "expire", "--expire=now", "--all")
    assert ann.orphans() == {DECISIONS: 3}
    assert {one.kind for one in rescue(ann)} == {Kind.SQUASH}
    assert all(stands_on(ann, f"Of version {number}") for number in range(3))


def test_a_commit_in_the_middle_of_a_branch_is_found_in_its_squash(ann: Person) -> None:
    ann.git("switch", "--quiet", "-c", "side")
    ann.commit("a.py", "version = 1\n")
    ann.capture("Of the first")
    ann.commit("a.py", "version = 2\n")
    ann.commit("b.py", "other = 3\n")
    ann.git("switch", "--quiet", "main")
    ann.git("merge", "--quiet", "--squash", "side")
    ann.git("commit", "--quiet", "-m", "All of it")
    ann.git("branch", "--quiet", "-D", "side")
    (one,) = rescue(ann)
    assert (one.kind, one.target) == (Kind.SQUASH, ann.git("rev-parse", "HEAD"))


def test_a_cherry_pick_that_names_its_origin_is_believed(ann: Person) -> None:
    ann.git("switch", "--quiet", "-c", "side")
    picked = ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    ann.git("switch", "--quiet", "main")
    ann.git("cherry-pick", "-x", picked)
    ann.git("branch", "--quiet", "-D", "side")
    (one,) = rescue(ann)
    assert (one.kind, one.why) == (Kind.CHERRY_PICK, "its message names it")
    assert stands_on(ann, "Chose alpha")


def test_a_reset_orphans_and_nothing_is_guessed(ann: Person) -> None:
    ann.commit("a.py", "alpha = 1\n")
    ann.commit("a.py", "alpha = 2\n")
    ann.capture("Chose alpha")
    ann.git("reset", "--quiet", "--hard", "HEAD~1")
    (one,) = rescue(ann)
    assert (one.target, one.why) == (None, "no commit has its change")
    assert ann.orphans() == {DECISIONS: 1}


def test_who_goes_back_to_the_old_commit_has_no_orphan(ann: Person) -> None:
    old = ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    ann.git("commit", "--quiet", "--amend", "-m", "Other words")
    rescue(ann)
    ann.git("reset", "--quiet", "--hard", old)
    assert ann.orphans() == {}
    assert stands_on(ann, "Chose alpha")


def test_a_memory_of_a_commit_that_git_threw_away_is_there_and_goes_where_a_person_says(
    ann: Person,
) -> None:
    old = ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    ann.git("commit", "--quiet", "--amend", "-m", "Other words")
    ann.git("reflog", "expire", "--expire=now", "--all")
    ann.git("gc", "--quiet", "--prune=now")
    assert ann.git("cat-file", "--batch-check", stdin=old.encode()) == f"{old} missing"
    (one,) = rescue(ann)
    assert (one.target, "thrown" in one.why) == (None, True)
    assert (ann.summaries(), ann.orphans()) == (["Chose alpha"], {DECISIONS: 1})
    apply_rescue(ann.store, [choose_rescue(ann.store, old[:8], "HEAD")])
    assert stands_on(ann, "Chose alpha")
    assert ann.orphans() == {}


def test_two_candidates_are_listed_and_neither_is_taken(ann: Person) -> None:
    ann.git("switch", "--quiet", "-c", "side")
    picked = ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    for branch in ("one", "two"):
        ann.git("switch", "--quiet", "-c", branch, "main")
        ann.commit(f"{branch}.py", f"{branch}\n")
        ann.git("cherry-pick", picked)
    ann.git("branch", "--quiet", "-D", "side")
    before = ann.tips()
    (one,) = rescue(ann)
    assert (one.target, len(one.candidates)) == (None, 2)
    assert ann.tips() == before


def test_what_a_commit_was_built_upon_is_no_candidate(ann: Person) -> None:
    ann.commit("a.py", "alpha = 'a longer line of text'\n", "Same words")
    ann.git("revert", "--no-edit", "HEAD")
    ann.commit("a.py", "alpha = 'a longer line of text'\n", "Same words")
    ann.capture("Chose alpha")
    ann.git("reset", "--quiet", "--hard", "HEAD~1")
    (one,) = plan_rescue(ann.store)
    assert one.candidates == ()


def test_planning_changes_nothing(ann: Person) -> None:
    ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    ann.git("commit", "--quiet", "--amend", "-m", "Other words")
    before = ann.git("for-each-ref"), sorted(ann.root.rglob("*"))
    assert plan_rescue(ann.store)[0].target is not None
    assert (ann.git("for-each-ref"), sorted(ann.root.rglob("*"))) == before


def test_a_resolution_comes_along_and_what_was_forgotten_does_not(ann: Person) -> None:
    ann.commit("a.py", "alpha = 1\n")
    blocker = ann.capture("CI is red", namespace=Namespace.BLOCKERS)
    gone = ann.capture("Wrong", namespace=Namespace.BLOCKERS)
    place = f"blockers:{gone.commit[:10]}"
    ann.store.resolve(f"{place}/{blocker.id}", "A stale cache.")
    ann.store.forget(f"{place}/{gone.id}")
    ann.git("commit", "--quiet", "--amend", "-m", "Other words")
    ann.capture("Wrong", namespace=Namespace.BLOCKERS)  # on the new commit it is meant
    rescue(ann)
    here = ann.git("rev-parse", "HEAD")
    found = {one.record.summary: one for one in ann.store.iter_memories() if one.commit == here}
    assert found["CI is red"].resolution == "A stale cache."
    assert set(found) == {"CI is red", "Wrong"}


def test_a_rescued_memory_is_listed_and_found_once_where_history_reaches_it(ann: Person) -> None:
    ann.commit("a.txt", "a\n")
    ann.capture("Chose alpha")
    ann.git("commit", "--quiet", "--amend", "--message", "Other words")
    rescue(ann)
    for number in range(3):
        ann.capture(f"Chose alpha or {number}", body="It may be.\n")
    shown = without_copies(ann.root, ann.store.iter_memories())
    head = ann.git("rev-parse", "HEAD")
    assert sorted({one.commit for one in shown}) == [head]
    assert len(shown) == 4
    recalled = Catalog(ann.store).recall(Question("alpha", limit=4))
    assert [one.memory.commit for one in recalled.hits] == [head] * 4
    assert len(ann.memories()) == 5


def test_the_same_memory_of_two_reached_commits_is_two(ann: Person) -> None:
    ann.capture("Chose alpha")
    ann.commit("a.txt", "a\n")
    ann.capture("Chose alpha")
    assert len(without_copies(ann.root, ann.store.iter_memories())) == 2
    assert len(Catalog(ann.store).recall(Question("alpha")).hits) == 2


def test_a_text_forgotten_on_the_target_is_not_brought_there_again(ann: Person) -> None:
    old = ann.commit("a.txt", "a\n")
    ann.capture("Drop this", body="It said too much.\n")
    ann.git("commit", "--quiet", "--amend", "--message", "Other words")
    ann.capture("Drop this", body="It said too much.\n")
    new = ann.git("rev-parse", "HEAD")
    ann.store.forget(f"decisions:{new}")
    apply_rescue(ann.store, [choose_rescue(ann.store, old, new)])
    assert not stands_on(ann, "Drop this")
    assert "too much" not in ann.git("notes", "--ref=cs/decisions", "show", new)


def test_rescued_memories_sync_and_stay_as_many(tmp_path: Path) -> None:
    bare = make_bare(tmp_path / "hub.git")
    ann = clone(bare, tmp_path / "ann")
    ann.commit("a.py", "alpha = 1\n")
    ann.git("push", "--quiet", "origin", "HEAD:main")
    bob = clone(bare, tmp_path / "bob")
    ann.capture("Chose alpha")
    ann.sync(), bob.sync()
    ann.git("commit", "--quiet", "--amend", "-m", "Other words")
    ann.git("push", "--quiet", "--force", "origin", "HEAD:main")
    ann.git("update-ref", "-d", "refs/remotes/origin/side")
    rescue(ann)
    ann.sync(), bob.sync(), ann.sync()
    assert bob.memories() == ann.memories()
    assert ann.orphans() == {}


def test_a_person_chooses_among_what_there_is(ann: Person) -> None:
    commit = ann.commit("a.py", "alpha = 1\n")
    ann.capture("Chose alpha")
    with pytest.raises(UsageError, match="no orphan"):
        choose_rescue(ann.store, commit[:8], "HEAD~1")
    with pytest.raises(UsageError, match="is the commit on which they stand"):
        choose_rescue(ann.store, commit[:8], "HEAD")
    with pytest.raises(NotFound, match="no memory stands on"):
        choose_rescue(ann.store, "0000", "HEAD")
    with pytest.raises(NotFound, match="there is no commit 'nowhere'"):
        choose_rescue(ann.store, commit[:8], "nowhere")


def test_a_start_that_several_commits_have_names_none(ann: Person) -> None:
    for number in range(2):
        ann.commit("a.py", f"alpha = {number}\n")
        ann.capture(f"Chose {number}")
    with pytest.raises(Conflict, match="several begin so"):
        choose_rescue(ann.store, "", "HEAD")


def test_tags_remote_branches_and_other_work_trees_reach_but_reflogs_do_not(
    ann: Person, tmp_path: Path
) -> None:
    refs = {"tag": "refs/tags/x", "remote": "refs/remotes/origin/x", "ours": "refs/cspace/x"}
    commits = {}
    for name in (*refs, "worktree", "reflog"):
        ann.git("switch", "--quiet", "--detach", "main")
        commits[name] = ann.commit(f"{name}.txt", name)
        if name in refs:
            ann.git("update-ref", refs[name], "HEAD")
    ann.git("worktree", "add", "--quiet", "--detach", tmp_path / "other", commits["worktree"])
    ann.git("switch", "--quiet", "main")
    found = observe_standings(ann.root, commits.values())
    reached = {name for name, one in commits.items() if found[one] is Standing.REACHED}
    assert reached == {"tag", "remote", "worktree"}
    assert found[commits["reflog"]] is Standing.ORPHANED


def test_a_commit_behind_the_cut_of_a_shallow_clone_is_unknown_and_no_orphan(
    tmp_path: Path,
) -> None:
    bare = make_bare(tmp_path / "hub.git")
    ann = clone(bare, tmp_path / "ann")
    old = ann.commit("a.py", "alpha = 1\n")
    ann.capture("Of the old one")
    ann.git("push", "--quiet", "origin", "HEAD:main")
    between = clone(bare, tmp_path / "between", "--depth", "1")
    ann.commit("a.py", "alpha = 2\n")
    ann.git("push", "--quiet", "origin", "HEAD:main")
    ann.sync()
    shallow = clone(bare, tmp_path / "shallow", "--depth", "1")
    for person in (shallow, between):
        person.git("fetch", "--quiet", "--depth", "1", "origin", "main")
        person.git("reset", "--quiet", "--hard", "origin/main")
        person.sync()
        assert observe_standings(person.root, [old]) == {old: Standing.UNKNOWN}
        assert person.orphans() == {}


def test_an_empty_repository_has_no_orphans(tmp_path: Path) -> None:
    proc.run("git", "init", "--quiet", tmp_path / "empty")
    assert Person(tmp_path / "empty").orphans() == {}
    assert plan_rescue(Person(tmp_path / "empty").store) == ()


def test_orphans_of_many_commits_are_counted_at_once(
    ann: Person, counts: Callable[[int, int], int]
) -> None:
    many = counts(400, 10_000)
    stream = b"".join(
        b"commit refs/heads/more\ncommitter A <a@x> %d +0000\ndata 1\n.\n" % (1700000000 + number)
        for number in range(many)
    )
    ann.git("fast-import", "--quiet", stdin=stream)
    commits = ann.git("rev-list", "more").split()
    ann.git("branch", "--quiet", "-f", "more", commits[many // 4])
    started = time.monotonic()
    found = list(observe_standings(ann.root, commits).values())
    assert found.count(Standing.ORPHANED) == many // 4
    assert time.monotonic() - started < 5


def test_what_stands_on_a_file_is_no_orphan(ann: Person) -> None:
    blob = ann.git("hash-object", "-w", "README.md")
    assert place_memories(ann.root, ()) == ()
    assert observe_standings(ann.root, [blob]) == {blob: Standing.REACHED}
