from __future__ import annotations

from pathlib import Path

import pytest

from cspace.errors import Conflict, NotFound
from cspace.git_import import find_place
from cspace.notes.configure import Configured, configure
from cspace.notes.remote import find_remote
from tests.notes.clones import DECISIONS, Person, clone, make_bare


@pytest.fixture
def ann(tmp_path: Path) -> Person:
    person = clone(make_bare(tmp_path / "hub.git"), tmp_path / "ann")
    person.commit("README.md", "# Sample\n", "Start")
    person.git("push", "--quiet", "-u", "origin", "HEAD:main")
    return person


def configured(person: Person, *, undo: bool = False, dry_run: bool = False) -> Configured:
    return configure(person.root, find_place(person.root), undo=undo, dry_run=dry_run)


def test_the_configuration_is_byte_for_byte_what_it_was_when_it_is_undone(ann: Person) -> None:
    config = ann.root / ".git/config"
    before = config.read_bytes()
    assert [(one.key, one.after) for one in configured(ann).changes] == [
        ("remote.origin.fetch", "+refs/notes/cs/*:refs/cspace/notes/origin/*"),
        ("notes.rewriteRef", "refs/notes/cs/*"),
    ]
    assert configured(ann).changes == ()
    assert config.read_bytes() != before
    assert len(configured(ann, undo=True).changes) == 2
    assert config.read_bytes() == before


def test_a_dry_run_and_an_undo_of_nothing_change_nothing(ann: Person) -> None:
    before = (ann.root / ".git/config").read_bytes()
    assert len(configured(ann, dry_run=True).changes) == 2
    assert configured(ann, undo=True).changes == ()
    assert (ann.root / ".git/config").read_bytes() == before


def test_values_of_a_persons_own_stay(ann: Person) -> None:
    ann.git("config", "--add", "notes.rewriteRef", "refs/notes/mine")
    ann.git("config", "--add", "remote.origin.fetch", "+refs/pull/*:refs/pull/*")
    before = ann.git("config", "--list", "--local")
    configured(ann)
    configured(ann, undo=True)
    assert ann.git("config", "--list", "--local") == before


def test_hazard_a_plain_push_sends_the_branch_and_nothing_else(ann: Person) -> None:
    configured(ann)
    ann.capture("Chose RS256")
    ann.commit("a.txt", "a\n")
    pushed = ann.git("push", "--porcelain", "origin", "HEAD:main")
    assert [line for line in pushed.splitlines() if "refs/" in line] == [
        line for line in pushed.splitlines() if "refs/heads/main" in line
    ]
    assert ann.git("config", "--get-regexp", r"remote\..*\.(fetch|url)").count("\n") == 2
    assert ".push=" not in ann.git("config", "--list", "--local")


def test_a_fetch_brings_notes_beside_ours_and_not_over_them(ann: Person, tmp_path: Path) -> None:
    bob = clone(tmp_path / "hub.git", tmp_path / "bob")
    bob.capture("Of Bob")
    bob.sync()
    configured(ann)
    ann.capture("Of Ann")
    ann.git("fetch", "--quiet")
    assert ann.summaries() == ["Of Ann"]
    assert set(find_remote(ann.root, None).list_known()) == {DECISIONS}
    ann.sync()
    assert ann.summaries() == ["Of Ann", "Of Bob"]


def test_an_amend_and_a_rebase_carry_notes_along(ann: Person) -> None:
    configured(ann)
    ann.commit("a.txt", "a\n")
    ann.capture("Of a")
    ann.git("commit", "--quiet", "--amend", "-m", "Other words")
    assert ann.orphans() == {}
    ann.git("switch", "--quiet", "-c", "side")
    ann.git("switch", "--quiet", "-")
    ann.git("reset", "--quiet", "--hard", "HEAD~1")
    ann.commit("b.txt", "b\n")
    ann.git("rebase", "--quiet", "HEAD", "side")
    assert ann.orphans() == {}
    assert (DECISIONS, "Of a", ann.git("rev-parse", "side")) in ann.memories()


@pytest.mark.parametrize("body", ["Why.", "Why.\n", "Why.\n\n\n", "---\n\n", ""])
def test_hazard_notes_that_git_joins_at_a_squash_are_read_whole(body: str, ann: Person) -> None:
    configured(ann)
    for number in range(3):
        ann.commit(f"{number}.txt", f"{number}\n")
        ann.capture(f"Of {number}", body=f"{number}: {body}")
        ann.capture(f"More of {number}", body=f"{number}, again: {body}")
    known = {one.id: one.record.body for one in ann.store.iter_memories()}
    editor = "sequence.editor=sed -i '2,$s/pick/squash/'"
    ann.git("-c", editor, "-c", "core.editor=true", "rebase", "--quiet", "-i", "HEAD~3")
    assert ann.orphans() == {}
    here = ann.git("rev-parse", "HEAD")
    found = {one.id: one.record.body for one in ann.store.iter_memories() if one.commit == here}
    assert found == known


@pytest.mark.parametrize("mode", ["cat_sort_uniq", "overwrite", "ignore"])
def test_hazard_a_mode_that_would_lose_notes_is_refused(mode: str, ann: Person) -> None:
    ann.git("config", "notes.rewriteMode", mode)
    before = (ann.root / ".git/config").read_bytes()
    with pytest.raises(Conflict, match=f"notes.rewriteMode is '{mode}'"):
        configured(ann)
    assert (ann.root / ".git/config").read_bytes() == before


def test_what_a_person_switched_off_is_said(ann: Person) -> None:
    ann.git("config", "notes.rewrite.amend", "false")
    assert configured(ann).notices == (
        "notes.rewrite.amend is false: git commit --amend leaves notes where they are",
    )


def test_without_a_remote_only_rewriting_is_set_and_one_that_is_named_must_be_there(
    repo: Path,
) -> None:
    found = configured(Person(repo))
    assert [one.key for one in found.changes] == ["notes.rewriteRef"]
    Person(repo).git("remote", "add", "origin", "x")
    with pytest.raises(NotFound, match="upstream"):
        configure(repo, find_place(repo), "upstream")
