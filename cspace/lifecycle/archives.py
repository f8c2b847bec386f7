"""Finds, lists and removes archives. Needs git alone, no engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cspace import git, git_objects
from cspace.clock import parse_age
from cspace.errors import CommandFailed, CspaceError, NotFound, UsageError
from cspace.instance.archive import (
    ROOT,
    Archive,
    list_archives,
    load_manifest,
    remove_archives,
)
from cspace.instance.names import check_name
from cspace.instance.observe import state_names
from cspace.instance.record import load_record
from cspace.instance.snapshot_manifest import Entry, Kind, Manifest
from cspace.paths import instance_paths
from cspace.project import Project

_HEAD = b".git/HEAD"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of `cspace archive list`.

    Attributes:
        branch: what the workspace was on; None for a detached head.
        commits: how many of its branches no ref of the repository reaches but archives.
        files: how many files, those in git directories not counted; `bytes` is their content.
        problem: why the archive can not be read; then the numbers are None.
    """

    name: str
    stamp: str
    time: datetime
    branch: str | None = None
    commits: int | None = None
    files: int | None = None
    bytes: int | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Which archives go; one that is named with its time goes by any rule.

    Attributes:
        keep: the newest of each name that stay.
        before: only older ones go.
        every: all go.
    """

    keep: int | None = None
    before: datetime | None = None
    every: bool = False

    @property
    def says_nothing(self) -> bool:
        return self.keep is None and self.before is None and not self.every


@dataclass(frozen=True, slots=True)
class Pruning:
    """What a prune removes.

    Attributes:
        needed: archives that stay because an instance is being restored from them.
        bytes: what git frees later at the most, compressed; None where it can not tell.
    """

    archives: tuple[Archive, ...]
    needed: tuple[Archive, ...]
    bytes: int | None


def get_archives(repository: Path, name: str | None = None) -> tuple[Archive, ...]:
    """List the archives of one instance or of all, by name, oldest first.

    Raises:
        NotFound: there is none of that name.
    """
    found = list_archives(repository, name if name is None else check_name(name))
    if name is not None and not found:
        raise _unknown(name, "cspace archive list")
    return found


def find_archive(repository: Path, reference: str) -> Archive:
    """Find an archive by `<name>/<stamp>`, or the newest by `<name>`.

    Raises:
        NotFound: there is none.
    """
    name, slash, stamp = reference.partition("/")
    found = get_archives(repository, name)
    if not slash:
        return found[-1]
    exact = next((each for each in found if each.stamp == stamp), None)
    if exact is None:
        known = ", ".join(each.stamp for each in found)
        raise _unknown(reference, f"cspace archive list {name}; there are: {known}")
    return exact


def _unknown(reference: str, hint: str) -> NotFound:
    return NotFound(f"there is no archive {reference!r} in this project", hint=hint)


def list_rows(repository: Path, name: str | None) -> tuple[Row, ...]:
    """List archives with what they hold, by name, oldest first; a damaged one is listed too.

    Raises:
        NotFound: there is none of that name.
    """
    return tuple(_row(repository, each) for each in get_archives(repository, name))


def _row(repository: Path, archive: Archive) -> Row:
    try:
        manifest = load_manifest(repository, archive)
        work = list_work(manifest)
        return Row(
            name=archive.name,
            stamp=archive.stamp,
            time=archive.time,
            branch=find_branch(repository, manifest),
            commits=count_own_commits(repository, manifest),
            files=len(work),
            bytes=sum(entry.size for entry in work),
        )
    except CspaceError as error:
        return Row(archive.name, archive.stamp, archive.time, problem=str(error))


def list_work(manifest: Manifest) -> tuple[Entry, ...]:
    """Return the files that are not git's own."""
    return tuple(
        entry
        for entry in manifest.entries
        if entry.kind is Kind.FILE and b".git" not in entry.path.split(b"/")
    )


