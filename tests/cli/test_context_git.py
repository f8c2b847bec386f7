"""What the commands that join the context with git say."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cspace import proc
from cspace.context import snapshots
from cspace.context.records import Category, Finding, Origin
from cspace.context.store import ContextStore
from tests.conftest import Clock

CSPACE = (sys.executable, "-m", "cspace.cli.app", "context")


@pytest.fixture
def slug(repo: Path, clock: Clock) -> str:
    store = ContextStore(repo, Origin("ann"), clock=clock)
    return store.log_finding(Finding("It fails", Category.BUG, "It does.")).slug


def run(repo: Path, *words: str, ok: int = 0) -> proc.Result:
    return proc.run(*CSPACE, *words, cwd=repo, ok=(ok,))


def test_a_commit_says_where_it_went_and_what_it_holds(repo: Path, slug: str) -> None:
    said = run(repo, "commit").text
    one = proc.run("git", "-C", repo, "rev-parse", "--short=12", "HEAD").text
    assert said.split("\n") == [
        f"{one} on main in {repo}",
        *(f"  record .cspace/context/{name}.md" for name in ("direction", "principles", "roadmap")),
        f"  record .cspace/context/findings/{slug}.md",
    ]
    assert run(repo, "commit").text == "nothing to commit"


def test_what_is_left_out_is_said_with_the_next_step(repo: Path, slug: str) -> None:
    run(repo, "commit")
    (repo / f".cspace/context/findings/{slug}.md").unlink()
    done = run(repo, "commit")
    assert done.text == "nothing to commit"
    assert done.stderr.decode().endswith(
        f"note: .cspace/context/findings/{slug}.md vanished, and stays in git\n"
        "note: to remove from git what vanished: cspace context commit --removals\n"
    )


def test_a_commit_is_recorded_in_the_history_and_a_dry_run_is_not(repo: Path, slug: str) -> None:
    run(repo, "commit", "--dry-run")
    assert snapshots.find_tip(repo) is None
    run(repo, "commit")
    tip = snapshots.find_tip(repo)
    assert tip is not None
    assert f"findings/{slug}" in snapshots.load_state(repo, tip)


def test_a_line_end_in_a_name_hazard_begins_no_line(repo: Path, slug: str) -> None:
    (repo / ".cspace/context/findings/a\nnote: b.md").write_bytes(b"x")
    said = run(repo, "commit").stderr.decode()
    where = ".cspace/context/findings/a\\nnote: b.md"
    assert said == f"note: {where} is not committed: its name can not be shown\n"


def test_a_dry_run_shows_the_message(repo: Path, slug: str) -> None:
    said = run(repo, "commit", "--dry-run", "-m", "Mine").text
    assert said.startswith(f"would commit to main in {repo}\n")
    assert said.endswith("\n\nMine\n\nContext-author: ann")


def test_the_json_of_a_commit_has_these_keys(repo: Path, slug: str) -> None:
    found = json.loads(run(repo, "commit", "--json").text)
    keys = ("branch", "changes", "commit", "dry_run", "left", "message", "root", "schema_version")
    assert sorted(found) == [*keys, "skipped"]
    assert sorted(found["changes"][0]) == ["action", "authors", "kind", "path", "title"]


def test_the_json_of_configure_has_these_keys(repo: Path) -> None:
    found = json.loads(run(repo, "configure", "--json").text)
    assert sorted(found) == ["changes", "dry_run", "notices", "schema_version"]
    assert sorted(found["changes"][0]) == ["after", "before", "key", "where"]


def test_an_empty_message_is_refused(repo: Path, slug: str) -> None:
    assert b"message is empty" in run(repo, "commit", "-m", " ", ok=2).stderr


@pytest.mark.parametrize("kind", ["link", "fifo", "missing"])
def test_a_version_that_is_no_file_hazard_is_refused_and_ours_stays(
    tmp_path: Path, kind: str
) -> None:
    (tmp_path / "ours").write_text("ours\n")
    (tmp_path / "base").write_text("base\n")
    if kind == "fifo":
        os.mkfifo(tmp_path / "theirs")
    elif kind == "link":
        (tmp_path / "theirs").symlink_to("base")
    done = run(tmp_path, "merge-driver", "base", "ours", "theirs", ok=1)
    assert b"error: " in done.stderr
    assert (tmp_path / "ours").read_text() == "ours\n"


def test_bytes_that_are_no_text_are_refused_and_ours_stays(tmp_path: Path) -> None:
    for name in ("base", "ours", "theirs"):
        (tmp_path / name).write_bytes(b"\0" + name.encode())
    done = run(tmp_path, "merge-driver", "base", "ours", "theirs", "x.md", ok=5)
    assert b"binary" in done.stderr
    assert (tmp_path / "ours").read_bytes() == b"\0ours"
