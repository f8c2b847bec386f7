"""Takes what an agent committed into branches of the host: pull and merge.

Both are in two halves. The first one looks and moves nothing; what it returns names the very
objects that the second one then uses, whatever the agent does meanwhile.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from cspace import git, git_commits
from cspace.errors import CommandFailed, Conflict
from cspace.instance.work import prefix_of
from cspace.instance.work_view import (
    Clash,
    find_base,
    list_clashes,
    list_commits,
    list_sensitive,
    viewing,
)
from cspace.lifecycle.bring_back import Brought, bring, count_uncommitted
from cspace.lifecycle.host import Host
from cspace.lifecycle.take_notes import take_notes
from cspace.project import Project


@dataclass(frozen=True, slots=True)
class Pulling:
    """A pull that was looked at, and moved nothing.

    Attributes:
        target: the host's branch, `cspace/<name>`.
        old: what it is at; None where there is none.
        new: what it will be at.
        base: what the sensitive paths are compared with.
        sensitive: paths that new changes and that do something on the host once checked out.
        uncommitted: how many files are not committed yet, and so do not come along.
        notes_problem: why no commit notes come along although the instance has some.
    """

    name: str
    target: str
    old: str | None
    new: str
    base: str
    sensitive: tuple[bytes, ...]
    commits: int
    uncommitted: int | None
    notes_problem: str | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """A pull that is done.

    Attributes:
        old: where the branch was; equal to new where there was nothing to do.
        commits: how many are new to the branch.
        notices: commit notes that were not merged and why, one sentence each.
    """

    name: str
    branch: str
    old: str | None
    new: str
    commits: int
    uncommitted: int | None
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merging:
    """A merge that was looked at, and moved nothing.

    Attributes:
        onto: the branch that is checked out; `ours` is its commit.
        clashes: the conflicts that it would have.
    """

    pulling: Pulling
    onto: str
    ours: str
    clashes: tuple[Clash, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that is done; `commit` is what the branch is at now, `changed` whether it moved."""

    name: str
    pulled: Pulled
    onto: str
    commit: str
    changed: bool


def plan_pull(host: Host, name: str) -> Pulling:
    """Fetch an instance's work and look what a pull would move.

    Raises:
        Conflict: the host's `cspace/<name>` has commits of its own, or is checked out; or the
            instance has no commit yet.
        CspaceError: as for `bring`.
    """
    return look_at_pull(host.project, bring(host, name))


def look_at_pull(project: Project, found: Brought) -> Pulling:
    """Look what a pull of fetched work would move; errors as for `plan_pull`."""
    root, name, target = project.root, found.name, f"cspace/{found.name}"
    if found.head is None:
        raise Conflict(
            f"{name} has no commit on {found.branch} yet",
            hint=f"what it has not committed: cspace diff {name}",
        )
    old = git.resolve(root, f"refs/heads/{target}")
    new = found.head
    if old and git.is_ancestor(root, new, old):
        new = old  # what is asked for is there
    if old != new:
        _refuse_own(root, found, old)
        _refuse_neighbour(root, name, target)
        _refuse_checked_out(root, name, target)
    with viewing(root) as scratch:
        base = old or found.base
        fresh = list_commits(scratch, new, [old] if old else found.others)
        sensitive = list_sensitive(scratch, base, new)
    left = count_uncommitted(root, found)
    return Pulling(name, target, old, new, base, sensitive, len(fresh), left, found.notes_problem)


def _refuse_own(root: Path, found: Brought, old: str | None) -> None:
    """Only a fast-forward loses nothing of either side."""
    if old and found.head and not git.is_ancestor(root, old, found.head):
        head = f"{prefix_of(found.name)}head"
        raise Conflict(
            f"cspace/{found.name} has commits that {found.name} has not: it is not moved",
            hint=f"to see both: git log --oneline --left-right cspace/{found.name}...{head};"
            f" under another name: git branch from-{found.name} {head};"
            f" if {found.name} only rebased: git branch --force cspace/{found.name} {head}",
        )


def _refuse_neighbour(root: Path, name: str, target: str) -> None:
    """A branch can not be where another one's directory is, nor below another one."""
    above, below = git.list_refs(root, "refs/heads/cspace"), f"refs/heads/{target}/"
    taken = [one for one in above if one == "refs/heads/cspace" or one.startswith(below)]
    if taken:
        other = taken[0].removeprefix("refs/heads/")
        raise Conflict(
            f"{target} can not be beside the branch {other}",
            hint=f"git branch --move {shlex.quote(other)} {shlex.quote(other.replace('/', '-'))}-2;"
            f" then: cspace pull {name}",
        )


def _refuse_checked_out(root: Path, name: str, target: str) -> None:
    places = git.worktrees_on(root, target)
    if places:
        raise Conflict(
            f"{target} is checked out in {places[0]}: it is not moved behind your back",
            hint=f"there: git merge --ff-only {prefix_of(name)}head",
        )


