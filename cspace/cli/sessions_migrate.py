"""`cspace sessions migrate`: transcripts of legacy volumes."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cspace.cli import plans, render
from cspace.cli.options import AsJson, DryRun, complete_name
from cspace.cli.plans import KeepBoth, ListVolumes, Theirs, VolumeName
from cspace.deps import Deps
from cspace.errors import EngineUnavailable, PartialFailure

if TYPE_CHECKING:
    from cspace.lifecycle.batch import Outcome
    from cspace.lifecycle.bring_home import Brought
    from cspace.lifecycle.sessions_migration import Choice


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("migrate")(migrate)


def migrate(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    *,
    volume: VolumeName = None,
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose transcripts they are [as the volume is named].",
            autocompletion=complete_name,
        ),
    ] = None,
    list_volumes: ListVolumes = False,
    dry_run: DryRun = False,
    theirs: Theirs = False,
    keep_both: KeepBoth = False,
    as_json: AsJson = False,
) -> None:
    """Copy transcripts out of the Claude homes of legacy instances.

    Of all this project's volumes, into ~/.cspace/sessions. Everything else in them, credentials
    too, stays where it is.

    Examples: cspace sessions migrate --dry-run · cspace sessions migrate --instance mercury
    """
    from cspace.lifecycle import sessions_migration as core  # noqa: PLC0415  not for `--help`

    deps: Deps = context.obj
    policy = plans.parse_policy(theirs=theirs, keep_both=keep_both)
    if list_volumes:
        flags = {"--volume": volume, "--instance": instance, "--dry-run": dry_run}
        plans.refuse_beside_list(flags | {"--theirs": theirs, "--keep-both": keep_both})
        plans.show_candidates(deps, homes_only=True, as_json=as_json)
        return
    home = deps.home_of_files
    choice = core.choose(deps.engine, home.project.root.name, volume, instance)
    outcomes = core.migrate(deps.engine, home, choice.chosen, policy, dry_run=dry_run)
    _show(choice, outcomes, as_json=as_json)


def _show(choice: Choice, outcomes: tuple[Outcome[Brought], ...], *, as_json: bool) -> None:
    """Print what came of each volume.

    Raises:
        CspaceError: the failure of the only one.
        PartialFailure: some failed.
        Conflict: something changed meanwhile.
    """
    instances = {one.volume: one.instance for one in choice.chosen}
    if as_json:
        volumes = [_document(instances[each.name], each) for each in outcomes]
        render.show_json(volumes=volumes, unclear=choice.unclear)
    for each in outcomes:
        if each.result is not None and not as_json:
            render.show_lines([f"{each.name} -> {instances[each.name]}"])
            plans.show_brought(each.result)
        if each.result is not None:
            plans.note_left(each.result)
    for one in choice.unclear:
        named = f"--volume {shlex.quote(one.volume)} --instance {shlex.quote(one.instance)}"
        render.note(
            f"note: {one.volume} may be of another project; if it is yours:"
            f" cspace sessions migrate {named}"
        )
    _raise_failures(outcomes)
    plans.refuse_changed(*(each.result for each in outcomes if each.result is not None))


def _document(instance: str, outcome: Outcome[Brought]) -> dict[str, Any]:
    done = plans.document(outcome.result) if outcome.result is not None else {}
    return {"volume": outcome.name, "instance": instance, **done, "error": outcome.error}


def _raise_failures(outcomes: tuple[Outcome[Brought], ...]) -> None:
    errors = {each.name: each.error for each in outcomes if each.error is not None}
    first = next(iter(errors.values()), None)
    # An engine that has gone is one failure, and no trait of the volumes.
    gone = len(errors) == len(outcomes) and isinstance(first, EngineUnavailable)
    if first is not None and (len(outcomes) == 1 or gone):
        raise first
    for volume, error in errors.items():
        render.note(f"{volume}: {error}")
    if errors:
        raise PartialFailure(f"{len(errors)} of {len(outcomes)} failed: {', '.join(errors)}")
