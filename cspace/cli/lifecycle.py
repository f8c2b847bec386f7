"""The commands that make, stop and remove instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.batch import show_batch
from cspace.cli.inside import attach, on_terminal
from cspace.cli.options import (
    All,
    ArchiveName,
    AsJsonLines,
    DryRun,
    GivenSecrets,
    Names,
    Sets,
    choose_instances,
    complete_name,
    parse_flags,
    parse_secrets,
)
from cspace.deps import Deps
from cspace.errors import UsageError

if TYPE_CHECKING:
    from cspace.instance.plan import Planned
    from cspace.lifecycle.down import Removed
    from cspace.lifecycle.host import Host
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
    secrets: GivenSecrets = None,
    sets: Sets = None,
    dry_run: DryRun = False,
    as_json: AsJsonLines = False,
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
    host = deps.host(parse_flags(sets), parse_secrets(secrets))
    wish = core.Wish(branch=branch, recreate=recreate)
    if dry_run:
        wanted = tuple(dict.fromkeys(names or ())) or core.free_names(host, count)
        _show_plans(tuple(core.plan(host, name, wish) for name in wanted), as_json=as_json)
        return
    with core.claimed_names(host, names or (), count) as wanted:
        _show_ready(host, wanted, lambda name: core.up(host, name, wish), as_json=as_json)
    if len(wanted) == 1 and not (no_attach or as_json) and on_terminal():
        attach(context, wanted[0])


def start(
    context: typer.Context,
    names: Names = None,
    *,
    every: All = False,
    secrets: GivenSecrets = None,
    as_json: AsJsonLines = False,
) -> None:
    """Start stopped instances.

    Example: cspace start mercury
    """
    from cspace.lifecycle import up as core  # noqa: PLC0415  pulls in the settings

    wanted = choose_instances(context.obj, names, every=every)
    host = context.obj.host(secrets=parse_secrets(secrets))
    _show_ready(host, wanted, lambda name: core.start(host, name), as_json=as_json)


def stop(
    context: typer.Context, names: Names = None, *, every: All = False, as_json: AsJsonLines = False
) -> None:
    """Stop instances; workspace and container stay.

    Example: cspace stop --all
    """
    from cspace.lifecycle import down as core  # noqa: PLC0415  pulls in the settings

    host = context.obj.host(teardown=True)
    show_batch(
        choose_instances(context.obj, names, every=every),
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
    as_json: AsJsonLines = False,
) -> None:
    """Archive the work of instances, then remove them.

    Their containers, network and directory go; `cspace restore` brings an instance back.

    Examples: cspace down mercury · cspace down --all · cspace down --discard mercury
    """
    from cspace.lifecycle import down as core  # noqa: PLC0415  pulls in the settings
    from cspace.lifecycle.release import release_proxy  # noqa: PLC0415

    host = context.obj.host(teardown=True)
    lost = frozenset(discard or ())
    wanted = choose_instances(context.obj, names, every=every, others=discard or ())
    if dry_run:
        plans = tuple(core.plan(host, name, discard=name in lost) for name in wanted)
        _show_plans(plans, as_json=as_json)
        return
    if every and not wanted:
        release_proxy(host, "")  # what a `down` that was killed left
    show_batch(
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
    secrets: GivenSecrets = None,
    dry_run: DryRun = False,
    as_json: AsJsonLines = False,
) -> None:
    """Bring an archived instance back, byte for byte.

    `cspace archive list` shows what there is.

    Examples: cspace restore mercury · cspace restore mercury/20260414T103000Z --as venus
    """
    from cspace.lifecycle import restore as core  # noqa: PLC0415  pulls in the settings
    from cspace.lifecycle.up import plan  # noqa: PLC0415

    host = context.obj.host(secrets=parse_secrets(secrets))
    wish = core.find_wish(host, archive)
    name = new_name or archive.partition("/")[0]
    if dry_run:
        _show_plans((plan(host, name, wish),), as_json=as_json)
        return
    _show_ready(host, (name,), lambda each: core.restore(host, each, wish), as_json=as_json)


def _show_ready(
    host: Host, names: tuple[str, ...], act: Callable[[str], Ready], *, as_json: bool
) -> None:
    from cspace.lifecycle.limits import warn_of_overcommitment  # noqa: PLC0415  loads settings

    def warn() -> None:
        warn_of_overcommitment(host, names)

    show_batch(names, act, _describe_ready, as_json=as_json, before=warn)


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


def _show_plans(plans: tuple[Planned, ...], *, as_json: bool) -> None:
    if as_json:
        render.show_json(plans=plans)
        return
    rows = [(plan.name, step.action, step.cause) for plan in plans for step in plan.steps]
    if rows:
        render.show_table(("INSTANCE", "STEP", "CAUSE"), rows)
    else:
        render.show_lines(["nothing to do"])