def find_branch(repository: Path, manifest: Manifest) -> str | None:
    """Return the branch that the workspace was on; None for a detached head, or without a `.git`.

    Raises:
        CommandFailed: its bytes are lost.
    """
    head = next((entry for entry in manifest.entries if entry.path == _HEAD), None)
    if head is None or not head.blob:
        return None
    said = git_objects.read_blob(repository, head.blob).decode("utf-8", "replace").strip()
    return said.removeprefix("ref: refs/heads/") if said.startswith("ref: refs/heads/") else None


def count_own_commits(repository: Path, manifest: Manifest) -> int:
    """Count the commits on branches and heads of an archive that only archives reach."""
    tips = {one for name, one in manifest.refs if name.endswith("/HEAD") or "/refs/heads/" in name}
    return git_objects.count_commits(repository, tips, ROOT) if tips else 0


def check_age(text: str) -> timedelta:
    """Read `12h`, `30d` or `8w`.

    Raises:
        UsageError: it is none of them.
    """
    age = parse_age(text)
    if age is None:
        raise UsageError(f"{text!r} is no age", hint="hours, days or weeks: 12h, 30d, 8w")
    return age


def plan_prune(project: Project, user: Path, references: Sequence[str], rule: Rule) -> Pruning:
    """Choose the archives to remove; removes none.

    Args:
        references: `<name>` or `<name>/<stamp>`; none is every name.

    Raises:
        UsageError: neither a rule nor a time says which.
        NotFound: a reference names nothing.
    """
    exact = [each for each in references if "/" in each]
    names = [each for each in references if "/" not in each]
    if rule.says_nothing and (names or not exact):
        raise UsageError(
            "say which archives: --keep, --older-than, --all, or NAME/TIME",
            hint="cspace archive list; then for example: cspace archive prune --keep 3 --dry-run",
        )
    if not rule.says_nothing and exact and not names:
        raise UsageError(f"{exact[0]} is one archive already, and a rule chooses among several")
    chosen = {find_archive(project.root, each) for each in exact}
    for name in dict.fromkeys(names) if references else (None,):
        chosen.update(_choose(get_archives(project.root, name), rule))
    needed = _needed(project, user)
    gone = [each for each in chosen if each.reference not in needed]
    return Pruning(
        archives=_sorted(gone),
        needed=_sorted(chosen.difference(gone)),
        bytes=measure(project.root, *(f"{each.ref}/" for each in gone)) if gone else 0,
    )


def _sorted(archives: Iterable[Archive]) -> tuple[Archive, ...]:
    return tuple(sorted(archives, key=lambda each: (each.name, each.time, each.stamp)))


def _choose(archives: Sequence[Archive], rule: Rule) -> list[Archive]:
    newer: dict[str, int] = {}
    chosen = []
    for each in reversed(archives):
        newer[each.name] = newer.get(each.name, 0) + 1
        kept = rule.keep is not None and newer[each.name] <= rule.keep
        if not kept and (rule.before is None or each.time < rule.before):
            chosen.append(each)
    return chosen


def _needed(project: Project, user: Path) -> frozenset[str]:
    """Return what instances are being restored from: their workspaces do not hold it all yet."""
    found = set()
    for name in state_names(user, project.id):
        try:
            found.add(load_record(instance_paths(user, project.id, name).record).restoring)
        except (CspaceError, OSError):
            continue
    return frozenset(reference for reference in found if reference)


def measure(repository: Path, *prefixes: str) -> int | None:
    """Return the bytes on disk that only refs of these prefixes keep; None where git can not tell.

    It can not of a damaged archive, which can be removed all the same.
    """
    refs = git.list_refs(repository, "refs/")
    tips = {one for name, one in refs.items() if name.startswith(prefixes)}
    others = {one for name, one in refs.items() if not name.startswith(prefixes)}
    try:
        return git_objects.size_on_disk(repository, tips, others)
    except CommandFailed:
        return None


def prune(project: Project, pruning: Pruning) -> None:
    """Remove the archives of a plan, all or none.

    Raises:
        Conflict: somebody else changed them meanwhile.
    """
    remove_archives(project.root, pruning.archives)
