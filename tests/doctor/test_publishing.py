"""What git really publishes of refs/cspace, and whether doctor says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cspace import proc
from cspace.doctor.model import Patient
from cspace.doctor.publishing import check_publishing, publishing

ARCHIVE = "refs/cspace/archive/mercury/20260414T103000Z/snapshot"


@pytest.fixture
def archived(repo: Path, tmp_path: Path) -> Path:
    """Return a project with an archive, a branch of an instance, and a remote."""
    git(repo, "update-ref", ARCHIVE, "HEAD")
    git(repo, "branch", "cspace/mercury")
    proc.run("git", "init", "--quiet", "--bare", tmp_path / "remote")
    git(repo, "remote", "add", "backup", str(tmp_path / "remote"))
    return repo


def git(repo: Path, *words: str) -> None:
    proc.run("git", "-C", repo, *words)


def pushed(repo: Path, *words: str) -> set[str]:
    """Push for real; return the remote's refs."""
    proc.run("git", "-C", repo, "push", "--quiet", *words, ok=(0, 1, 128))
    listed = proc.run("git", "-C", repo.parent / "remote", "for-each-ref", "--format=%(refname)")
    return set(listed.text.split())


def follow(repo: Path, repair: str) -> None:
    proc.run("bash", "-ec", repair, cwd=repo)


def test_mirror_hazard_a_mirror_push_publishes_archives_until_the_repair(
    archived: Path, patient: Patient
) -> None:
    assert check_publishing(patient) == ()
    git(archived, "remote", "remove", "backup")
    git(archived, "remote", "add", "--mirror=push", "backup", str(archived.parent / "remote"))
    assert ARCHIVE in pushed(archived, "backup")
    (found,) = check_publishing(patient)
    assert "'backup' is a mirror" in found.problem
    git(archived.parent / "remote", "update-ref", "-d", ARCHIVE)
    follow(archived, found.repair)
    git(archived, "branch", "later")
    after = pushed(archived, "backup")
    assert "refs/heads/later" in after
    assert ARCHIVE not in after
    assert check_publishing(patient) == ()


def test_what_is_said_on_the_command_line_no_setting_can_change(archived: Path) -> None:
    assert ARCHIVE in pushed(archived, "--mirror", "backup")


SPECS = (
    ("+refs/*:refs/*",),
    ("refs/*",),
    ("refs/*:refs/*", "^refs/cspace/*"),
    ("^refs/cspace/*", "refs/*:refs/*"),
    ("refs/*:refs/*", "^refs/csp*"),
    ("refs/*:refs/*", "^refs/heads/*"),
    ("refs/*:refs/*", "^refs/tags/*", "^refs/cspace/*"),
    ("*:*",),
    ("refs/c*:refs/c*",),
    ("refs/c*:refs/c*", "^refs/c*"),
    ("refs/*/snapshot:refs/*/snapshot",),
    ("refs/heads/*:refs/heads/*",),
    ("+refs/heads/*:refs/mirror/*", "refs/tags/*:refs/tags/*"),
    ("HEAD:refs/heads/main",),
    (":",),
    ("cspace/mercury",),
    ("refs/heads/cspace/mercury:refs/heads/other",),
    (f"{ARCHIVE}:refs/heads/other",),
    (f"+{ARCHIVE.removeprefix('refs/')}:refs/heads/other",),
    (ARCHIVE, "^refs/cspace/*"),
    ("refs/cspace/archive/*:refs/heads/archive/*", "refs/heads/*:refs/heads/*"),
)


@pytest.mark.parametrize("specs", SPECS, ids=" ".join)
def test_every_refspec_is_judged_as_git_does_it(
    archived: Path, patient: Patient, specs: tuple[str, ...]
) -> None:
    for spec in specs:
        git(archived, "config", "--add", "remote.backup.push", spec)
    git(archived, "commit", "--quiet", "--allow-empty", "--message", "Only on main")
    git(archived, "update-ref", ARCHIVE, tree_commit(archived))
    before = objects(archived)
    pushed(archived, "backup")
    assert bool(check_publishing(patient)) is (before <= objects(archived.parent / "remote"))


def tree_commit(repo: Path) -> str:
    """Make a commit that nothing but an archive holds."""
    words = ("commit-tree", "HEAD^{tree}", "-m", "Archived")
    return proc.run("git", "-C", repo, *words).text


def objects(repo: Path) -> set[str]:
    """Return the archived commit, where a repository has it."""
    words = ("rev-list", "--all", "--grep=^Archived$", "--format=", "--no-commit-header")
    return set(proc.run("git", "-C", repo, *words, "--format=%H").text.split())


@pytest.mark.parametrize(
    "specs", [one for one in SPECS if publishing(one, (ARCHIVE,))], ids=" ".join
)
def test_the_repair_of_a_refspec_ends_it(
    archived: Path, patient: Patient, specs: tuple[str, ...]
) -> None:
    for spec in specs:
        git(archived, "config", "--add", "remote.backup.push", spec)
    (found,) = check_publishing(patient)
    follow(archived, found.repair)
    assert check_publishing(patient) == ()
    git(archived, "update-ref", ARCHIVE, tree_commit(archived))
    pushed(archived, "backup")
    assert objects(archived.parent / "remote") == set()


def test_archives_that_are_only_yet_to_come_count_too() -> None:
    assert publishing(("refs/*:refs/*",), ())
    assert publishing(("refs/*:refs/*", f"^{ARCHIVE}"), (ARCHIVE,))


def test_a_remote_without_a_url_is_judged_too(repo: Path, patient: Patient) -> None:
    git(repo, "config", "remote.a b.c;d.push", "refs/*")
    git(repo, "config", "remote.off.mirror", "no")
    (found,) = check_publishing(patient)
    assert "'a b.c;d'" in found.problem
    follow(repo, found.repair)
    assert check_publishing(patient) == ()
