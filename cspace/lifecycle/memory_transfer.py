"""Moves a memory between machines: into one file, and out of one into a project."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import IO

from cspace.lifecycle.bring_home import Brought, Home, bring
from cspace.migration.exporting import Exported, export_memory, new_file
from cspace.migration.importing import Export, open_export, read_export, wanted
from cspace.migration.model import Policy
from cspace.migration.volumes import memory_target


def export_to(home: Home, out: Path | IO[bytes], *, force: bool) -> Exported:
    """Export the project's memory, to a new file as a rule.

    Args:
        force: replace a file that is there.
    """
    root = home.project.root
    if not isinstance(out, Path):
        return export_memory(root, out, home.now, home.report)
    with new_file(out, home.owner, force=force) as file:
        return export_memory(root, file, home.now, home.report)


def import_from(home: Home, given: Path | IO[bytes], policy: Policy, *, dry_run: bool) -> Brought:
    """Bring an exported memory into the project, after all of it was checked.

    Raises:
        CspaceError: it is not a whole export; nothing was written.
    """
    with _opened(given) as export:
        if not dry_run:
            home.sweep()
        target = replace(memory_target(home.project.root, home.owner), wanted=wanted)
        return bring(export.source, target, policy, home.report, dry_run=dry_run)


def _opened(given: Path | IO[bytes]) -> contextlib.AbstractContextManager[Export]:
    return open_export(given) if isinstance(given, Path) else read_export(given, "stdin")
