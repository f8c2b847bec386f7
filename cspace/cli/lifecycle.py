"""The commands that make, stop and remove instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cspace.cli import render
from cspace.cli.inside import attach, on_terminal
from cspace.cli.options import (
    All,
    ArchiveName,
    AsJson,
    DryRun,
    Names,
    Sets,
    complete_name,
    parse_flags,
)
from cspace.deps import Deps
from cspace.errors import PartialFailure, UsageError

if TYPE_CHECKING:
    from cspace.instance.plan import Planned
    from cspace.lifecycle.down import Removed
    from cspace.lifecycle.up import Ready


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (up, start, stop, down, restore):
        app.command()(command)


def up(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    names: Names = None,
    *,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, max=64, help="How many, named by planets.")
    ] = 1,
    branch: Annotated[
        str | None, typer.Option(help="The branch of a new workspace [cspace/NAME].")
    ] = None,
    recreate: Annotated[
        bool, typer.Option("--recreate", help="Make the container anew; the workspace stays.")
    ] = False,
    no_attach: Annotated[
        bool, typer.Option("--no-attach", help="Return when ready, on a terminal too.")
    ] = False,
    sets: Sets = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring up instances, each with its own clone.

    An instance is a devcontainer. Running ones are reused. On a terminal, a single one is attached
    to.

    Examples: cspace up mercury · cspace up mercury venus · cspace up -n 4 · cspace up --dry-run
    """
    from cspace.lifecycle import up as core  # noqa: PLC0415  pulls in the settings

    if names and count > 1:
        raise UsageError(f"--count {count} and names say two things", hint=f"cspace up -n {count}")
    deps: Deps = context.obj
    host = deps.host(parse_flags(sets))
    wish = core.Wish(branch=branch, recreate=recreate)
    wanted = tuple(dict.fromkeys(names or ()))
    if dry_run:
        wanted = wanted or core.free_names(host, count)
        _show_plans(tuple(core.plan(host, name, wish) for name in wanted), as_json=as_json)
        return
    wanted = wanted or core.claim_names(host, count)
    _show_ready(wanted, lambda name: core.up(host, name, wish), as_json=as_json)
    if len(wanted) == 1 and not (no_attach or as_json) and on_terminal():
        attach(context, wanted[0])


def start(
    context: typer.Context, names: Names = None, *, every: All = False, as_json: AsJson = False
) -> None:
    """Start stopped instances.

    Example: cspace start mercury
    """
    from cspace.lifecycle import up as core  # noqa: PLC0415  pulls in the settings

    _check_choice(names, every=every)
    host = context.obj.host()
    wanted = _choose(context.obj, names, every=every)
    _show_ready(wanted, lambda name: core.start(host, name), as_json=as_json)


def stop(
    context: typer.Context, names: Names = None, *, every: All = False, as_json: AsJson = False
) -> None:
    """Stop instances; workspace and container stay.

    Example: cspace stop --all
    """
    from cspace.lifecycle import down as core  # noqa: PLC0415  pulls in the settings

    _check_choice(names, every=every)
    host = context.obj.host(teardown=True)
    _show_batch(
        _choose(context.obj, names, every=every),
        lambda name: core.stop(host, name),
        lambda stopped: f"{stopped.name} {'stopped' if stopped.changed else 'was not running'}",
        as_json=as_json,
    )


