"""`cspace notes rescue`: memories whose commits were rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.notes_show import ABBREVIATED, count_memories
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import UsageError

if TYPE_CHECKING:  # `cspace --help` has no use for what git and records need
    from cspace.notes.rescue import Proposal, Rescued


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(rescue)


def rescue(
    context: typer.Context,
    commit: Annotated[
        str | None,
        typer.Argument(metavar="[COMMIT]", help="Only of this orphaned one; goes with --to."),
    ] = None,
    *,
    to: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="Where its memories go, as you choose.")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only propose, as without --apply.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring memories of rewritten commits to the new ones.

    After amend, rebase, squash or cherry-pick: by what a commit changed, and by who made it when.
    Memories are copied, and only with --apply; where several commits could be meant you choose.

    Examples: cspace notes rescue · cspace notes rescue --apply
    """
    from cspace.notes.rescue import (  # noqa: PLC0415  only what it is needed for
        apply_rescue,
        choose_rescue,
        plan_rescue,
    )

    if apply and dry_run:
        raise UsageError("--apply and --dry-run contradict each other", hint="leave one out")
    if (commit is None) != (to is None):
        raise UsageError(
            "COMMIT and --to go together", hint="cspace notes rescue 1a2b3c4 --to HEAD --apply"
        )
    deps: Deps = context.obj
    store = deps.notes()
    planned = (choose_rescue(store, commit, to),) if commit and to else plan_rescue(store)
    done = apply_rescue(store, planned) if apply else ()
    if as_json:
        render.show_json(proposals=list(map(_plain, planned)), rescued=done, applied=apply)
        return
    render.show_lines(_lines(planned))
    _conclude(planned, done, apply=apply)


def _plain(one: Proposal) -> dict[str, object]:
    return {**render.plain(one), "target": one.target}


def _lines(planned: Sequence[Proposal]) -> Iterator[str]:
    for one in planned:
        yield f"{one.commit[:ABBREVIATED]}  {', '.join(one.memories)}"
        for candidate in one.candidates:
            subject = render.printable(candidate.subject)
            yield f"    {one.kind}: {candidate.commit[:ABBREVIATED]} {subject}"
        yield f"    {one.why}"
        if len(one.candidates) != 1:
            short = one.commit[:ABBREVIATED]
            yield f"    choose: cspace notes rescue {short} --to COMMIT --apply"


def _conclude(planned: Sequence[Proposal], done: Sequence[Rescued], *, apply: bool) -> None:
    ready = [one for one in planned if one.target]
    if not planned:
        render.note("no memory is orphaned")
    elif apply:
        render.note(f"{count_memories(sum(len(one.memories) for one in done))} copied")
    elif ready:
        many = count_memories(sum(len(one.memories) for one in ready))
        render.note(f"{many} can be copied: the same command with --apply")
