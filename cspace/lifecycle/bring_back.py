"""Brings an agent's work back: fetched from an instance, shown, and taken into a branch."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cspace import git
from cspace.errors import Conflict, CspaceError
from cspace.events import Event, State
from cspace.instance.names import check_name
from cspace.instance.notes_read import read_notes
from cspace.instance.observe import Observed, Status, get_instance
from cspace.instance.record import NewerRecord
from cspace.instance.snapshot_manifest import LeftOut
from cspace.instance.work import fetch_work
from cspace.instance.work_answer import Work
from cspace.instance.work_view import (
    Change,
    Commit,
    empty_tree,
    find_base,
    list_changes,
    list_commits,
    viewing,
)
from cspace.lifecycle import steps
from cspace.lifecycle.host import Host
from cspace.lifecycle.images import ensure_image, find_present_image
from cspace.project import Project

# A command that is done sooner says nothing of what it does.
PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Brought:
    """An instance's work, as it is now in the host's repository.

    Attributes:
        branch: what the instance is on; None for a detached head.
        base: the newest commit that it shares with the host's branch or with where it started;
            the empty tree where there is none.
        head: the commit of its branch; None before the first.
        tree: a commit of its files as they are; None where that was not asked for, or can not be
            had: see `problem`.
        others: what the work is compared with: where the instance started, and the host's HEAD.
        notes: notes ref to commit.
        notes_problem: why there are none although the instance has some.
    """

    name: str
    branch: str | None
    base: str
    head: str | None
    tree: str | None
    problem: str | None
    others: tuple[str, ...]
    notes: dict[str, str]
    notes_problem: str | None
    left_out: tuple[LeftOut, ...]
    moving: bool

    @property
    def newest(self) -> str:
        """What is compared with the base: the files as they are, else the last commit."""
        return self.tree or self.head or self.base


@dataclass(frozen=True, slots=True)
class Difference:
    """What an instance changed.

    Attributes:
        head: None before the first commit.
        new: the commit that holds what was compared with base.
        left_out: uncommitted files that were not compared.
        moving: files changed all the time, so that this is of several moments.
    """

    name: str
    branch: str | None
    base: str
    head: str | None
    new: str
    changes: tuple[Change, ...]
    left_out: tuple[LeftOut, ...]
    moving: bool


@dataclass(frozen=True, slots=True)
class History:
    """What an instance committed, the newest first; how many files are not committed yet.

    Attributes:
        notes_problem: why no commit notes are shown although the instance has some.
    """

    name: str
    branch: str | None
    base: str
    head: str | None
    commits: tuple[Commit, ...]
    uncommitted: int | None
    notes_problem: str | None = None


def bring(host: Host, name: str, *, committed: bool = False) -> Brought:
    """Fetch an instance's work; it may run meanwhile, and goes on.

    Args:
        committed: leave out the files as they are.

    Raises:
        NotFound: there is none of that name.
        Conflict: it is not whole yet.
        CspaceError: there is no work that git can follow.
    """
    _check(get_instance(host.engine, host.user, host.project.id, check_name(name)))
    with host.locked(name):
        observed = get_instance(host.engine, host.user, host.project.id, name)
        _check(observed)
        tag = _find_image(host, observed)
        with _said_when_long(host, name):
            found = fetch_work(
                host.project.root, steps.place_of(host, name), steps.isolated(host, name, tag),
                committed=committed,
            )  # fmt: skip
    began = observed.record.base if observed.record else None
    return place_work(host.project, name, found, began)


def place_work(project: Project, name: str, work: Work, began: str | None) -> Brought:
    """Say what fetched work is to be compared with: where it began, and what the person is on."""
    known = (git.resolve(project.worktree, one) for one in (began, "HEAD") if one)
    others = tuple(dict.fromkeys(one for one in known if one))
    with viewing(project.root) as scratch:
        shared = find_base(scratch, work.head, others) if work.head else None
        base = shared or next(iter(others), None) or empty_tree(scratch)
    return Brought(
        name=name,
        branch=work.branch,
        base=base,
        head=work.head,
        tree=work.tree,
        problem=work.problem,
        others=others,
        notes=work.notes,
        notes_problem=work.notes_problem,
        left_out=work.left_out,
        moving=work.moving,
    )


def _check(observed: Observed) -> None:
    """Refuse an instance whose workspace is not there, not whole, or a newer cspace's."""
    if isinstance(observed.problem, NewerRecord):
        raise observed.problem
    record = observed.record
    if not observed.has_workspace or (record is not None and record.restoring):
        name = observed.name
        raise Conflict(f"{name} is {Status.INCOMPLETE}", hint=f"cspace up {name}, then again")


def _find_image(host: Host, observed: Observed) -> str:
    """Find an image that holds this cspace; an earlier one can not pack what we ask for."""
    present = find_present_image(host, observed)
    if present is not None:
        return present
    if not host.engine.has_image(host.image.tag):
        with host.phase(observed.name, "image", "it packs the work"):
            ensure_image(host, observed.name)
    return host.image.tag


@contextlib.contextmanager
def _said_when_long(host: Host, name: str) -> Iterator[None]:
    """Report the block when it takes its time: a page of a patch should not begin with that."""
    event = Event(name, "fetch", State.STARTED, "reading its work in a container")
    timer = threading.Timer(PATIENCE_SECONDS, lambda: host.report(event))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def difference(
    host: Host, name: str, paths: Sequence[str] = (), *, committed: bool = False
) -> Difference:
    """Say what an instance changed since its base, uncommitted files included.

    Raises:
        CspaceError: as for `bring` and `compare_with_base`.
    """
    return compare_with_base(host.project, bring(host, name, committed=committed), paths)


def compare_with_base(project: Project, found: Brought, paths: Sequence[str] = ()) -> Difference:
    """Say what a work changed since its base.

    Raises:
        CspaceError: its files can not be read as they are.
    """
    require_files(found, f"cspace diff {found.name}")
    with viewing(project.root) as scratch:
        changes = list_changes(scratch, found.base, found.newest, paths)
    return Difference(
        name=found.name,
        branch=found.branch,
        base=found.base,
        head=found.head,
        new=found.newest,
        changes=changes,
        left_out=found.left_out,
        moving=found.moving,
    )


def require_files(found: Brought, command: str) -> None:
    """Refuse to take what is committed for the files as they are.

    Args:
        command: what `--committed` is for.

    Raises:
        CspaceError: they can not be read.
    """
    if found.problem:
        raise CspaceError(
            f"the files of {found.name} can not be read as they are: {found.problem}",
            hint=f"what is committed: {command} --committed",
        )


def list_history(host: Host, name: str) -> History:
    """List what an instance committed since its base, with the notes on these commits."""
    found = bring(host, name)
    commits = commits_of(host.project.root, found)
    left = count_uncommitted(host.project.root, found)
    return History(name, found.branch, found.base, found.head, commits, left, found.notes_problem)


def commits_of(repository: Path, found: Brought) -> tuple[Commit, ...]:
    """Return the commits of a work that are on top of its base, the newest first."""
    if found.head is None:
        return ()
    with viewing(repository) as scratch:
        commits = list_commits(scratch, found.head, found.others)
    return read_notes(repository, commits, found.notes)


def count_uncommitted(repository: Path, found: Brought) -> int | None:
    """Count the files that are not as the last commit has them; None where that is not known."""
    if found.tree is None:
        return None
    with viewing(repository) as scratch:
        old = found.head or empty_tree(scratch)
        return len(list_changes(scratch, old, found.tree)) + len(found.left_out)
