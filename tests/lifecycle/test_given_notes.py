"""A fresh clone has the host's index of its notes; without one it does as well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cspace import files
from cspace.deps import Deps
from cspace.events import ignore
from cspace.lifecycle.given_notes import give_index
from cspace.lifecycle.host import Host
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.question import Question
from tests.instance.snapshot_trees import clone, git


@pytest.fixture
def deps(repo: Path, home: Path) -> Deps:
    return Deps(repo, dict(os.environ), ignore)


@pytest.fixture
def host(deps: Deps) -> Host:
    return deps.host(teardown=True)


@pytest.fixture
def workspace(deps: Deps, repo: Path, tmp_path: Path) -> Path:
    """Return a clone with the notes of a host that has captured and recalled one memory."""
    deps.notes().capture(Draft(Namespace.DECISIONS, "Chose RS256", "Two services verify.\n"))
    deps.notes_catalog().recall(Question("RS256"))
    target = clone(repo, tmp_path / "workspace")
    git(target, "fetch", "--quiet", "origin", "refs/notes/*:refs/notes/*")
    return target


def test_the_index_in_a_clone_says_what_the_hosts_says_and_is_not_made_anew(
    deps: Deps, host: Host, workspace: Path
) -> None:
    give_index(host, workspace)
    there = Deps(workspace, deps.environ, ignore).notes_catalog()
    before = there.path.stat()
    assert [hit.memory.record.summary for hit in there.recall(Question("services")).hits] == [
        "Chose RS256"
    ]
    assert (there.path.stat().st_ino, there.path.stat().st_mtime_ns) == (
        before.st_ino, before.st_mtime_ns,
    )  # fmt: skip
    assert oct(before.st_mode & 0o777) == "0o600"


def test_where_the_index_is_held_or_missing_the_clone_goes_without(
    host: Host, workspace: Path
) -> None:
    index = host.project.common_directory / "cspace/index.db"
    with files.lock(index.with_suffix(".lock"), timeout=1, holder="another"):
        give_index(host, workspace)
    index.unlink()
    give_index(host, workspace)
    assert not list((workspace / ".git").glob("cspace/*"))
