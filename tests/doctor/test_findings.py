"""Findings and the commits that name them are compared, and each mismatch has its repair."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cspace import proc
from cspace.context.records import Category, Finding, Kind, Origin, Status
from cspace.context.store import ContextStore
from cspace.doctor.findings import examine_findings
from cspace.doctor.model import Diagnosis
from cspace.project import find_project
from tests.conftest import Clock

Commit = Callable[..., str]
CSPACE = (sys.executable, "-m", "cspace.cli.app")


@pytest.fixture
def store(repo: Path, clock: Clock) -> ContextStore:
    return ContextStore(repo, Origin("ann"), clock=clock)


@pytest.fixture
def slug(store: ContextStore) -> str:
    return store.log_finding(Finding("It fails", Category.BUG, "It does.")).slug


@pytest.fixture
def commit(repo: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Commit:
    def commit(message: str) -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", clock.now.isoformat())
        proc.run(
            "git", "-C", repo, "commit", "-q", "--allow-empty", "-F", "-", stdin=message.encode()
        )
        return git(repo, "rev-parse", "HEAD")[:12]

    return commit


def git(repo: Path, *words: str) -> str:
    return proc.run("git", "-C", repo, *words).text


def examine(store: ContextStore) -> tuple[Diagnosis, ...]:
    return examine_findings(store, find_project(store.root))


def test_findings_that_agree_with_git_are_not_mentioned(
    store: ContextStore, slug: str, commit: Commit
) -> None:
    store.append_to_finding(slug, "done", status="resolved")
    commit(f"Fix it\n\nIn detail (cs-finding:{slug}).")
    other = store.log_finding(Finding("Another", Category.BUG, "x", status=Status.WONTFIX)).slug
    store.log_finding(Finding("Open", Category.BUG, "x"))
    assert other != slug
    assert examine(store) == ()


def test_a_finding_that_a_commit_resolved_is_open_here(
    store: ContextStore, slug: str, commit: Commit
) -> None:
    one = commit(f"Fix it (cs-finding:{slug})")
    assert examine(store) == (
        Diagnosis(
            "still-open",
            f"{slug} is open, and {one} resolves it",
            f"cspace findings append {slug} --status resolved 'resolved in {one}'",
        ),
    )


def test_a_commit_names_a_finding_that_does_not_exist(store: ContextStore, commit: Commit) -> None:
    one = commit("Fix it (cs-finding:2026-01-01-gone)")
    (found,) = examine(store)
    assert found.check == "unknown"
    assert found.problem == f"{one} names 2026-01-01-gone, which does not exist"


def test_a_finding_that_no_commit_resolved_is_mended_by_the_command_it_names(
    store: ContextStore, slug: str, repo: Path
) -> None:
    store.append_to_finding(slug, "done", status="resolved")
    (found,) = examine(store)
    assert (found.check, found.problem) == (
        "without-commit",
        f"{slug} is resolved, and no commit names it",
    )
    proc.run(*shlex.split(found.repair), cwd=repo)
    assert examine(store) == ()


def test_a_commit_of_another_branch_is_one_but_resolves_nothing_yet(
    store: ContextStore, slug: str, commit: Commit, repo: Path
) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    commit(f"Fix it (cs-finding:{slug})")
    commit("Fix it (cs-finding:2026-01-01-gone)")
    git(repo, "checkout", "-q", "main")
    assert examine(store) == ()
    store.append_to_finding(slug, "done", status="resolved")
    assert examine(store) == ()
    git(repo, "update-ref", "refs/cspace/archive/x/1", "topic")
    git(repo, "branch", "-D", "topic")
    assert examine(store) == ()


def test_a_reverted_commit_resolves_nothing_until_it_comes_back(
    store: ContextStore, slug: str, commit: Commit, repo: Path
) -> None:
    (repo / "fix").touch()
    git(repo, "add", "fix")
    commit(f"Fix it (cs-finding:{slug})")
    for expected in (1, 0, 1):
        assert len(examine(store)) == expected
        git(repo, "revert", "--no-edit", "HEAD")


def test_a_finding_that_was_opened_again_after_the_commit_is_left_alone(
    store: ContextStore, slug: str, commit: Commit, clock: Clock
) -> None:
    commit(f"Fix it (cs-finding:{slug})")
    clock.advance(hours=1)
    store.append_to_finding(slug, "done", status="resolved")
    store.append_to_finding(slug, "it is back", status="open")
    assert examine(store) == ()


def test_a_finding_that_cannot_be_read_is_named_and_not_called_missing(
    store: ContextStore, slug: str, commit: Commit, repo: Path
) -> None:
    path = repo / f".cspace/context/findings/{slug}.md"
    path.unlink()
    path.symlink_to("/etc/passwd")
    commit(f"Fix it (cs-finding:{slug})")
    (found,) = examine(store)
    assert found.check == "unreadable"
    assert str(path) in found.repair


def test_a_repository_without_a_commit_has_nothing_to_compare(tmp_path: Path, clock: Clock) -> None:
    git(tmp_path, "init", "-q")
    store = ContextStore(tmp_path, clock=clock)
    slug = store.log_finding(Finding("x", Category.BUG, "x", status=Status.RESOLVED)).slug
    assert [one.check for one in examine(store)] == ["without-commit"]
    assert store.read_entry(Kind.FINDING, slug).info.status == "resolved"


def test_a_history_that_is_cut_proves_no_absence(
    store: ContextStore, slug: str, commit: Commit, repo: Path, tmp_path: Path
) -> None:
    commit("One")
    commit("Two")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    shallow = ContextStore(tmp_path / "shallow", clock=store.clock)
    shallow.log_finding(Finding("x", Category.BUG, "x", status=Status.RESOLVED))
    assert examine(shallow) == ()


@pytest.mark.parametrize(
    "message",
    [
        "(cs-finding:<slug>)",
        "(cs-finding:)",
        "(cs-finding:../../x)",
        "(cs-finding:x\x1b[2J)",
        f"(cs-finding:{'x' * 300})",
        "cs-finding:x",
    ],
)
def test_what_is_no_mark_hazard_names_nothing(
    store: ContextStore, commit: Commit, message: str
) -> None:
    commit(message)
    assert examine(store) == ()


def test_names_of_files_hazard_stay_data_in_the_commands_that_are_shown(
    store: ContextStore, slug: str, repo: Path, commit: Commit
) -> None:
    path = repo / ".cspace/context/findings"
    (path / f"{slug}.md").rename(path / "$(touch planted)\n\x1b[2J.md")
    store.log_finding(Finding("It fails", Category.BUG, "x", status=Status.RESOLVED))
    assert [one.check for one in examine(store)] == ["unreadable", "without-commit"]
    (path / "$(touch planted)\n\x1b[2J.md").write_text("---\nstatus: resolved\n---\n")
    done = proc.run(*CSPACE, "findings", "doctor", cwd=repo, ok=(8,))
    assert b"\x1b" not in done.stdout + done.stderr


def test_the_command_ends_with_8_and_prints_json(
    store: ContextStore, slug: str, commit: Commit, repo: Path
) -> None:
    done = proc.run(*CSPACE, "findings", "doctor", "--json", cwd=repo)
    assert json.loads(done.text) == {"schema_version": 1, "diagnoses": []}
    commit(f"Fix it (cs-finding:{slug})")
    done = proc.run(*CSPACE, "findings", "doctor", "--json", cwd=repo, ok=(8,))
    (found,) = json.loads(done.text)["diagnoses"]
    assert found["check"] == "still-open"
    assert b"error: findings doctor found 1 thing\n" in done.stderr


def test_a_long_history_is_read_quickly(
    store: ContextStore, slug: str, repo: Path, counts: Callable[[int, int], int]
) -> None:
    many = counts(2_000, 20_000)
    lines = []
    for number in range(many):
        text = f"Commit {number} (cs-finding:2026-01-01-n{number})" if number % 100 == 0 else "x"
        lines.append(
            f"commit refs/heads/main\ncommitter A <a@x> {1_700_000_000 + number} +0000\n"
            f"data {len(text)}\n{text}\n"
        )
    proc.run("git", "-C", repo, "fast-import", "--quiet", "--force", stdin="".join(lines).encode())
    started = time.perf_counter()
    assert len(examine(store)) == many // 100
    assert time.perf_counter() - started < 5
