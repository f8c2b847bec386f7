"""git merges two branches' updates to one finding, with the driver that `configure` installs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.context.git_settings import LINE, configure
from cspace.context.records import Category, Finding, Kind, Origin
from cspace.context.store import ContextStore
from cspace.errors import Conflict, CspaceError
from cspace.git import Worktree, find_worktree
from tests.conftest import Clock

Git = Callable[..., proc.Result]


@pytest.fixture
def git(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Return git in the repository; the installed cspace is first on PATH."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    def run(*words: str, at: Path = repo, ok: tuple[int, ...] = (0,)) -> proc.Result:
        return proc.run("git", *words, cwd=at, ok=ok)

    return run


@pytest.fixture
def store(repo: Path, clock: Clock) -> ContextStore:
    return ContextStore(repo, Origin("ann"), clock=clock)


@pytest.fixture
def slug(git: Git, store: ContextStore, clock: Clock) -> str:
    """Return a finding to which main and topic append different updates."""
    slug = store.log_finding(Finding("It fails", Category.BUG, "It does.", tags=("a",))).slug
    commit(git, "File")
    git("checkout", "-q", "-b", "topic")
    clock.advance(hours=1)
    store.append_to_finding(slug, "from topic", status="resolved")
    commit(git, "Append on topic")
    git("checkout", "-q", "main")
    clock.advance(hours=1)
    store.append_to_finding(slug, "from main")
    commit(git, "Append on main")
    return slug


def commit(git: Git, message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


def worktree_of(path: Path) -> Worktree:
    found = find_worktree(path)
    assert found is not None
    return found


def notes(root: Path, slug: str) -> list[str]:
    entry = ContextStore(root).read_entry(Kind.FINDING, slug)
    return [f"{update.note}: {update.status}" for update in entry.updates]


BOTH = ["filed: open", "from topic: resolved", "from main: open"]


def test_without_the_driver_git_calls_two_updates_a_conflict(git: Git, slug: str) -> None:
    assert b"CONFLICT" in git("merge", "topic", ok=(1,)).stdout


def test_with_the_driver_a_merge_has_both_updates(
    git: Git, slug: str, repo: Path, store: ContextStore
) -> None:
    configure(worktree_of(repo))
    git("merge", "-q", "--no-edit", "topic")
    assert notes(repo, slug) == BOTH
    assert store.read_entry(Kind.FINDING, slug).info.status == "resolved"
    assert git("status", "--porcelain").text == ""


@pytest.mark.parametrize("words", [("rebase", "-q", "topic"), ("cherry-pick", "topic")])
def test_with_the_driver_other_merges_have_both_updates_too(
    git: Git, slug: str, repo: Path, words: tuple[str, ...]
) -> None:
    configure(worktree_of(repo))
    git(*words)
    assert notes(repo, slug) == BOTH


def test_a_merge_in_a_linked_worktree_has_both_updates(
    git: Git, slug: str, repo: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git("worktree", "add", "-q", str(linked), "topic")
    configure(worktree_of(linked))
    (linked / "deeper").mkdir()
    git("merge", "-q", "--no-edit", "main", at=linked / "deeper")
    assert notes(linked, slug) == BOTH


def test_a_real_conflict_stays_one_with_markers_and_every_update(
    git: Git, slug: str, repo: Path
) -> None:
    path = repo / f".cspace/context/findings/{slug}.md"
    for branch, said in (("topic", "It did."), ("main", "It will.")):
        git("checkout", "-q", branch)
        path.write_text(path.read_text().replace("It does.", said))
        commit(git, f"Change on {branch}")
    configure(worktree_of(repo))
    answer = git("merge", "topic", ok=(1,))
    assert b"CONFLICT" in answer.stdout
    assert b"hint: choose between the markers in it, then: git add" in answer.stderr
    text = path.read_text()
    assert "<<<<<<< ours\nIt will.\n=======\nIt did.\n>>>>>>> theirs\n" in text
    assert notes(repo, slug) == BOTH


def test_a_merge_without_cspace_on_the_path_loses_nothing(
    git: Git, slug: str, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(worktree_of(repo))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    git("merge", "topic", ok=(1,))
    path = f".cspace/context/findings/{slug}.md"
    assert git("diff", "--name-only", "--diff-filter=U").text == path
    assert "from main" in git("show", f":2:{path}").text
    assert "from topic" in git("show", f":3:{path}").text


def test_a_finding_s_name_hazard_is_nothing_to_the_shell_that_starts_the_driver(
    git: Git, slug: str, repo: Path
) -> None:
    findings = repo / ".cspace/context/findings"
    for branch in ("topic", "main"):
        git("checkout", "-q", branch)
        git("mv", str(findings / f"{slug}.md"), str(findings / "$(touch planted) ';touch x.md"))
        commit(git, "Rename")
    configure(worktree_of(repo))
    git("merge", "-q", "--no-edit", "topic")
    assert {path.name for path in repo.iterdir()} == {".git", ".cspace", "README.md"}


def test_decisions_are_left_to_git(git: Git, repo: Path) -> None:
    configure(worktree_of(repo))
    asked = git("check-attr", "merge", "--", ".cspace/context/decisions/x.md").text
    assert asked.endswith("merge: unspecified")


def test_configure_says_what_it_changes_and_a_second_time_nothing(repo: Path) -> None:
    said = proc.run(sys.executable, "-m", "cspace.cli.app", "context", "configure", cwd=repo).text
    assert said == (
        f"{repo}/.git/config: merge.cspace-context.name\n"
        "  before: (absent)\n  after:  joins the updates of a finding\n"
        f"{repo}/.git/config: merge.cspace-context.driver\n"
        "  before: (absent)\n  after:  cspace context merge-driver %O %A %B %P\n"
        f"{repo}/.git/info/attributes: line\n"
        f"  before: (absent)\n  after:  {LINE}"
    )
    assert configure(worktree_of(repo)).changes == ()


@pytest.mark.parametrize("attributes", [None, b"*.c diff=c\n", b"*.c diff=c", b"# \xff\r\n\n\n"])
def test_undo_gives_back_every_byte(repo: Path, attributes: bytes | None) -> None:
    config, path = repo / ".git/config", repo / ".git/info/attributes"
    path.parent.mkdir(exist_ok=True)
    if attributes is not None:
        path.write_bytes(attributes)
    before = config.read_bytes()
    assert len(configure(worktree_of(repo)).changes) == 3
    assert path.read_bytes() != attributes
    assert configure(worktree_of(repo)).changes == ()
    assert len(configure(worktree_of(repo), undo=True).changes) == 3
    assert config.read_bytes() == before
    assert (path.read_bytes() if path.exists() else None) == attributes
    assert configure(worktree_of(repo), undo=True).changes == ()


def test_undo_leaves_what_a_person_added_since(git: Git, repo: Path) -> None:
    configure(worktree_of(repo))
    git("config", "merge.cspace-context.recursive", "binary")
    path = repo / ".git/info/attributes"
    path.write_bytes(path.read_bytes() + b"*.x text\n")
    configure(worktree_of(repo), undo=True)
    assert git("config", "merge.cspace-context.recursive").text == "binary"
    assert path.read_bytes() == b"*.x text\n"


def test_a_dry_run_changes_nothing(repo: Path) -> None:
    before = (repo / ".git/config").read_bytes()
    assert len(configure(worktree_of(repo), dry_run=True).changes) == 3
    assert (repo / ".git/config").read_bytes() == before
    assert not (repo / ".git/info/attributes").exists()


def test_a_key_that_is_somebody_else_s_is_left_and_named(git: Git, repo: Path) -> None:
    git("config", "merge.cspace-context.driver", "theirs %A")
    before = (repo / ".git/config").read_bytes()
    with pytest.raises(Conflict, match="'theirs %A' in this repository"):
        configure(worktree_of(repo))
    configure(worktree_of(repo), undo=True)
    assert (repo / ".git/config").read_bytes() == before


def test_a_configuration_that_comes_later_is_named(git: Git, repo: Path) -> None:
    git("config", "extensions.worktreeConfig", "true")
    git("config", "--worktree", "merge.cspace-context.driver", "other %A")
    (repo / ".git/info").mkdir(exist_ok=True)
    (said,) = configure(worktree_of(repo)).notices
    assert "'other %A' by a configuration that comes later" in said


def test_a_global_driver_of_that_name_gives_way_in_this_repository_only(
    git: Git, repo: Path
) -> None:
    git("config", "--global", "merge.cspace-context.driver", "mine %A")
    assert configure(worktree_of(repo)).notices == ()
    assert git("config", "--global", "merge.cspace-context.driver").text == "mine %A"


def test_linked_attributes_hazard_are_not_followed(repo: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("outside\n")
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").symlink_to(target)
    before = (repo / ".git/config").read_bytes()
    with pytest.raises(CspaceError, match="a link or another file is in the way"):
        configure(worktree_of(repo))
    assert target.read_text() == "outside\n"
    assert (repo / ".git/config").read_bytes() == before
