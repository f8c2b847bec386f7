"""`cspace archive`: what `cspace down` kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.ask import confirm_removal
from cspace.cli.options import ArchiveName, AsJson, DryRun, Yes, complete_archive
from cspace.deps import Deps

if TYPE_CHECKING:
    from cspace.lifecycle.archive_contents import Contents
    from cspace.lifecycle.archives import Pruning, Row

Line = tuple[str, ...]

app = typer.Typer()


@app.command("list")
def list_archives(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="One instance [all].", autocompletion=complete_archive
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List archives by name, the oldest first.

    COMMITS are those that no ref of this repository reaches but archives. FILES leaves out git's
    own.

    Example: cspace archive list mercury
    """
    from cspace.lifecycle.archives import list_rows  # noqa: PLC0415  pulls in the settings

    deps: Deps = context.obj
    rows = list_rows(deps.project.root, name)
    if as_json:
        render.show_json(archives=rows)
    elif rows:
        head = ("NAME", "TIME", "COMMITS", "FILES", "SIZE", "BRANCH")
        render.show_table(head, [_cells(row) for row in rows])
    else:
        render.note("no archives in this project; cspace down makes them")


def _cells(row: Row) -> tuple[str, ...]:
    if row.problem is not None:
        return (row.name, row.stamp, "?", "?", "?", "damaged: " + row.problem.splitlines()[-1])
    held = (str(row.commits), str(row.files), render.size(row.bytes or 0))
    return (row.name, row.stamp, *held, row.branch or "(no branch)")


@app.command()
def show(
    context: typer.Context,
    archive: ArchiveName,
    *,
    files: Annotated[bool, typer.Option("--files", help="Name every file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what an archive holds, and what was left out with the reason.

    Example: cspace archive show mercury --files
    """
    from cspace.lifecycle.archive_contents import describe_archive  # noqa: PLC0415  as above

    deps: Deps = context.obj
    contents = describe_archive(deps.project.root, archive)
    if not as_json:
        _show_contents(contents)
        if files:
            rows = [
                (render.size(i.size), ", ".join(i.states), _text(i.path)) for i in contents.items
            ]
            _show_part(("SIZE", "STATE", "PATH"), rows)
        return
    document = render.plain(contents)
    if not files:
        del document["items"]
    render.show_json(archive=document)


def _text(raw: bytes) -> str:
    from cspace.instance.snapshot_manifest import show as escaped  # noqa: PLC0415  loaded by then

    return escaped(raw)


def _show_contents(contents: Contents) -> None:
    facts = (
        ("archive", f"{contents.name}/{contents.stamp}"),
        ("made", render.moment(contents.time)),
        ("branch", contents.branch or "(none)"),
        ("commits", f"{contents.commits} that only archives have"),
    )
    render.show_lines(f"{key:<8}  {value}" for key, value in facts)
    for head, rows in _parts(contents):
        _show_part(head, rows)


def _parts(contents: Contents) -> Iterator[tuple[Line, list[Line]]]:
    """Yield the tables of an archive: a head and lines each."""
    shares = [(str(one.files), render.size(one.bytes), one.state) for one in contents.shares]
    yield ("FILES", "SIZE", "STATE"), [*shares]
    kept = [(str(one.number), one.carried, _text(one.path)) for one in contents.repositories]
    yield ("REPOSITORY", "KEPT AS", "PATH"), [*kept]
    refs = [(str(one.number), one.id[:12], one.name) for one in contents.refs]
    yield ("REPOSITORY", "OBJECT", "REF"), [*refs]
    stashes = [(f"stash@{{{i}}}", _text(one)) for i, one in enumerate(contents.stashes)]
    yield ("STASH", "MESSAGE"), [*stashes]
    yield ("LINKED WORKTREE",), [(_text(one),) for one in contents.worktrees]
    lost = [(_text(one.path), render.size(one.size), one.reason) for one in contents.left_out]
    yield ("LEFT OUT", "SIZE", "REASON"), [*lost]
    unread = [(_text(one.path), one.reason) for one in contents.problems]
    yield ("GIT COULD NOT FOLLOW", "REASON"), [*unread]


def _show_part(head: Line, rows: Sequence[Line]) -> None:
    if rows:
        render.show_lines([""])
        render.show_table(head, rows)


@app.command()
def prune(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    archives: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME[/TIME]]...",
            help="Of these instances [all]; with its time, this very archive.",
            autocompletion=complete_archive,
        ),
    ] = None,
    *,
    keep: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Keep the newest N of each name.")
    ] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only older ones: 12h, 30d, 8w.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove archives for good.

    git frees the room when it next collects garbage.

    Examples: cspace archive prune --keep 3 --dry-run · cspace archive prune mercury --all --yes
    """
    from cspace.lifecycle import archives as core  # noqa: PLC0415  pulls in the settings

    deps: Deps = context.obj
    before = datetime.now(UTC) - core.check_age(older_than) if older_than else None
    rule = core.Rule(keep=keep, before=before, every=every)
    planned = core.plan_prune(deps.project, deps.user, archives or (), rule)
    removes = bool(planned.archives) and not dry_run
    if not as_json:
        _show_pruning(planned)
    if removes:
        if not yes:
            how_many = render.count(len(planned.archives), "archive")
            confirm_removal(f"Remove {how_many} for good?", as_json=as_json)
        core.prune(deps.project, planned)
    if as_json:
        render.show_json(removed=removes, **render.plain(planned))
    elif removes:
        render.note(f"{len(planned.archives)} removed")


def _show_pruning(planned: Pruning) -> None:
    for each in planned.needed:
        render.note(f"note: {each.reference} stays: an instance is being restored from it")
    if not planned.archives:
        render.note("nothing to remove")
        return
    render.show_lines(each.reference for each in planned.archives)
    room = "an unknown size" if planned.bytes is None else render.size(planned.bytes)
    render.note(f"git can free {room} after that, at its next garbage collection")
