"""`cspace context history` and `restore`, as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cspace.cli.entries import complete_recorded
from cspace.context.records import Category, Finding
from cspace.events import ignore
from cspace.lifecycle.recorded_context import Recorder
from cspace.lifecycle.shared_context import open_context
from cspace.project import find_project
from tests.cli.test_app import cspace


@pytest.fixture
def slug(repo: Path) -> str:
    """Log a finding with an update; return its slug."""
    store = open_context(repo, {}, ignore)
    slug = store.log_finding(Finding("Sums are off", Category.BUG, "s")).slug
    store.append_to_finding(slug, "fixed", status="resolved")
    return slug


def path_of(repo: Path, slug: str) -> Path:
    return repo / f".cspace/context/findings/{slug}.md"


def test_the_history_shows_versions_and_says_how_many_it_leaves_out(repo: Path, slug: str) -> None:
    said = cspace("context", "history", slug, "--limit", "1", cwd=repo)
    assert said.stdout.splitlines()[0].split() == ["TIME", "WHAT", "WHO", "ENTRY", "ID"]
    assert f"findings/{slug}" in said.stdout
    assert said.stderr == "1 older left out: raise --limit\n"
    document = json.loads(cspace("context", "history", "--json", cwd=repo).stdout)
    assert document["left_out"] == 0
    assert set(document["changes"][0]) == {
        *("time", "action", "entry", "revision", "author", "instance")
    }


def test_a_shell_completes_what_was_recorded_and_is_gone(
    repo: Path, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cspace("context", "history", cwd=repo)
    path_of(repo, slug).unlink()
    monkeypatch.chdir(repo)
    assert complete_recorded("findings/") == [f"findings/{slug}"]
    assert complete_recorded("nothing") == []


def test_a_lost_record_comes_back_without_a_question(repo: Path, slug: str) -> None:
    path = path_of(repo, slug)
    before = path.read_bytes()
    path.unlink()
    planned = cspace("context", "restore", "--dry-run", cwd=repo)
    assert f"create  findings/{slug}" in planned.stdout
    assert not path.exists()
    done = cspace("context", "restore", cwd=repo)
    assert (done.returncode, path.read_bytes()) == (0, before)
    assert "1 restored" in done.stderr


def test_an_existing_record_is_replaced_only_after_a_yes(repo: Path, slug: str) -> None:
    path = path_of(repo, slug)
    before = path.read_bytes()
    document = json.loads(cspace("context", "history", slug, "--json", cwd=repo).stdout)
    first = document["changes"][-1]["time"]
    refused = cspace("context", "restore", slug, "--at", first, cwd=repo)
    assert (refused.returncode, path.read_bytes()) == (2, before)
    assert "--yes" in refused.stderr
    cspace("context", "restore", slug, "--at", first, "--yes", cwd=repo)
    assert b"fixed" not in path.read_bytes()


def test_what_is_missing_comes_back_where_nobody_can_be_asked_about_the_rest(
    repo: Path, slug: str
) -> None:
    path, direction = path_of(repo, slug), repo / ".cspace/context/direction.md"
    path.write_bytes(path.read_bytes() + b"\n### 2026-04-15T08:00:00Z \xe2\x80\x94 @bob"
                     b" \xe2\x80\x94 status: open\nmore\n")  # fmt: skip
    direction.write_bytes(b"# Ours\n")
    newest = path.read_bytes()
    cspace("context", "history", cwd=repo)
    path.write_bytes(newest.replace(b"more", b"other").replace(b"@bob", b"@eve"))
    direction.unlink()
    said = cspace("context", "restore", "--json", cwd=repo)
    assert said.returncode == 2
    assert "restore would replace 1 file" in said.stderr
    assert json.loads(said.stdout)["restored"] == ["direction"]
    assert direction.read_bytes() == b"# Ours\n"
    assert b"@bob" not in path.read_bytes()


def test_an_unknown_entry_is_not_found(repo: Path, slug: str) -> None:
    for words in (("history", "nothing"), ("restore", "nothing")):
        said = cspace("context", *words, cwd=repo)
        assert said.returncode == 3
        assert "hint: cspace context history" in said.stderr


def test_a_link_for_a_directory_of_records_hazard_goes_aside_before_a_restore(
    repo: Path, slug: str, tmp_path: Path
) -> None:
    path = path_of(repo, slug)
    before = path.read_bytes()
    path.parent.rename(tmp_path / "elsewhere")
    path.parent.symlink_to(tmp_path / "elsewhere")
    looked = cspace("context", "restore", "--dry-run", cwd=repo)
    assert (looked.returncode, path.parent.is_symlink()) == (1, True)
    assert "findings: a link or another file stands" in looked.stderr
    assert cspace("context", "restore", cwd=repo).returncode == 0
    assert (path.parent.is_symlink(), path.read_bytes()) == (False, before)


def test_what_stands_in_a_lost_record_s_place_hazard_is_a_conflict(repo: Path, slug: str) -> None:
    Recorder(find_project(repo), repo / "user", ignore).record()
    path = path_of(repo, slug)
    path.unlink()
    path.mkdir()
    said = cspace("context", "restore", cwd=repo)
    assert said.returncode == 4
    assert "exists already" in said.stderr


def test_entries_are_completed(repo: Path, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Recorder(find_project(repo), repo / "user", ignore).record()
    monkeypatch.setenv("_CSPACE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "cspace context restore find")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert cspace(cwd=repo).stdout.split() == [f"findings/{slug}"]


def test_what_a_restore_brings_back_is_not_named_as_lost_too(repo: Path, slug: str) -> None:
    direction = repo / ".cspace/context/direction.md"
    direction.write_text("one\n", encoding="utf-8")
    document = json.loads(cspace("context", "history", "direction", "--json", cwd=repo).stdout)
    direction.write_text("two\n", encoding="utf-8")
    path_of(repo, slug).unlink()
    then = ("direction", "--at", document["changes"][0]["time"])
    said = cspace("context", "restore", *then, "--yes", cwd=repo)
    assert f"vanished: findings/{slug};" in said.stderr
    assert "went back" not in said.stderr
    assert cspace("context", "restore", cwd=repo).stderr == "1 restored\n"
    path_of(repo, slug).unlink()
    assert cspace("context", "restore", cwd=repo).stderr == "1 restored\n"


def test_inside_an_instance_the_history_is_on_the_host(
    repo: Path, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSPACE_INSTANCE", "mercury")
    for command in ("history", "restore"):
        said = cspace("context", command, cwd=repo)
        assert said.returncode == 2
        assert "hint: on the host: cspace context history" in said.stderr