def down(
    context: typer.Context,
    names: Names = None,
    *,
    every: All = False,
    discard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Remove this one without an archive: its work is lost.",
            autocompletion=complete_name,
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Archive the work of instances, then remove them.

    Their containers, network and directory go; `cspace restore` brings an instance back.

    Examples: cspace down mercury · cspace down --all · cspace down --discard mercury
    """
    from cspace.lifecycle import down as core  # noqa: PLC0415  pulls in the settings
    from cspace.lifecycle.release import release_proxy  # noqa: PLC0415

    host = context.obj.host(teardown=True)
    lost = frozenset(discard or ())
    _check_choice(names, every=every)
    wanted = _choose(context.obj, [*(names or ()), *lost], every=every)
    if dry_run:
        plans = tuple(core.plan(host, name, discard=name in lost) for name in wanted)
        _show_plans(plans, as_json=as_json)
        return
    if every and not wanted:
        release_proxy(host, "")  # what a `down` that was killed left
    _show_batch(
        wanted,
        lambda name: core.down(host, name, discard=name in lost),
        _describe_removed,
        as_json=as_json,
    )


def restore(
    context: typer.Context,
    archive: ArchiveName,
    *,
    new_name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Restore under another name.")
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring an archived instance back, byte for byte.

    `cspace archive list` shows what there is.

    Examples: cspace restore mercury · cspace restore mercury/20260414T103000Z --as venus
    """
    from cspace.lifecycle import restore as core  # noqa: PLC0415  pulls in the settings
    from cspace.lifecycle.up import plan  # noqa: PLC0415

    host = context.obj.host()
    wish = core.find_wish(host, archive)
    name = new_name or archive.partition("/")[0]
    if dry_run:
        _show_plans((plan(host, name, wish),), as_json=as_json)
        return
    _show_ready((name,), lambda each: core.restore(host, each, wish), as_json=as_json)


def _check_choice(names: list[str] | None, *, every: bool) -> None:
    if names and every:
        hint = "leave one of them out; cspace list shows the instances"
        raise UsageError(f"--all and {' '.join(names)} say two things", hint=hint)


def _choose(deps: Deps, names: list[str] | None, *, every: bool) -> tuple[str, ...]:
    """Return the instances that are meant; all of them only when that is said."""
    from cspace.lifecycle.describe import list_rows  # noqa: PLC0415  pulls in the engine's model

    if every:
        rows = list_rows(deps.engine, deps.user, deps.project)
        names = [*(row.name for row in rows), *(names or ())]
        if not names:
            render.note("no instances in this project")
    elif not names:
        raise UsageError("no instance named", hint="name one, or say --all; cspace list shows them")
    return tuple(dict.fromkeys(names))


def _show_ready(names: tuple[str, ...], act: Callable[[str], Ready], *, as_json: bool) -> None:
    _show_batch(names, act, _describe_ready, as_json=as_json)


def _describe_ready(ready: Ready) -> str:
    how = "was running and is reused" if ready.reused else f"is ready after {ready.seconds:.1f} s"
    for notice in ready.notices:
        render.note(f"note: {notice}")
    return f"{ready.name} {how}: branch {ready.branch}, workspace {ready.workspace}"


def _describe_removed(gone: Removed) -> str:
    for notice in gone.notices:
        render.note(f"note: {notice}")
    back = f"; to bring it back: cspace restore {gone.name}" if gone.archive else ""
    return f"{gone.name} removed{back}"


def _show_batch(
    names: tuple[str, ...],
    act: Callable[[str], Any],
    describe: Callable[[Any], str],
    *,
    as_json: bool,
) -> None:
    """Act on every name and show each result; one failure alone is raised as it is."""
    from cspace.lifecycle.batch import run_batch  # noqa: PLC0415  threads, only here

    outcomes = run_batch(names, act)
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if as_json:
        done = [outcome.result for outcome in outcomes if outcome.error is None]
        failures = [{"name": each.name, "error": each.error} for each in failed]
        render.show_json(instances=done, failed=failures)
    else:
        render.show_lines(describe(each.result) for each in outcomes if each.error is None)
    if len(names) == 1 and failed and failed[0].error is not None:
        raise failed[0].error
    for outcome in failed:
        render.note(f"{outcome.name}: {outcome.error}")
    if failed:
        raise PartialFailure(
            f"{len(failed)} of {len(outcomes)} failed: {', '.join(each.name for each in failed)}"
        )


def _show_plans(plans: tuple[Planned, ...], *, as_json: bool) -> None:
    if as_json:
        render.show_json(plans=plans)
        return
    rows = [(plan.name, step.action, step.cause) for plan in plans for step in plan.steps]
    if rows:
        render.show_table(("INSTANCE", "STEP", "CAUSE"), rows)
    else:
        render.show_lines(["nothing to do"])
