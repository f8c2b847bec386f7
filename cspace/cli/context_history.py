"""`cspace context history` and `restore`: what was recorded, and how it comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.ask import confirm
from cspace.cli.entries import complete_recorded
from cspace.cli.inside import on_terminal
from cspace.cli.options import AsJson, DryRun, Yes
from cspace.deps import Deps
from cspace.errors import CspaceError, UsageError

if TYPE_CHECKING:
    from cspace.context.restore import Restoration
    from cspace.lifecycle.context_restore import Restored

Entry = Annotated[
    str | None,
    typer.Argument(
        metavar="[ENTRY]",
        help="KIND/SLUG, as much of a slug as tells it apart, direction, … [all].",
        autocompletion=complete_recorded,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(history)
    app.command()(restore)


def history(
    context: typer.Context,
    entry: Entry = None,
    *,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most this many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List what happened to entries, the newest first.

    `git show ID` prints the content of a version.

    Example: cspace context history direction
    """
    from cspace.lifecycle.context_restore import list_changes  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    deps.recorder.record()  # git knows every version that is shown
    found = list_changes(deps.recorder, entry)
    shown, left_out = found[:limit], max(0, len(found) - limit)
    if as_json:
        render.show_json(changes=shown, left_out=left_out)
        return
    rows = [
        (render.moment(one.time), one.action, _who(one.author, one.instance), one.entry,
         one.revision[:12])
        for one in shown
    ]  # fmt: skip
    render.show_table(("TIME", "WHAT", "WHO", "ENTRY", "ID"), rows)
    if left_out:
        render.note(f"{left_out} older left out: raise --limit")


def _who(author: str, instance: str | None) -> str:
    return " of ".join(dict.fromkeys(filter(None, (author, instance)))) or "-"


def restore(
    context: typer.Context,
    entry: Entry = None,
    *,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="As it was then: a day or a time, in ISO 8601."),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Bring records of the context back that were lost.

    Without ENTRY: every record that is missing or went back, in its newest version; with --at what
    is missing, as it was then. What is newer is never overwritten, and what somebody removed with
    cspace comes back only by its name.

    Examples: cspace context restore --dry-run · cspace context restore direction --at 2026-04-14
    """
    from cspace.lifecycle import context_restore as core  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    time = core.parse_moment(at) if at else None
    recorder = deps.recorder
    # A link in the way goes aside first.
    store = None if dry_run else deps.open_context(deps.project.root)
    planned = core.plan_restore(recorder, entry, time)
    if store is not None:
        recorder.record(meant=[one.entry for one in planned])  # the plan names these
    done, refused = None, None
    if not as_json:
        _show_plan(planned)
    if planned and store is not None:
        agreed, refused = _ask(planned, yes=yes, as_json=as_json)
        done = core.apply_restore(store, agreed, recorder)
    _show(planned, done, as_json=as_json)
    if done is not None:
        core.check_restored(done)
    if refused is not None:
        raise refused


def _show_plan(planned: tuple[Restoration, ...]) -> None:
    if not planned:
        render.note("nothing to restore")
        return
    rows = [(one.step, one.entry, render.moment(one.time), one.reason) for one in planned]
    render.show_table(("STEP", "ENTRY", "VERSION OF", "REASON"), rows)


def _ask(
    planned: tuple[Restoration, ...], *, yes: bool, as_json: bool
) -> tuple[tuple[Restoration, ...], CspaceError | None]:
    """Ask before something that exists is replaced.

    Returns what may be done, and the error for what may not: what is missing comes back anyhow.
    """
    missing = tuple(one for one in planned if one.step == "create")
    existing = len(planned) - len(missing)
    if yes or not existing:
        return planned, None
    if as_json or not on_terminal():
        return missing, UsageError(
            f"restore would replace {render.count(existing, 'file')}, and nobody is there to ask",
            hint="cspace context restore --dry-run, then the same command with --yes",
        )
    if not confirm(f"Replace {render.count(existing, 'file')}?"):
        return missing, CspaceError(f"not replaced: {render.count(existing, 'file')}")
    return planned, None


def _show(planned: tuple[Restoration, ...], done: Restored | None, *, as_json: bool) -> None:
    if as_json:
        steps = [
            {"entry": one.entry, "step": one.step, "time": one.time, "reason": one.reason}
            for one in planned
        ]
        failed = [{"entry": entry, "error": error} for entry, error in done.failed] if done else []
        render.show_json(planned=steps, restored=done.entries if done else (), failed=failed)
    elif done is not None:
        render.note(f"{len(done.entries)} restored")
