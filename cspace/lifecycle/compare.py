"""Compares what two agents do: files that both touched, and conflicts that a merge would have."""

from __future__ import annotations

from dataclasses import dataclass

from cspace import git
from cspace.errors import Conflict, UsageError
from cspace.instance.snapshot_git import Scratch
from cspace.instance.work_view import Clash, find_base, list_changes, list_clashes, viewing
from cspace.lifecycle.batch import run_batch
from cspace.lifecycle.bring_back import Brought, bring, require_files
from cspace.lifecycle.host import Host
from cspace.project import Project


@dataclass(frozen=True, slots=True)
class Against:
    """What merging one into the other would do; `problem` is why that can not be said."""

    ours: str
    theirs: str
    clashes: tuple[Clash, ...]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two instances beside each other.

    Attributes:
        base: the newest commit that they share.
        both: files that both changed since then.
        first_only, second_only: how many files only one of them changed.
        merges: the first and the second, then each of them into what is checked out here.
        moving: those whose files changed all the time, so that this is of several moments.
    """

    first: str
    second: str
    base: str
    both: tuple[bytes, ...]
    first_only: int
    second_only: int
    merges: tuple[Against, ...]
    moving: tuple[str, ...]


def compare(host: Host, first: str, second: str, *, committed: bool = False) -> Comparison:
    """Compare two instances' work with each other, and each with the branch here.

    Args:
        committed: leave out what is not committed.

    Raises:
        UsageError: it is twice the same.
        Conflict: they have no history in common.
    """
    if first == second:
        raise UsageError(f"{first} twice", hint=f"alone: cspace diff {first}")
    one, two = _bring_both(host, first, second, committed=committed)
    return compare_work(host.project, one, two)


def compare_work(project: Project, one: Brought, two: Brought) -> Comparison:
    """Compare fetched work of two instances; errors as for `compare`."""
    first, second = one.name, two.name
    for each in (one, two):
        require_files(each, f"cspace compare {first} {second}")
    ours = git.resolve(project.worktree, "HEAD")
    with viewing(project.root) as scratch:
        base = find_base(scratch, one.newest, [two.newest])
        if base is None:
            raise Conflict(f"{first} and {second} have no history in common")
        touched = [_touched(scratch, base, each) for each in (one, two)]
        merges = [_try(scratch, (first, one.newest), (second, two.newest))]
        if ours:
            merges += [_try(scratch, ("HEAD", ours), (b.name, b.newest)) for b in (one, two)]
    return Comparison(
        first=first,
        second=second,
        base=base,
        both=tuple(sorted(touched[0] & touched[1])),
        first_only=len(touched[0] - touched[1]),
        second_only=len(touched[1] - touched[0]),
        merges=tuple(merges),
        moving=tuple(each.name for each in (one, two) if each.moving),
    )


def _bring_both(host: Host, first: str, second: str, *, committed: bool) -> list[Brought]:
    outcomes = run_batch((first, second), lambda name: bring(host, name, committed=committed))
    for outcome in outcomes:
        if outcome.error:
            raise outcome.error
    return [outcome.result for outcome in outcomes if outcome.result]


def _touched(scratch: Scratch, base: str, found: Brought) -> set[bytes]:
    """Return the paths that changed, for a renamed file both of its names."""
    changes = list_changes(scratch, base, found.newest)
    return {path for one in changes for path in (one.path, one.before) if path}


def _try(scratch: Scratch, ours: tuple[str, str], theirs: tuple[str, str]) -> Against:
    try:
        return Against(ours[0], theirs[0], list_clashes(scratch, ours[1], theirs[1]))
    except Conflict as error:
        return Against(ours[0], theirs[0], (), str(error))