def apply_pull(project: Project, pulling: Pulling) -> Pulled:
    """Move the branch to the commit that was looked at, and merge the instance's commit notes.

    Raises:
        Conflict: somebody moved the branch since it was looked at, or checked it out.
    """
    root = project.root
    if pulling.old != pulling.new:
        _refuse_checked_out(root, pulling.name, pulling.target)
        try:
            git.update_ref(root, f"refs/heads/{pulling.target}", pulling.new, pulling.old)
        except CommandFailed as error:
            raise Conflict(
                f"{pulling.target} can not be moved: {error}", hint=f"cspace pull {pulling.name}"
            ) from error
    notices = take_notes(root, prefix_of(pulling.name))
    if pulling.notes_problem:
        notices = (f"commit notes were left out: {pulling.notes_problem}", *notices)
    return Pulled(
        name=pulling.name,
        branch=pulling.target,
        old=pulling.old,
        new=pulling.new,
        commits=pulling.commits,
        uncommitted=pulling.uncommitted,
        notices=notices,
    )


def plan_merge(host: Host, name: str) -> Merging:
    """Look what merging an instance's commits into the branch that is checked out would do.

    Raises:
        Conflict: no branch is checked out, or something is begun or staged there; or as for
            `plan_pull`.
    """
    _check_ready(host.project, name)  # before a container is started
    return look_at_merge(host.project, bring(host, name))


def look_at_merge(project: Project, found: Brought) -> Merging:
    """Look what merging fetched work would do; errors as for `plan_merge`."""
    name = found.name
    onto = _check_ready(project, name)
    pulling = look_at_pull(project, found)
    ours = git.resolve(project.worktree, "HEAD")
    if ours is None:
        raise Conflict(f"{onto} has no commit yet", hint=f"git merge cspace/{name}")
    with viewing(project.root) as scratch:
        shared = find_base(scratch, pulling.new, [ours]) or pulling.base
        # What was pulled before is checked out only now.
        sensitive = list_sensitive(scratch, shared, pulling.new)
        clashes = list_clashes(scratch, ours, pulling.new)
    both = tuple(sorted({*sensitive, *pulling.sensitive}))
    looked = replace(pulling, base=shared, sensitive=both)
    return Merging(looked, onto, ours, clashes)


def _check_ready(project: Project, name: str) -> str:
    """Return the branch that is checked out, where git could merge into it."""
    worktree = git.find_worktree(project.worktree)
    begun = git_commits.operation_in_progress(worktree.git_directory) if worktree else None
    if begun:
        raise Conflict(f"a {begun} is in progress here", hint=f"end it: git {begun} --continue")
    onto = git_commits.branch_of(project.worktree)
    if onto is None:
        raise Conflict(
            "no branch is checked out: HEAD is detached",
            hint=f"git switch main; or only fetch it: cspace pull {name}",
        )
    if not git_commits.is_clean(project.worktree):
        raise Conflict("something is staged", hint="git commit, or git stash; then again")
    return onto


def apply_merge(project: Project, merging: Merging) -> Merged:
    """Pull, and merge the commit that was looked at, with the person's own message and hooks.

    Raises:
        Conflict: HEAD moved since; git would overwrite something; or the merge has begun and waits
            for conflicts to be resolved, or for the person to commit it.
        CommandFailed: a hook said no.
    """
    place, pulling = project.worktree, merging.pulling
    onto = git_commits.branch_of(place)
    if git.resolve(place, "HEAD") != merging.ours:
        raise Conflict("HEAD moved meanwhile", hint=f"cspace merge {pulling.name}")
    if onto != merging.onto:
        raise Conflict(f"{onto} is checked out now", hint=f"cspace merge {pulling.name}")
    pulled = apply_pull(project, pulling)
    try:
        git_commits.merge(place, pulling.new, pulling.target)
    except CommandFailed as error:
        _explain(place, pulling, error)
        raise
    now = git.resolve(place, "HEAD") or merging.ours
    if not git.is_ancestor(place, pulling.new, now):
        raise Conflict(
            f"git merge made no commit, as branch.{onto}.mergeOptions says",
            hint="git status; then: git commit",
        )
    return Merged(pulling.name, pulled, merging.onto, now, now != merging.ours)


def _explain(place: Path, pulling: Pulling, error: CommandFailed) -> None:
    """Say what a merge that git did not end has left, and what to do."""
    if git.resolve(place, "MERGE_HEAD") is None:
        error.hint = f"nothing was merged; {pulling.target} is pulled. git status; then again"
    elif git_commits.list_unmerged(place, "."):
        raise Conflict(
            f"the merge of {pulling.target} has begun, and has conflicts",
            hint="git status; resolve them and git commit, or git merge --abort",
        ) from error
    else:
        error.hint = "the merge has begun, and waits: git commit, or git merge --abort"
