"""An agent's commits reach the host's branches only forward, looked at, and as the same objects."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.errors import CommandFailed, Conflict, CspaceError
from cspace.instance.exchange import Place
from cspace.instance.work import fetch_work
from cspace.instance.work_view import Status, iter_patch
from cspace.lifecycle.bring_back import (
    Brought,
    commits_of,
    compare_with_base,
    count_uncommitted,
    place_work,
)
from cspace.lifecycle.compare import Comparison, compare_work
from cspace.lifecycle.take_back import (
    apply_merge,
    apply_pull,
    look_at_merge,
    look_at_pull,
)
from cspace.project import Project
from tests.instance.snapshot_trees import clone, commit, git, isolated, place, plant_tree_bomb

BRANCH = "refs/heads/cspace/mercury"
Bring = Callable[[], Brought]
# What a person may have set, each of which would change or run something in a plain git.
CONFIGURATION = {
    "diff.external": "sh -c 'touch sung; false'",
    "diff.conv.textconv": "sh -c 'touch sung; cat $1'",
    "diff.conv.command": "sh -c 'touch sung'",
    "core.pager": "sh -c 'touch sung'",
    "pager.diff": "true",
    "color.ui": "always",
    "diff.mnemonicPrefix": "true",
    "diff.noprefix": "true",
    "diff.renames": "false",
    "diff.orderFile": "no-such-file",
    "log.showSignature": "true",
    "gpg.program": "sh -c 'touch sung'",
    "format.pretty": "oneline",
    "notes.displayRef": "refs/notes/*",
    "core.fsmonitor": "sh -c 'touch sung; false'",
    "merge.evil.driver": "sh -c 'touch sung'",
    "filter.evil.smudge": "sh -c 'touch sung; cat'",
}


def bring_from(project: Project, where: Place) -> Brought:
    base = git(project.root, "rev-list", "--max-parents=0", "HEAD")
    return place_work(project, where.name, fetch_work(project.root, where, isolated), base)


@pytest.fixture
def bring(project: Project, workspace: Path, tmp_path: Path) -> Bring:
    """Return a function that brings the work of the workspace."""
    return lambda: bring_from(project, place(tmp_path, workspace))


@pytest.fixture
def pair(project: Project, workspace: Path, tmp_path: Path) -> Callable[[], Comparison]:
    """Return a function that compares the workspace with another one beside it, `second`."""
    second = clone(project.root, tmp_path / "second")
    first_place = place(tmp_path, workspace)
    second_place = Place("venus", second, first_place.exchange, first_place.owner)

    def compared() -> Comparison:
        return compare_work(
            project, bring_from(project, first_place), bring_from(project, second_place)
        )

    return compared


def at(project: Project, ref: str) -> str:
    return git(project.root, "rev-parse", "--verify", "--quiet", ref, ok=(0, 1))


def test_a_pull_creates_the_branch_and_later_moves_it_forward(
    project: Project, workspace: Path, bring: Bring
) -> None:
    one = commit(workspace, "one.txt")
    pulled = apply_pull(project, look_at_pull(project, bring()))
    assert (pulled.branch, pulled.old, pulled.new, pulled.commits) == (
        "cspace/mercury", None, one, 1,
    )  # fmt: skip
    two = commit(workspace, "two.txt")
    (workspace / "three.txt").write_text("x", encoding="utf-8")
    pulled = apply_pull(project, look_at_pull(project, bring()))
    assert (pulled.old, pulled.new, pulled.commits, pulled.uncommitted) == (one, two, 1, 1)
    assert at(project, BRANCH) == two
    again = look_at_pull(project, bring())
    assert (again.old, again.new, again.commits) == (two, two, 0)


def test_a_pull_touches_no_file_and_no_index(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "one.txt")
    (project.root / "mine.txt").write_text("mine\n", encoding="utf-8")
    git(project.root, "add", "mine.txt")
    before = git(project.root, "status", "--porcelain=v2", "--branch")
    apply_pull(project, look_at_pull(project, bring()))
    assert git(project.root, "status", "--porcelain=v2", "--branch") == before


def test_a_branch_with_commits_of_its_own_is_left_alone(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "theirs.txt")
    git(project.root, "switch", "--quiet", "-c", "cspace/mercury")
    mine = commit(project.root, "mine.txt")
    git(project.root, "switch", "--quiet", "-")
    with pytest.raises(Conflict, match="has commits that mercury has not") as refused:
        look_at_pull(project, bring())
    assert "git branch from-mercury refs/cspace/instances/mercury/head" in str(refused.value.hint)
    assert at(project, BRANCH) == mine


def test_a_branch_ahead_of_the_instance_is_up_to_date(
    project: Project, workspace: Path, bring: Bring
) -> None:
    apply_pull(project, look_at_pull(project, bring()))
    git(project.root, "switch", "--quiet", "cspace/mercury")
    mine = commit(project.root, "mine.txt")
    assert look_at_pull(project, bring()).new == mine


@pytest.mark.parametrize("linked", [False, True])
def test_a_branch_that_is_checked_out_is_not_moved(
    project: Project, workspace: Path, bring: Bring, tmp_path: Path, *, linked: bool
) -> None:
    if linked:
        git(project.root, "worktree", "add", "--quiet", "-b", "cspace/mercury", tmp_path / "linked")
    else:
        git(project.root, "switch", "--quiet", "-c", "cspace/mercury")
    before = at(project, BRANCH)
    commit(workspace, "one.txt")
    with pytest.raises(Conflict, match="is checked out in"):
        look_at_pull(project, bring())
    assert at(project, BRANCH) == before


def test_a_branch_that_is_rebased_is_not_moved(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(project.root, "a", "one\n")
    git(project.root, "switch", "--quiet", "-c", "cspace/mercury", "HEAD~1")
    mine = commit(project.root, "a", "two\n")
    git(workspace, "pull", "--quiet", str(project.root), "cspace/mercury")
    commit(workspace, "b")
    git(project.root, "rebase", "@{-1}", ok=(1,))
    with pytest.raises(Conflict, match="is checked out in"):
        look_at_pull(project, bring())
    assert at(project, BRANCH) == mine


def test_somebody_who_moves_the_branch_after_the_look_wins(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "one.txt")
    looked = look_at_pull(project, bring())
    git(project.root, "branch", "cspace/mercury")
    before = at(project, BRANCH)
    with pytest.raises(Conflict, match="can not be moved"):
        apply_pull(project, looked)
    assert at(project, BRANCH) == before


def test_what_was_looked_at_is_what_is_taken_whatever_the_agent_does_meanwhile(
    project: Project, workspace: Path, bring: Bring
) -> None:
    shown = commit(workspace, "harmless.txt")
    looked = look_at_pull(project, bring())
    commit(workspace, ".mcp.json", "{}")
    assert bring().head != shown
    assert apply_pull(project, looked).new == at(project, BRANCH) == shown


@pytest.mark.parametrize("way", ["added", "changed", "deleted", "renamed", "link"])
def test_sensitive_changes_are_found_however_they_came(
    project: Project, workspace: Path, bring: Bring, way: str
) -> None:
    commit(project.root, ".claude/settings.json", "{}\n" * 30)
    git(workspace, "pull", "--quiet", "--ff-only", project.root, "HEAD")
    if way == "added":
        commit(workspace, "sub/.gitattributes")
    elif way == "changed":
        commit(workspace, ".claude/settings.json", "{}")
    elif way == "link":
        (workspace / ".cspace").symlink_to("src")
        git(workspace, "add", ".cspace")
        git(workspace, "commit", "--quiet", "-m", "Link")
    else:
        words = ("rm",) if way == "deleted" else ("mv", "-k")
        target = () if way == "deleted" else ("harmless.json",)
        git(workspace, *words, "--quiet" if way == "deleted" else "-v", ".claude/settings.json",
            *target)  # fmt: skip
        git(workspace, "commit", "--quiet", "-m", way)
    sensitive = look_at_pull(project, bring()).sensitive
    expected = {"added": b"sub/.gitattributes", "link": b".cspace"}
    assert sensitive == (expected.get(way, b".claude/settings.json"),)


def test_what_was_accepted_for_a_pull_is_asked_again_before_it_is_checked_out(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, ".mcp.json", "{}")
    apply_pull(project, look_at_pull(project, bring()))
    assert look_at_pull(project, bring()).sensitive == ()
    assert look_at_merge(project, bring()).pulling.sensitive == (b".mcp.json",)


def test_an_instance_without_a_commit_has_nothing_to_pull(
    project: Project, workspace: Path, bring: Bring
) -> None:
    git(workspace, "switch", "--quiet", "--orphan", "fresh")
    with pytest.raises(Conflict, match="no commit on fresh"):
        look_at_pull(project, bring())


def test_notes_are_merged_by_a_pull_and_shown_by_a_log(
    project: Project, workspace: Path, bring: Bring
) -> None:
    made = commit(workspace, "one.txt")
    git(workspace, "notes", "--ref=cs/decisions", "add", "-m", "because")
    found = bring()
    (shown,) = commits_of(project.root, found)
    assert (shown.id, shown.subject, shown.notes) == (
        made, "Add one.txt", {"cs/decisions": "because"},
    )  # fmt: skip
    assert apply_pull(project, look_at_pull(project, found)).notices == ()
    assert git(project.root, "notes", "--ref=cs/decisions", "show", made) == "because"


def test_hostile_notes_are_named_and_the_commits_come_all_the_same(
    project: Project, workspace: Path, bring: Bring
) -> None:
    made = commit(workspace, "one.txt")
    plant_tree_bomb(workspace, ".git/refs/notes-head")
    bomb = (workspace / ".git/refs/notes-head").read_text(encoding="utf-8").strip()
    git(workspace, "update-ref", "refs/notes/cs/bomb", bomb)
    found = bring()
    assert commits_of(project.root, found)[0].notes == {}
    pulled = apply_pull(project, look_at_pull(project, found))
    assert "refs/notes/cs/bomb was not merged" in pulled.notices[0]
    assert at(project, BRANCH) == made


def test_a_difference_says_what_happened_to_each_file(
    project: Project, workspace: Path, bring: Bring
) -> None:
    git(workspace, "mv", "src/main.py", "src/moved.py")
    (workspace / "binary").write_bytes(b"\0\1\2")
    (workspace / ".gitignore").write_text("*.log\n", encoding="utf-8")
    changes = compare_with_base(project, bring()).changes
    assert [(each.path, each.status, each.added, each.removed) for each in changes] == [
        (b".gitignore", Status.MODIFIED, 0, 1),
        (b"binary", Status.ADDED, None, None),
        (b"src/moved.py", Status.RENAMED, 0, 0),
    ]
    assert changes[2].before == b"src/main.py"


def test_a_difference_leaves_out_what_the_person_did_meanwhile(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(project.root, "mine.txt")
    commit(workspace, "theirs.txt")
    git(workspace, "pull", "--quiet", "--no-rebase", "--no-edit", str(project.root), "HEAD")
    commit(project.root, "later.txt")
    changes = compare_with_base(project, bring()).changes
    assert [each.path for each in changes] == [b"theirs.txt"]


def test_what_is_merged_already_is_no_difference_any_more(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "theirs.txt")
    apply_merge(project, look_at_merge(project, bring()))
    (workspace / "later.txt").write_text("x", encoding="utf-8")
    changes = compare_with_base(project, bring()).changes
    assert [each.path for each in changes] == [b"later.txt"]


def test_a_patch_is_what_git_apply_takes_whatever_the_person_has_set(
    project: Project, workspace: Path, bring: Bring, tmp_path: Path
) -> None:
    naive = clone(project.root, tmp_path / "naive")
    (workspace / ".gitattributes").write_text(
        "* diff=conv merge=evil filter=evil\n", encoding="utf-8"
    )
    (workspace / "binary").write_bytes(bytes(range(256)))
    (workspace / "src/main.py").write_text("changed\n", encoding="utf-8")
    (workspace / "ünträcked \t").write_text("x", encoding="utf-8")
    for key, value in CONFIGURATION.items():
        git(project.root, "config", key, value)
    (project.root / ".gitattributes").write_text("* diff=conv\n", encoding="utf-8")
    found = compare_with_base(project, bring())
    patch = b"".join(iter_patch(project.root, found.base, found.new, binary=True))
    assert patch.startswith(b"diff --git a/.gitattributes b/.gitattributes\n")
    assert list(project.root.rglob("sung")) == []
    proc.run("git", "-C", naive, "apply", "--index", stdin=patch)
    assert git(naive, "write-tree") == git(project.root, "rev-parse", f"{found.new}^{{tree}}")


def test_a_patch_can_be_of_some_paths(project: Project, workspace: Path, bring: Bring) -> None:
    commit(workspace, "src/other.py")
    commit(workspace, "top.py")
    found = compare_with_base(project, bring(), ("src",))
    assert [each.path for each in found.changes] == [b"src/other.py"]
    patch = b"".join(iter_patch(project.root, found.base, found.new, ("src",), binary=True))
    assert b"top.py" not in patch


def test_a_commit_of_ten_billion_paths_is_not_walked(
    project: Project, workspace: Path, bring: Bring
) -> None:
    plant_tree_bomb(workspace, ".git/refs/heads/cspace/mercury")
    found = bring()
    with pytest.raises(CspaceError, match="paths"):
        compare_with_base(project, found)
    with pytest.raises(CspaceError, match="names more than"):
        look_at_pull(project, found)
    assert at(project, BRANCH) == ""


def test_uncommitted_files_are_counted(project: Project, workspace: Path, bring: Bring) -> None:
    assert count_uncommitted(project.root, bring()) == 0
    (workspace / "a").write_text("x", encoding="utf-8")
    assert count_uncommitted(project.root, bring()) == 1


def test_a_merge_is_the_persons_own(project: Project, workspace: Path, bring: Bring) -> None:
    commit(workspace, "theirs.txt")
    commit(project.root, "mine.txt")
    hook = project.root / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "Checked-by: me" >>"$1"\n', encoding="utf-8")
    hook.chmod(0o755)
    git(project.root, "config", "user.name", "The Person")
    merged = apply_merge(project, look_at_merge(project, bring()))
    said = git(project.root, "log", "-1", "--format=%an%n%B")
    assert said.splitlines()[:2] == ["The Person", "Merge branch 'cspace/mercury'"]
    assert "Checked-by: me" in said
    assert (merged.commit, merged.changed) == (at(project, "HEAD"), True)
    assert (project.root / "theirs.txt").is_file()


def test_a_merge_that_a_hook_refuses_waits_as_it_does_with_git(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "theirs.txt")
    before = commit(project.root, "mine.txt")
    hook = project.root / ".git/hooks/pre-merge-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not on Sundays' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with pytest.raises(CommandFailed, match="not on Sundays") as refused:
        apply_merge(project, look_at_merge(project, bring()))
    assert "git merge --abort" in str(refused.value.hint)
    assert at(project, "HEAD") == before


def test_conflicts_are_known_before_anything_begins(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "src/main.py", "theirs\n")
    before = commit(project.root, "src/main.py", "mine\n")
    looked = look_at_merge(project, bring())
    assert [(each.kind, each.paths) for each in looked.clashes] == [
        ("contents", (b"src/main.py",)),
    ]
    assert at(project, "HEAD") == before
    with pytest.raises(Conflict, match="has begun, and has conflicts"):
        apply_merge(project, looked)
    assert at(project, "MERGE_HEAD") == looked.pulling.new


def test_local_changes_that_a_merge_would_overwrite_stop_it(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "src/main.py", "theirs\n")
    (project.root / "src/main.py").write_text("mine\n", encoding="utf-8")
    with pytest.raises(CommandFailed, match="would be overwritten"):
        apply_merge(project, look_at_merge(project, bring()))
    assert (project.root / "src/main.py").read_text(encoding="utf-8") == "mine\n"


def test_records_that_agents_wrote_meanwhile_do_not_stop_a_merge(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(project.root, ".cspace/context/findings/a.md", "one\n")
    commit(workspace, "theirs.txt")
    (project.root / ".cspace/context/findings/a.md").write_text("two\n", encoding="utf-8")
    assert apply_merge(project, look_at_merge(project, bring())).changed


@pytest.mark.parametrize("state", ["detached", "staged", "merging"])
def test_a_merge_needs_a_branch_and_nothing_begun(
    project: Project, workspace: Path, bring: Bring, state: str
) -> None:
    commit(workspace, "theirs.txt")
    if state == "detached":
        git(project.root, "switch", "--quiet", "--detach")
    else:
        git(project.root, "switch", "--quiet", "-c", "other")
        commit(project.root, "a", "one\n")
        git(project.root, "switch", "--quiet", "-")
        commit(project.root, "a", "two\n")
        if state == "merging":
            git(project.root, "merge", "other", ok=(1,))
        (project.root / "new").write_text("x", encoding="utf-8")
        git(project.root, "add", "new")
    with pytest.raises(Conflict, match=r"detached|staged|in progress"):
        look_at_merge(project, bring())


def test_two_instances_are_compared_by_files_and_conflicts(
    workspace: Path, tmp_path: Path, pair: Callable[[], Comparison]
) -> None:
    second = tmp_path / "second"
    commit(workspace, "src/main.py", "first\n")
    commit(second, "src/main.py", "second\n")
    git(second, "rm", "--quiet", ".gitignore")
    (workspace / ".gitignore").write_text("*.first\n", encoding="utf-8")
    (workspace / "only").write_text("x", encoding="utf-8")
    found = pair()
    assert found.both == (b".gitignore", b"src/main.py")
    assert (found.first_only, found.second_only) == (1, 0)
    assert [(each.ours, each.theirs) for each in found.merges] == [
        ("mercury", "venus"), ("HEAD", "mercury"), ("HEAD", "venus"),
    ]  # fmt: skip
    kinds = {(clash.kind, clash.paths) for clash in found.merges[0].clashes}
    assert kinds == {("modify/delete", (b".gitignore",)), ("contents", (b"src/main.py",))}
    assert found.merges[1].clashes == found.merges[2].clashes == ()


def test_both_renaming_a_file_is_a_conflict_of_its_own(
    workspace: Path, tmp_path: Path, pair: Callable[[], Comparison]
) -> None:
    for where, name in ((workspace, "one.py"), (tmp_path / "second", "two.py")):
        git(where, "mv", "src/main.py", name)
        git(where, "commit", "--quiet", "-m", "Rename")
    (clash, *_) = pair().merges[0].clashes
    assert clash.kind == "rename/rename"
    assert {b"src/main.py", b"one.py", b"two.py"} <= set(clash.paths)


def test_histories_without_a_common_commit_are_no_comparison(
    workspace: Path, pair: Callable[[], Comparison]
) -> None:
    git(workspace, "switch", "--quiet", "--orphan", "fresh")
    commit(workspace, "first.txt")
    with pytest.raises(Conflict, match="no history in common"):
        pair()


def test_a_git_that_can_not_try_a_merge_says_which_one_could(
    project: Project, workspace: Path, bring: Bring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(workspace, "theirs.txt")
    found = bring()
    real = proc.run("sh", "-c", "command -v git").text
    old = tmp_path / "bin/git"
    old.parent.mkdir()
    answer = 'case " $* " in *" version "*) echo git version 2.34.1;; *) exec {} "$@";; esac'
    old.write_text(f"#!/bin/sh\n{answer.format(real)}\n", encoding="utf-8")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    with pytest.raises(CspaceError, match=r"2\.38 or newer is needed"):
        look_at_merge(project, found)


def test_a_pull_says_that_notes_were_left_out(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "one.txt")
    git(workspace, "notes", "--ref=cs", "add", "-m", "why")
    tree = git(workspace, "rev-parse", "refs/notes/cs^{tree}")
    (workspace / ".git/objects" / tree[:2] / tree[2:]).unlink()
    pulled = apply_pull(project, look_at_pull(project, bring()))
    assert len(pulled.notices) == 1
    assert pulled.notices[0].startswith("commit notes were left out: ")
    assert tree in pulled.notices[0]


def test_a_branch_that_was_rebased_has_a_way_on(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "one.txt")
    apply_pull(project, look_at_pull(project, bring()))
    git(workspace, "commit", "--quiet", "--amend", "-m", "Another")
    new = git(workspace, "rev-parse", "HEAD")
    with pytest.raises(Conflict) as raised:
        look_at_pull(project, bring())
    words = (raised.value.hint or "").partition("only rebased: ")[2].split(" ")
    git(project.root, *words[1:])
    assert look_at_pull(project, bring()).old == new


def test_a_branch_that_is_checked_out_after_the_look_is_not_moved(
    project: Project, workspace: Path, bring: Bring
) -> None:
    one = commit(workspace, "one.txt")
    apply_pull(project, look_at_pull(project, bring()))
    commit(workspace, "two.txt")
    planned = look_at_pull(project, bring())
    git(project.root, "switch", "--quiet", "cspace/mercury")
    with pytest.raises(Conflict, match="is checked out"):
        apply_pull(project, planned)
    assert at(project, BRANCH) == one
    assert git(project.root, "status", "--porcelain") == ""


def test_another_branch_at_the_same_commit_is_not_merged_into(
    project: Project, workspace: Path, bring: Bring
) -> None:
    commit(workspace, "one.txt")
    planned = look_at_merge(project, bring())
    git(project.root, "switch", "--quiet", "-c", "another")
    with pytest.raises(Conflict, match="another is checked out now"):
        apply_merge(project, planned)
    assert at(project, BRANCH) == ""


@pytest.mark.parametrize("taken", ["cspace", "cspace/mercury/x"])
def test_a_branch_in_the_way_is_named_with_what_moves_it(
    project: Project, workspace: Path, bring: Bring, taken: str
) -> None:
    commit(workspace, "one.txt")
    git(project.root, "branch", taken)
    with pytest.raises(Conflict, match=f"beside the branch {taken}") as raised:
        look_at_pull(project, bring())
    assert f"git branch --move {taken} " in (raised.value.hint or "")


@pytest.mark.parametrize("option", ["--no-commit --no-ff", "--squash"])
def test_a_merge_that_the_person_wants_to_commit_themselves_is_not_called_done(
    project: Project, workspace: Path, bring: Bring, option: str
) -> None:
    commit(workspace, "one.txt")
    onto = git(project.root, "branch", "--show-current")
    git(project.root, "config", f"branch.{onto}.mergeOptions", option)
    with pytest.raises(Conflict, match="made no commit"):
        apply_merge(project, look_at_merge(project, bring()))
    assert git(project.root, "diff", "--cached", "--name-only") == "one.txt"


def test_files_that_can_not_be_had_are_no_comparison(
    workspace: Path, pair: Callable[[], Comparison]
) -> None:
    os.mkfifo(workspace / "src/.gitignore")
    with pytest.raises(CspaceError, match=r"mercury can not be read .*FIFO") as raised:
        pair()
    assert raised.value.hint == "what is committed: cspace compare mercury venus --committed"
