"""`cspace memory migrate`: a legacy volume into the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cspace.cli import plans, render
from cspace.cli.options import AsJson, DryRun
from cspace.cli.plans import KeepBoth, ListVolumes, MergeIndex, Theirs, VolumeName
from cspace.deps import Deps

if TYPE_CHECKING:
    from cspace.lifecycle.memory_migration import Migrated


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("migrate")(migrate)


def migrate(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    *,
    volume: VolumeName = None,
    list_volumes: ListVolumes = False,
    dry_run: DryRun = False,
    theirs: Theirs = False,
    keep_both: KeepBoth = False,
    merge_index: MergeIndex = False,
    as_json: AsJson = False,
) -> None:
    """Copy a legacy volume with Claude's memory into this project.

    The volume stays. Of a conflict ours stays, unless a flag says otherwise. Without such a volume
    the exit code is 3, without an answer of the engine 6.

    Examples: cspace memory migrate --dry-run · cspace memory migrate --list
    """
    from cspace.lifecycle import memory_migration as core  # noqa: PLC0415  not for `--help`

    deps: Deps = context.obj
    policy = plans.parse_policy(theirs=theirs, keep_both=keep_both, merge_index=merge_index)
    if list_volumes:
        flags = {"--volume": volume, "--dry-run": dry_run, "--theirs": theirs}
        plans.refuse_beside_list(flags | {"--keep-both": keep_both, "--merge-index": merge_index})
        plans.show_candidates(deps, as_json=as_json)
        return
    migrated = core.migrate(deps.engine, deps.home_of_files, volume, policy, dry_run=dry_run)
    if as_json:
        rest = {"removal": migrated.removal, "users": migrated.users}
        render.show_json(volume=migrated.volume, **plans.document(migrated.brought), **rest)
    else:
        plans.show_brought(migrated.brought)
        _show_removal(migrated)
    plans.note_left(migrated.brought)
    plans.refuse_changed(migrated.brought)


def _show_removal(migrated: Migrated) -> None:
    if migrated.removal:
        render.show_lines([f"every file was verified; the volume may go: {migrated.removal}"])
    elif migrated.brought.verified:
        users = ", ".join(migrated.users)
        render.show_lines(
            [f"every file was verified; the volume is, or just was, used by: {users}"]
        )
