"""`cspace context commit`, `merge-driver` and `configure`: the context in git."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.git_settings import show_changes
from cspace.cli.options import AsJson, DryRun
from cspace.deps import Deps
from cspace.errors import UsageError

if TYPE_CHECKING:  # loads YAML
    from cspace.context.commit import Committed


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(commit)
    app.command()(configure)
    app.command("merge-driver")(merge_driver)


def commit(
    context: typer.Context,
    *,
    message: Annotated[
        str | None,
        typer.Option("--message", "-m", help="What it says; made from titles if absent."),
    ] = None,
    removals: Annotated[
        bool, typer.Option("--removals", help="Commit that files vanished, too.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Commit the context, and nothing else.

    What you have staged stays staged. No hook runs. The commit goes to the branch that the main
    worktree is on, since the context lies there, and names the authors of what changed.

    Examples: cspace context commit · cspace context commit --dry-run
    """
    from cspace.context.commit import Wanted  # noqa: PLC0415  loads YAML
    from cspace.lifecycle.context_commit import commit_shared  # noqa: PLC0415

    deps: Deps = context.obj
    store = deps.open_context(deps.project.root)
    done = commit_shared(store, Wanted(message, removals=removals, dry_run=dry_run))
    if not dry_run:
        deps.recorder.record()
    if as_json:
        render.show_json(**render.plain(done), dry_run=dry_run)
        return
    render.show_lines(_summary(done, dry_run=dry_run))
    for line in _left_out(done):
        render.note(f"note: {line}")


def _summary(done: Committed, *, dry_run: bool) -> Iterator[str]:
    if not done.changes:
        yield "nothing to commit"
        return
    where = f"{done.branch or 'a detached HEAD'} in {done.root}"
    yield f"would commit to {where}" if done.commit is None else f"{done.commit[:12]} on {where}"
    yield from (f"  {change.action} {change.path}" for change in done.changes)
    if dry_run:
        yield from ("", *done.message.rstrip().split("\n"))


def _left_out(done: Committed) -> Iterator[str]:
    for one in done.skipped:
        yield f"{render.printable(one.path)} is not committed: {one.reason}"
    yield from (f"{render.printable(path)} vanished, and stays in git" for path in done.left)
    if done.left:
        yield "to remove from git what vanished: cspace context commit --removals"


def configure(
    context: typer.Context,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Take it back, and only that.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Have git merge updates to one finding by itself.

    Two branches that updated it then merge without conflict.

    Adds a merge driver to this repository's own git configuration, and a line to its
    info/attributes; shows what changes.

    Examples: cspace context configure · cspace context configure --undo
    """
    from cspace.context.git_settings import configure as apply  # noqa: PLC0415  loads YAML
    from cspace.git import find_worktree  # noqa: PLC0415

    deps: Deps = context.obj
    worktree = find_worktree(deps.project.root)
    if worktree is None:
        raise UsageError(f"{deps.project.root} is not a work tree any more")
    done = apply(worktree, undo=undo, dry_run=dry_run)
    show_changes(done.changes, done.notices, dry_run=dry_run, as_json=as_json)


def merge_driver(
    ancestor: Annotated[Path, typer.Argument(metavar="ANCESTOR", help="What both began with: %O.")],
    ours: Annotated[Path, typer.Argument(metavar="OURS", help="Gets the result: %A.")],
    theirs: Annotated[Path, typer.Argument(metavar="THEIRS", help="The other side: %B.")],
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="Its name, for messages: %P.")] = "",
) -> None:
    """Merge three versions of a finding; git calls it.

    Every update of both sides stays, once. Ends with 1 where both changed the same part: it is in
    the file twice then, between markers.

    Example: cspace context configure && git merge topic
    """
    from cspace.context.merge_driver import merge_files  # noqa: PLC0415  loads YAML

    merge_files(ancestor, ours, theirs, path or str(ours))
