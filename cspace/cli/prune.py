"""`cspace prune`: removes what cspace left on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.ask import confirm_removal
from cspace.cli.options import AsJson, DryRun, Yes
from cspace.deps import Deps
from cspace.errors import PartialFailure

if TYPE_CHECKING:  # the engine's library and the settings, for which `cspace --help` has no use
    from cspace.lifecycle.leftovers import Leftover
    from cspace.lifecycle.prune import Pruned


def prune(
    context: typer.Context,
    *,
    discard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROJECT-ID/NAME",
            help="Remove this instance, whose project is gone: its work is lost.",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove what cspace left on this machine.

    Of all your projects, and only what can not hold work. Shows everything first, with sizes and
    reasons; what may hold work is shown with the command that deals with it.

    Examples: cspace prune --dry-run · cspace prune --yes
    """
    from cspace.lifecycle import prune as core  # noqa: PLC0415  see above
    from cspace.lifecycle.leftovers import find_leftovers  # noqa: PLC0415

    deps: Deps = context.obj
    machine = deps.machine()
    if discard:
        for what in discard:
            core.discard(machine, what, dry_run=dry_run)
        lost = () if dry_run else tuple(discard)
        render.show_json(discarded=lost) if as_json else render.show_lines(
            f"{what} {'would be removed' if dry_run else 'removed'}" for what in discard
        )
        return
    found = find_leftovers(machine)
    wanted = any(left.remedy is None for left in found)
    pruned = core.Pruned((), ())
    if not as_json:
        _show(found)
    if wanted and not dry_run:
        if not yes:
            confirm_removal("Remove what has no command beside it?", as_json=as_json)
        pruned = core.prune(machine, found)
    if as_json:
        render.show_json(found=found, removed=pruned.removed, failed=pruned.failed)
    _show_pruned(pruned)


def _show(found: tuple[Leftover, ...]) -> None:
    if not found:
        render.note("nothing is left over")
        return
    rows = [
        (left.kind, left.what, _size(left.size), left.reason, left.remedy or "(removed by prune)")
        for left in found
    ]
    render.show_table(("KIND", "WHAT", "SIZE", "REASON", "COMMAND"), rows)


def _size(size: int | None) -> str:
    return "-" if size is None else render.size(size)


def _show_pruned(pruned: Pruned) -> None:
    if pruned.removed:
        freed = render.size(sum(left.size or 0 for left in pruned.removed))
        render.note(f"{len(pruned.removed)} removed, {freed}")
    for failure in pruned.failed:
        render.note(f"{failure.what}: {failure.error}")
    if pruned.failed:
        raise PartialFailure(f"{len(pruned.failed)} could not be removed")
