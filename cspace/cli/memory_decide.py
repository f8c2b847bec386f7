"""`cspace memory approve|reject|rebase`: what becomes of a proposal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cspace.cli import render
from cspace.cli.ask import agree
from cspace.cli.editor import edited
from cspace.cli.memory_review import (
    complete_proposal,
    list_review,
    note_hidden,
    open_proposals,
    tell_proposal,
    tell_review,
)
from cspace.cli.options import AsJson, Yes
from cspace.deps import Deps
from cspace.errors import CspaceError, PartialFailure, UsageError

if TYPE_CHECKING:  # they load YAML
    from cspace.memory.proposals import Proposals
    from cspace.memory.review import Review

Ids = Annotated[
    list[str],
    typer.Argument(
        metavar="ID...",
        help="As `proposals` shows them; the first characters do, or a memory's name.",
        autocompletion=complete_proposal,
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(approve)
    app.command()(reject)
    app.command()(rebase)


def approve(
    context: typer.Context,
    ids: Ids,
    *,
    edit: Annotated[
        bool, typer.Option("--edit", help="Change the result in your editor first.")
    ] = False,
    allow_hidden: Annotated[
        bool, typer.Option("--allow-hidden", help="Also write characters that nobody can see.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Write what was proposed, after its diff and your yes.

    Exactly the bytes of the diff are written. Where the memory changed since the proposal was made
    nothing is, and the exit code is 4: see `rebase`. Not inside instances.

    Examples: cspace memory approve 1f0e --yes · cspace memory approve 1f0e --edit
    """
    deps: Deps = context.obj
    queue = open_proposals(deps, "approve ID")

    def decide(id_: str) -> dict[str, Any]:
        review = queue.review(id_)
        _show(review, as_json=as_json)
        queue.check(review, allow_hidden=allow_hidden or edit)
        if edit:
            return _approve_edited(deps, queue, review, allow_hidden=allow_hidden, yes=yes)
        return _write(queue, review, allow_hidden=allow_hidden, yes=yes, as_json=as_json)

    if edit and as_json:
        raise UsageError("--edit and --json do not go together", hint="leave one of them out")
    _show_each("approved", ids, decide, as_json=as_json)


def _approve_edited(
    deps: Deps, queue: Proposals, review: Review, *, allow_hidden: bool, yes: bool
) -> dict[str, Any]:
    """Let a person change the result, show the new diff, and write that after the same yes."""
    from cspace.memory.editing import complete_edited  # noqa: PLC0415  loads YAML
    from cspace.memory.review import revise  # noqa: PLC0415

    if review.after is None:
        raise UsageError(
            f"proposal {review.proposal.id} removes a memory: there is nothing to edit",
            hint=f"cspace memory approve {review.proposal.id}",
        )
    with edited(f"{review.proposal.change.slug}.md", review.after, deps.environ) as text:
        changed = text != review.after
        after = complete_edited(text, queue.store.now()) if changed else text
        new = revise(review, after)
        queue.check(new, allow_hidden=allow_hidden)
        if changed:
            render.show_lines(["", "as you edited it:", *new.diff.lines])
            note_hidden(new)
        return _write(queue, new, allow_hidden=allow_hidden, yes=yes, as_json=False)


def _show(review: Review, *, as_json: bool) -> None:
    if not as_json:
        render.show_lines(list_review(review))
    note_hidden(review)


def _write(
    queue: Proposals, review: Review, *, allow_hidden: bool, yes: bool, as_json: bool
) -> dict[str, Any]:
    if not yes:
        what = "Remove" if review.after is None else "Write"
        # A long text may draw what looks like a diff's end; it does not draw this line.
        lines = f"+{review.diff.added} -{review.diff.removed}"
        agree(f"{what} {review.proposal.target} ({lines})?", "nothing was written", as_json=as_json)
    written = queue.approve(review, allow_hidden=allow_hidden)
    return tell_review(review) | {"path": str(written.path), "after": written.after}


def reject(
    context: typer.Context,
    ids: Ids,
    *,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why; told to who proposes the same again.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Close proposals without changing a memory.

    The same text is not taken for the same scope again. Not inside instances.

    Example: cspace memory reject 1f0e --reason "the linter says this already"
    """
    queue = open_proposals(context.obj, "reject ID")

    def decide(id_: str) -> dict[str, Any]:
        return tell_proposal(queue.reject(id_, reason))

    _show_each("rejected", ids, decide, as_json=as_json)


def rebase(
    context: typer.Context,
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="As `proposals` shows it; the first characters do, or the memory's name.",
            autocompletion=complete_proposal,
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Make a stale proposal anew against what is there now.

    Nothing is written: look at the new diff, then approve it. Not inside instances.

    Example: cspace memory rebase 1f0e
    """
    review = open_proposals(context.obj, "rebase ID").rebase(id_)
    if as_json:
        render.show_json(proposal=tell_review(review))
    else:
        render.show_lines(list_review(review))
    note_hidden(review)
    render.note(f"made anew; to write it: cspace memory approve {review.proposal.id}")


def _show_each(
    done: str, ids: list[str], decide: Callable[[str], dict[str, Any]], *, as_json: bool
) -> None:
    """Decide about each of several; what fails does not keep the others.

    Raises:
        CspaceError: the only one failed.
        PartialFailure: some failed.
    """
    told: list[dict[str, Any]] = []
    failed: list[tuple[str, CspaceError]] = []
    for id_ in dict.fromkeys(ids):
        try:
            told.append(decide(id_))
        except CspaceError as error:
            failed.append((id_, error))
        else:
            if not as_json:
                one = told[-1]
                render.show_lines([f"{done} {one['id']}: {one['scope']}/{one['slug']}"])
    if failed and not told and len(failed) == 1:
        raise failed[0][1]
    if as_json:
        errors = [{"id": id_, "error": error} for id_, error in failed]
        render.show_json(**{done: told, "failed": errors})
    if failed:
        raise PartialFailure(
            "\n".join(f"{render.printable(id_)} is not {done}: {error}" for id_, error in failed)
        )
