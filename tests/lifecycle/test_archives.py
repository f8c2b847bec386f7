"""Archives are found, listed and removed without an engine."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from cspace.errors import Conflict, NotFound, UsageError
from cspace.files import Owner
from cspace.instance.archive import list_archives, remove_archives
from cspace.instance.record import Record, save_record
from cspace.lifecycle.archives import (
    Rule,
    check_age,
    find_archive,
    list_rows,
    plan_prune,
    prune,
)
from cspace.paths import instance_paths
from cspace.project import Project
from tests.conftest import Clock
from tests.instance.snapshot_trees import commit, git
from tests.lifecycle.conftest import Keep

EVERY = Rule(every=True)


def test_a_row_says_what_a_person_looks_for(
    project: Project, workspace: Path, keep: Keep, clock: Clock
) -> None:
    commit(workspace, "work.txt", "work\n")
    git(workspace, "stash", "push", "--quiet", "--all", ok=(0, 1))
    (workspace / "new").write_bytes(b"12345")
    archive = keep()
    (row,) = list_rows(project.root, None)
    sizes = sum(path.stat().st_size for path in workspace.rglob("*") if ".git" not in path.parts
                and path.is_file())  # fmt: skip
    assert (row.name, row.stamp, row.time) == ("mercury", archive.stamp, clock.now)
    assert (row.branch, row.commits, row.files, row.bytes) == ("cspace/mercury", 1, 4, sizes)
    # What the host has merged is no longer only in archives.
    git(project.root, "merge", "--quiet", f"{archive.ref}/0/refs/heads/cspace/mercury")
    assert list_rows(project.root, "mercury")[0].commits == 0


def test_a_detached_head_is_no_branch_and_its_commits_count(
    project: Project, workspace: Path, keep: Keep
) -> None:
    git(workspace, "switch", "--quiet", "--detach")
    commit(workspace, "work.txt")
    keep()
    (row,) = list_rows(project.root, None)
    assert (row.branch, row.commits) == (None, 1)


def test_a_damaged_archive_is_listed_beside_the_others(project: Project, keep: Keep) -> None:
    damaged, whole = keep(), keep()
    root = project.root
    empty = git(root, "commit-tree", "-m", "x", git(root, "hash-object", "-t", "tree", "/dev/null"))
    git(root, "update-ref", f"{damaged.ref}/snapshot", empty)
    first, second = list_rows(root, None)
    assert first.problem is not None
    assert (first.stamp, first.files) == (damaged.stamp, None)
    assert (second.stamp, second.problem) == (whole.stamp, None)


def test_refs_of_another_form_are_no_archives(project: Project, keep: Keep) -> None:
    keep()
    for odd in ("mercury/yesterday", "Mercury/20260414T103000Z"):
        git(project.root, "update-ref", f"refs/cspace/archive/{odd}/snapshot", "HEAD")
    assert len(list_rows(project.root, None)) == 1


def test_an_archive_is_found_by_name_and_time(project: Project, keep: Keep) -> None:
    first, second = keep(), keep()
    assert find_archive(project.root, "mercury") == second
    assert find_archive(project.root, first.reference) == first
    with pytest.raises(NotFound) as caught:
        find_archive(project.root, "mercury/20200101T000000Z")
    assert caught.value.hint is not None
    assert first.stamp in caught.value.hint
    assert second.stamp in caught.value.hint
    with pytest.raises(NotFound) as caught:
        find_archive(project.root, "venus")
    assert caught.value.hint == "cspace archive list"
    with pytest.raises(UsageError):
        find_archive(project.root, "*")


def test_a_rule_chooses_for_each_name(
    project: Project, keep: Keep, home: Path, clock: Clock
) -> None:
    first, second, third, other = keep(), keep(), keep(), keep("venus")

    def chosen(rule: Rule, *references: str) -> tuple[object, ...]:
        return plan_prune(project, home, references, rule).archives

    assert chosen(Rule(keep=1)) == (first, second)
    assert chosen(Rule(keep=0), "mercury") == (first, second, third)
    assert chosen(Rule(before=third.time)) == (first, second)
    assert chosen(Rule(keep=2, before=third.time)) == (first,)
    assert chosen(EVERY) == (first, second, third, other)
    assert chosen(EVERY, "venus") == (other,)
    assert chosen(Rule(), second.reference) == (second,)
    assert chosen(Rule(keep=5)) == ()


@pytest.mark.parametrize("references", [(), ("mercury",)])
def test_without_a_rule_nothing_is_chosen(
    project: Project, keep: Keep, home: Path, references: tuple[str, ...]
) -> None:
    keep()
    with pytest.raises(UsageError, match="say which archives"):
        plan_prune(project, home, references, Rule())


def test_prune_removes_all_refs_of_what_was_chosen_and_git_frees_about_what_was_said(
    project: Project, workspace: Path, keep: Keep, home: Path
) -> None:
    root = project.root
    before = git(root, "for-each-ref")
    (workspace / "large").write_bytes(bytes(range(256)) * 4000)
    (workspace / "noise").write_bytes(os.urandom(1 << 20))
    keep()
    planned = plan_prune(project, home, (), EVERY)
    git(root, "gc", "--quiet", "--prune=now")
    held = stored(root)
    prune(project, planned)
    assert git(root, "for-each-ref") == before
    git(root, "gc", "--quiet", "--prune=now")
    assert planned.bytes is not None
    assert planned.bytes > 1 << 20
    assert abs((held - stored(root)) - planned.bytes) < 100_000


def stored(root: Path) -> int:
    return sum(path.stat().st_size for path in (root / ".git/objects").rglob("*.pack"))


def test_prune_is_all_or_none_when_somebody_changes_an_archive_meanwhile(
    project: Project, keep: Keep, home: Path
) -> None:
    first, second = keep(), keep()
    lock = project.root / ".git" / f"{second.ref}/snapshot.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    with pytest.raises(Conflict):
        remove_archives(project.root, (first, second))
    assert list_archives(project.root) == (first, second)
    lock.unlink()
    prune(project, plan_prune(project, home, (), EVERY))
    assert list_archives(project.root) == ()


def test_an_archive_that_a_restore_still_needs_stays(
    project: Project, keep: Keep, home: Path, clock: Clock
) -> None:
    needed, other = keep(), keep()
    path = instance_paths(home, project.id, "venus").record
    path.parent.mkdir(parents=True)
    record = Record(
        name="venus", project=project.id, root=project.root, branch="b", base="c", known=(),
        engine="e", created=clock.now, restoring=needed.reference,
    )  # fmt: skip
    save_record(path, record, Owner(0, 0))
    planned = plan_prune(project, home, (), EVERY)
    assert (planned.archives, planned.needed) == ((other,), (needed,))


def test_a_damaged_archive_can_be_removed(project: Project, keep: Keep, home: Path) -> None:
    archive = keep()
    objects = project.root / ".git/objects"
    for pack in objects.glob("pack/*.pack"):
        pack.unlink()
    loose = git(project.root, "rev-parse", f"{archive.ref}/snapshot")
    (objects / loose[:2] / loose[2:]).unlink(missing_ok=True)
    planned = plan_prune(project, home, (archive.reference,), Rule())
    assert planned.bytes is None
    prune(project, planned)
    assert git(project.root, "for-each-ref", "refs/cspace") == ""


def test_an_age_is_hours_days_or_weeks() -> None:
    assert check_age("12h") == timedelta(hours=12)
    assert check_age("30d") == timedelta(days=30)
    assert check_age("8w") == timedelta(weeks=8)
    for text in ("30", "d", "-1d", "1y", "99999d", "1.5d"):
        with pytest.raises(UsageError, match="is no age"):
            check_age(text)
