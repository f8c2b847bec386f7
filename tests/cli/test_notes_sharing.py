from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commit_notes import capture, commit, document, notes, run_git

KEY = "ghp_" + "q8Zr1Xv7Lm3Tn5Wb9Yc2Kd4Jf6Hg0PsAaBbC"
OFFLINE = {"CSPACE_OFFLINE": "1"}


@pytest.fixture
def shared(repo: Path, tmp_path: Path) -> Path:
    """Return a clone whose remote is a bare repository."""
    run_git(repo, "init", "--quiet", "--bare", str(tmp_path / "hub.git"))
    run_git(repo, "remote", "add", "origin", str(tmp_path / "hub.git"))
    run_git(repo, "push", "--quiet", "-u", "origin", "HEAD:main")
    return repo


def test_a_fresh_clone_is_told_what_its_remote_has_and_gets_it(
    shared: Path, tmp_path: Path
) -> None:
    capture(shared, "decisions", "Chose RS256")
    assert notes("sync", cwd=shared).stdout == "decisions: 0 received, 1 sent\n"
    run_git(shared, "clone", "--quiet", str(tmp_path / "hub.git"), str(tmp_path / "fresh"))
    fresh = tmp_path / "fresh"
    told = notes("status", cwd=fresh, env=OFFLINE).stderr
    assert "origin has memories that are not here (decisions): cspace notes sync origin" in told
    assert "cspace notes sync origin" in notes("list", cwd=fresh).stderr
    assert "cspace notes sync origin" in notes("recall", "RS256", cwd=fresh, ok=3).stderr
    assert notes("sync", "origin", cwd=fresh).stdout == "decisions: 1 received, 0 sent\n"
    assert "Chose RS256" in notes("list", cwd=fresh).stdout


def test_sync_says_when_there_is_nothing_to_do_and_what_a_dry_run_would(shared: Path) -> None:
    assert "nothing to do: origin" in notes("sync", cwd=shared).stdout
    capture(shared, "decisions", "Chose RS256")
    planned = notes("sync", "--dry-run", cwd=shared).stdout
    assert planned == "decisions: 0 would be received, 1 would be sent\n"
    (row,) = document("sync", "--dry-run", cwd=shared)["namespaces"]
    assert (row["sent"], row["received"]) == (1, 0)


def test_a_leak_ends_a_sync_with_7_and_is_never_printed(shared: Path) -> None:
    reference = capture(shared, "decisions", "A token", "--allow-secret", body=KEY)
    done = notes("sync", cwd=shared, ok=7)
    assert f"{reference}/" in done.stderr
    assert "github" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert notes("sync", "--allow-secret", cwd=shared).stdout.endswith("1 sent\n")


def test_sync_without_a_remote_or_an_answer_says_what_to_do(repo: Path) -> None:
    assert "remote add origin URL" in notes("sync", cwd=repo, ok=2).stderr
    run_git(repo, "remote", "add", "origin", "/nowhere")
    assert "origin can not be reached" in notes("sync", cwd=repo, ok=5).stderr
    assert "has no remote 'upstream'" in notes("sync", "upstream", cwd=repo, ok=3).stderr


def test_rescue_proposes_and_copies_only_when_told(repo: Path) -> None:
    commit(repo, "a.py", "alpha = 1\n")
    capture(repo, "decisions", "Chose alpha")
    run_git(repo, "commit", "--quiet", "--amend", "-m", "Other words")
    assert "1 memory on commits that history does not reach" in notes("status", cwd=repo).stderr
    proposed = notes("rescue", "--dry-run", cwd=repo)
    assert "amend: " in proposed.stdout
    assert "1 memory can be copied: the same command with --apply" in proposed.stderr
    assert document("status", cwd=repo)["namespaces"][0]["orphaned"] == 1
    assert "1 memory copied" in notes("rescue", "--apply", cwd=repo).stderr
    assert document("verify", cwd=repo)["namespaces"][0]["orphaned"] == 0
    assert "no memory is orphaned" in notes("rescue", cwd=repo).stderr


def test_orphans_are_counted_for_each_namespace(repo: Path) -> None:
    capture(repo, "blockers", "Still there")
    commit(repo, "a.py", "alpha = 1\n")
    for namespace, summary in (("decisions", "One"), ("decisions", "Two"), ("blockers", "Three")):
        capture(repo, namespace, summary)
    run_git(repo, "commit", "--quiet", "--amend", "-m", "Other words")
    for command in ("status", "verify"):
        rows = document(command, cwd=repo)["namespaces"]
        counted = {row["namespace"]: (row["memories"], row["orphaned"]) for row in rows}
        assert counted == {"decisions": (2, 2), "blockers": (2, 1)}


def test_a_person_says_where_what_is_gone_goes(repo: Path) -> None:
    old = commit(repo, "a.py", "alpha = 1\n")
    capture(repo, "decisions", "Chose alpha")
    run_git(repo, "reset", "--quiet", "--hard", "HEAD~1")
    run_git(repo, "reflog", "expire", "--expire=now", "--all")
    run_git(repo, "gc", "--quiet", "--prune=now")
    told = notes("rescue", cwd=repo).stdout
    assert f"cspace notes rescue {old[:12]} --to COMMIT --apply" in told
    (one,) = document("rescue", old[:12], "--to", "HEAD", "--apply", cwd=repo)["rescued"]
    assert one["target"] == run_git(repo, "rev-parse", "HEAD")


@pytest.mark.parametrize("words", [("--apply", "--dry-run"), ("1a2b3c4",), ("--to", "HEAD")])
def test_what_contradicts_itself_is_a_usage_error(words: tuple[str, ...], repo: Path) -> None:
    assert "hint: " in notes("rescue", *words, cwd=repo, ok=2).stderr


def test_configure_shows_what_it_changes_and_takes_it_back(shared: Path) -> None:
    before = (shared / ".git/config").read_bytes()
    done = notes("configure", cwd=shared).stdout
    assert "after:  +refs/notes/cs/*:refs/cspace/notes/origin/*" in done
    assert "nothing to do" in notes("configure", cwd=shared).stdout
    assert len(document("configure", "--undo", cwd=shared)["changes"]) == 2
    assert (shared / ".git/config").read_bytes() == before


def test_an_export_is_imported_by_another_clone(repo: Path, tmp_path: Path) -> None:
    capture(repo, "decisions", "Chose RS256", body="Two services.")
    notes("export", str(tmp_path / "notes.jsonl"), cwd=repo)
    assert (
        "is there already" in notes("export", str(tmp_path / "notes.jsonl"), cwd=repo, ok=2).stderr
    )
    lines = notes("export", cwd=repo).stdout.splitlines()
    assert json.loads(lines[1])["summary"] == "Chose RS256"
    run_git(repo, "clone", "--quiet", str(repo), str(tmp_path / "other"))
    other = tmp_path / "other"
    assert document("import", str(tmp_path / "notes.jsonl"), "--dry-run", cwd=other)["new"] == 1
    done = notes("import", cwd=other, said=(tmp_path / "notes.jsonl").read_bytes())
    assert done.stdout == "1 record new, of 1\n"
    assert "no such file" in notes("import", "nothing.jsonl", cwd=other, ok=1).stderr.lower()
