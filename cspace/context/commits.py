"""Compares what commits say of findings, `(cs-finding:<slug>)`, with where the findings stand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from cspace.context.records import Entry, Status
from cspace.git_commits import Logged

MARK = "(cs-finding:"
_MARK = re.compile(r"\(cs-finding:([a-z0-9-]{1,200})\)")
_REVERTED = re.compile(r"^This reverts commit ([0-9a-f]{40,64})\b", re.MULTILINE)
_CLOSED = frozenset({Status.RESOLVED.value, Status.WONTFIX.value})


class Mismatch(StrEnum):
    """What does not fit."""

    STILL_OPEN = "resolved in git, but open here"
    UNKNOWN = "marked in git, but not here"
    WITHOUT_COMMIT = "resolved here, but by no commit"


@dataclass(frozen=True, slots=True)
class Mismatched:
    """A finding whose commits and whose status say different things.

    Attributes:
        status: empty for a finding that does not exist.
        commit: the newest commit that names it; empty where there is none.
    """

    kind: Mismatch
    slug: str
    status: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Marked:
    """The commits that name findings.

    Attributes:
        here: those that what is checked out holds; they resolve what they name.
        elsewhere: those of other branches; they resolve it once they are merged.
        whole: whether history is known to its beginning.
    """

    here: tuple[Logged, ...]
    elsewhere: tuple[Logged, ...] = ()
    whole: bool = True


def cross_check(
    findings: Iterable[Entry], marked: Marked, unreadable: frozenset[str] = frozenset()
) -> tuple[Mismatched, ...]:
    """Return what does not fit, by finding.

    A commit that was reverted resolves nothing; nor does one that a finding was reopened after.
    `wontfix` needs no commit, and neither does a name that no commit can write.

    Args:
        unreadable: names of findings that exist, and nothing more is known of them.
    """
    known = {entry.info.slug: entry for entry in findings}
    here, elsewhere = _newest(marked.here), _newest(marked.elsewhere)
    found = [
        Mismatched(Mismatch.UNKNOWN, slug, commit=commit.id)
        for slug, commit in here.items()
        if slug not in known and slug not in unreadable
    ]
    for slug, entry in known.items():
        status = entry.info.status
        if slug in here and status not in _CLOSED and not _reopened(entry, here[slug]):
            found.append(Mismatched(Mismatch.STILL_OPEN, slug, status, here[slug].id))
        named = slug in here or slug in elsewhere or not _MARK.fullmatch(f"{MARK}{slug})")
        if status == Status.RESOLVED and not named and marked.whole:
            found.append(Mismatched(Mismatch.WITHOUT_COMMIT, slug, status))
    return tuple(sorted(found, key=lambda one: (one.slug, one.kind)))


def _newest(commits: tuple[Logged, ...]) -> dict[str, Logged]:
    """Return the newest commit that names each finding and was not taken back."""
    reverts = {commit.id: _REVERTED.findall(commit.message) for commit in commits}
    taken_back: set[str] = set()
    found: dict[str, Logged] = {}
    # From the newest on: a revert that was itself reverted takes nothing back.
    for commit in commits:
        if commit.id in taken_back:
            continue
        taken_back.update(reverts[commit.id])
        if not reverts[commit.id]:
            for slug in _MARK.findall(commit.message):
                found.setdefault(slug, commit)
    return found


def _reopened(entry: Entry, commit: Logged) -> bool:
    """Whether somebody closed a finding and, after the commit, opened it again."""
    closed = False
    for update in entry.updates:
        if closed and update.status not in _CLOSED and update.time.timestamp() >= commit.time:
            return True
        closed = closed or update.status in _CLOSED
    return False
