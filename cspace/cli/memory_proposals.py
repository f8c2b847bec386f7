"""`cspace memory propose|proposals`: changes of memories that wait for a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.body import Body, BodyFile, Stdin, read_body
from cspace.cli.memory_body import Append, Description, Force, TypeName, choose_operation
from cspace.cli.memory_review import (
    age,
    complete_proposal,
    list_review,
    note_hidden,
    open_proposals,
    tell_proposal,
    tell_review,
)
from cspace.cli.memory_scope import (
    PersonaName,
    ProjectName,
    ScopeName,
    Slug,
)
from cspace.cli.options import AsJson
from cspace.clock import utc_now
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.memory.here import Wanted
from cspace.paths import INSIDE

if TYPE_CHECKING:  # they load YAML
    from cspace.memory.changes import Change
    from cspace.memory.proposal import Provenance
    from cspace.memory.proposals import Waiting
    from cspace.memory.review import Review


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(propose)
    app.command()(proposals)


def propose(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Slug,
    stdin: Stdin = None,
    *,
    body: Body = None,
    body_file: BodyFile = None,
    append: Append = False,
    force: Force = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove one that is there.")] = False,
    type_: TypeName = None,
    description: Description = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for who decides.")] = "",
    source: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="ask, session, job, human or import [human]."),
    ] = None,
    ref: Annotated[
        str, typer.Option(metavar="TEXT", help="What it comes from: an id, a URL.")
    ] = "",
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    as_json: AsJson = False,
) -> None:
    """Propose a memory, or a change of one.

    Nothing is changed before a person approves it on the host. Inside an instance it waits in the
    instance's outbox. A text that was rejected before is refused: the exit code is 4.

    Example: cspace memory propose small-commits --body "One change a commit." --scope user
    """
    from cspace.memory.changes import Change, Operation  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    if remove and (append or force or body is not None or body_file or stdin):
        raise UsageError("--remove goes with no other change", hint="leave one of them out")
    operation = Operation.REMOVE if remove else choose_operation(append=append, force=force)
    text = "" if remove else read_body(stdin, body, body_file)
    wanted, origin = Wanted(scope, project, persona), _provenance(deps, source, ref)
    place = deps.here.get(wanted)
    deps.here.check_proposed(place)
    change = Change(place, slug, operation, text, type_, description)
    _show_filed(_file(deps, wanted, change, (origin, reason)), as_json=as_json)


def _provenance(deps: Deps, source: str | None, ref: str) -> Provenance:
    from cspace.memory.proposal import Provenance, Source  # noqa: PLC0415  as above

    given = source or (Source.SESSION if deps.inside else Source.HUMAN)
    try:
        return Provenance(Source(given), ref)
    except ValueError:
        raise UsageError(f"--source {given[:60]!a} is none", hint=", ".join(Source)) from None


def _file(deps: Deps, wanted: Wanted, change: Change, asked: tuple[Provenance, str]) -> Review:
    from cspace.memory.filing import Filing  # noqa: PLC0415  as above
    from cspace.memory.proposals import Proposals  # noqa: PLC0415

    outbox = Path(INSIDE.outbox) if deps.inside else None
    return Filing(Proposals(deps.memory()), deps.here, outbox).file(wanted, change, *asked)


def _show_filed(review: Review, *, as_json: bool) -> None:
    proposal = review.proposal
    if as_json:
        render.show_json(proposal=tell_review(review))
    else:
        render.show_lines([*review.diff.lines, f"proposed {proposal.target}: {proposal.id}"])
    for name in review.duplicates:
        render.note(f"note: {name} has this text already")
    note_hidden(review)
    render.note(f"on the host, a person decides: cspace memory approve {proposal.id}")


def proposals(
    context: typer.Context,
    id_: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="Show one: its first characters do, or the memory's name [list all].",
            autocompletion=complete_proposal,
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List the proposals that wait, or show one with its diff.

    What instances proposed is taken over first. Not inside instances.

    Examples: cspace memory proposals · cspace memory proposals 1f0e
    """
    deps: Deps = context.obj
    queue = open_proposals(deps, "proposals")
    if id_ is not None:
        review = queue.review(id_)
        if as_json:
            render.show_json(proposal=tell_review(review))
        else:
            render.show_lines(list_review(review))
        note_hidden(review)
        return
    found = queue.list_pending()
    if as_json:
        told = [
            tell_proposal(one.proposal)
            | {"stale": one.stale, "duplicates": one.duplicates, "problem": one.problem or None}
            for one in found.waiting
        ]
        render.show_json(proposals=told, skipped=found.skipped)
    elif found.waiting:
        render.show_table(_HEAD, [_row(one) for one in found.waiting])
    else:
        render.note("no proposals wait")
    for skipped in found.skipped:
        render.note(f"note: {skipped.reason}")


_HEAD = ("ID", "AGE", "SOURCE", "INSTANCE", "OPERATION", "MEMORY", "REMARKS")


def _row(one: Waiting) -> tuple[str, ...]:
    proposal = one.proposal
    remarks = [*(["stale"] if one.stale else []), *(f"same as {name}" for name in one.duplicates)]
    remarks += [one.problem] if one.problem else []
    return (
        proposal.id,
        age(proposal.time, utc_now()),
        proposal.provenance.source,
        proposal.instance or "-",
        proposal.change.operation,
        proposal.target,
        ", ".join(remarks),
    )
