"""Checks findings against the commits that name them."""

from __future__ import annotations

import shlex

from cspace import git, git_commits
from cspace.context.commits import MARK, Marked, Mismatch, Mismatched, cross_check
from cspace.context.entryfile import parse_entry
from cspace.context.records import Entry, Kind
from cspace.context.store import ContextStore
from cspace.doctor.model import Diagnosis
from cspace.errors import CspaceError
from cspace.project import Project

# As git shortens in the largest repositories.
_SHORT = 12
# Archives of instances hold commits that nobody has merged yet.
_ELSEWHERE = ("--branches", "--remotes", "--glob=refs/cspace/*")


def examine_findings(store: ContextStore, project: Project) -> tuple[Diagnosis, ...]:
    """Compare every finding with the commits whose message holds `(cs-finding:<slug>)`.

    What the main worktree has checked out counts as resolved; commits of other branches only show
    that there is one.
    """
    entries, unreadable = _load(store)
    found = cross_check(entries, _marked(project), frozenset(unreadable))
    return (*unreadable.values(), *map(_diagnosis, found))


def _load(store: ContextStore) -> tuple[list[Entry], dict[str, Diagnosis]]:
    folder = store.folder(Kind.FINDING)
    entries, unreadable = [], {}
    for stem, found in folder.read_all():
        path = folder.path_of(stem)
        if isinstance(found, CspaceError):
            repair = f"look at it and move it away: ls -ld {shlex.quote(str(store.root / path))}"
            unreadable[stem] = Diagnosis("unreadable", str(found), repair)
        else:
            entries.append(parse_entry(Kind.FINDING, stem, str(path), found))
    return entries, unreadable


def _marked(project: Project) -> Marked:
    root = project.root
    head = git.resolve(root, "HEAD")
    here = git_commits.log_with(root, MARK, ["HEAD"]) if head else ()
    elsewhere = (*_ELSEWHERE, "--not", "HEAD") if head else _ELSEWHERE
    return Marked(here, git_commits.log_with(root, MARK, elsewhere), whole=not git.list_cuts(root))


def _diagnosis(one: Mismatched) -> Diagnosis:
    commit, slug = one.commit[:_SHORT], one.slug
    match one.kind:
        case Mismatch.STILL_OPEN:
            problem = f"{slug} is {one.status or 'without a status'}, and {commit} resolves it"
            note = shlex.quote(f"resolved in {commit}")
            repair = f"cspace findings append {slug} --status resolved {note}"
        case Mismatch.UNKNOWN:
            problem = f"{commit} names {slug}, which does not exist"
            repair = f"git show {commit}, and look for it: cspace findings list"
        case Mismatch.WITHOUT_COMMIT:
            problem = f"{slug} is resolved, and no commit names it"
            message = shlex.quote(f"Resolve a finding {MARK}{slug})")
            repair = f"git commit --allow-empty -m {message}"
    return Diagnosis(one.kind.name.lower().replace("_", "-"), problem, repair)
