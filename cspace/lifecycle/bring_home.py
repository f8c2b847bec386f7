"""Brings files home from one source: sweep, plan, apply; `--dry-run` is the plan alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cspace.clock import Clock, utc_now
from cspace.events import Report
from cspace.files import Owner
from cspace.migration.apply import apply_plan
from cspace.migration.model import Planned, Policy, Source, Target
from cspace.migration.plan import make_plan
from cspace.project import Project
from cspace.quarantine.shelf import sweep


@dataclass(frozen=True, slots=True)
class Home:
    """Where files come home to.

    Attributes:
        user: `~/.cspace`.
    """

    project: Project
    user: Path
    owner: Owner
    report: Report
    now: Clock = utc_now

    def sweep(self) -> None:
        """Move aside what may not stay in the directories that instances write to."""
        sweep(self.project.root, self.owner, self.report, now=self.now)


@dataclass(frozen=True, slots=True)
class Brought:
    """What was planned for each file of a source, and what came of it.

    Attributes:
        files: every file of the source that belongs here, by path.
        others: how many files of the source belong elsewhere, and stay there.
        written: what was written by this call; nothing by a dry run.
        refused: what changed meanwhile on either side, and was left as it is on both.
        left: what the source still holds alone.
        verified: each file of the source was found in the target with the same hash.
        dispensable: so was all that the source holds.
    """

    source: str
    dry_run: bool
    files: tuple[Planned, ...]
    others: int
    written: tuple[Planned, ...] = ()
    refused: tuple[Planned, ...] = ()
    left: tuple[Planned, ...] = ()
    verified: bool = False
    dispensable: bool = False


def bring(
    source: Source, target: Target, policy: Policy, report: Report, *, dry_run: bool
) -> Brought:
    """Plan, and write what is planned unless it is a dry run, which changes nothing.

    Raises:
        CspaceError: the source can not be read to its end; what was written before is whole, and
            the same call goes on from there.
    """
    plan = make_plan(source, target, policy, report)
    if dry_run:
        return Brought(source.name, dry_run, plan.files, plan.others)
    outcome = apply_plan(plan, source, target, report)
    return Brought(
        source=source.name,
        dry_run=dry_run,
        files=plan.files,
        others=plan.others,
        written=outcome.written,
        refused=outcome.refused,
        left=outcome.left,
        verified=outcome.verified,
        dispensable=outcome.dispensable,
    )
