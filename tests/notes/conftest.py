"""A repository with commits, and a store of its notes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cspace.git import git
from cspace.git_import import find_place
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.store import NotesStore
from tests.conftest import Clock

DECISIONS, BLOCKERS, REVIEWS = Namespace.DECISIONS, Namespace.BLOCKERS, Namespace.REVIEWS


def draft(summary: str, body: str = "Because.\n", namespace: Namespace = DECISIONS) -> Draft:
    return Draft(namespace, summary, body)


def commits_of(repository: Path) -> list[str]:
    """Return the commits of HEAD, the newest first."""
    return git(repository, "rev-list", "HEAD").text.split()


def add_commits(repository: Path, count: int) -> list[str]:
    """Make many commits on main quickly, and return them all, the newest first."""
    parent = git(repository, "rev-parse", "HEAD").text
    start = f"from {parent}\n"
    stream = "".join(
        f"commit refs/heads/main\ncommitter a <a@b> {1_700_000_000 + n} +0000\ndata 1\nx\n"
        + (start if n == 0 else "")
        for n in range(count)
    )
    git(repository, "fast-import", "--quiet", "--force", stdin=stream.encode())
    return commits_of(repository)


def show(repository: Path, ref: str, commit: str = "HEAD") -> bytes:
    """Return a note as git itself shows it."""
    return git(repository, "notes", f"--ref={ref}", "show", commit).stdout


@pytest.fixture
def store(repo: Path, clock: Clock) -> NotesStore:
    return NotesStore(repo, find_place(repo), now=clock)


@pytest.fixture
def make_store(clock: Clock) -> Callable[[Path], NotesStore]:
    return lambda repository: NotesStore(repository, find_place(repository), now=clock)
