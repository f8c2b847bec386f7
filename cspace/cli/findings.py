"""`cspace findings`: what is known to be wrong or odd, and where it stands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import entries, findings_doctor, render
from cspace.cli.editor import edited
from cspace.cli.entries import FindingName, Limit, Since, Until
from cspace.cli.inside import on_terminal
from cspace.cli.options import AsJson
from cspace.cli.typed import decode, read_given
from cspace.context.kinds import LIVE, Category, Kind, Status
from cspace.deps import Deps
from cspace.errors import UsageError

if TYPE_CHECKING:
    from cspace.context.naming import EntryName
    from cspace.context.store import ContextStore

app = typer.Typer()


@app.command("list")
def list_findings(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    *,
    status: Annotated[
        list[Status] | None,
        typer.Option(
            metavar="STATUS",
            help="open, acknowledged, resolved or wontfix; may be repeated [open, acknowledged].",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Of any status.")] = False,
    category: Annotated[
        list[Category] | None,
        typer.Option(
            metavar="CATEGORY", help="bug, observation or refactor; may be repeated [all]."
        ),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="With this tag; may be repeated [any].")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List findings that are open or acknowledged, newest first.

    Others only with --all or --status.

    Example: cspace findings list --category bug --tag parser
    """
    from cspace.context import listing  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    if every and status:
        raise UsageError("--all and --status say two things", hint="cspace findings list --all")
    statuses = frozenset() if every else frozenset[str](status or LIVE)
    wanted = listing.Wanted(statuses, frozenset(category or ()), frozenset(tag or ()))
    days = entries.period(since, until)
    most = limit or listing.DEFAULT_LIMIT
    found = listing.list_findings(deps.context_to_read(), wanted, period=days, limit=most)
    if as_json:
        render.show_json(findings=found.entries, left_out=found.left_out, skipped=found.skipped)
    else:
        rows = [(one.date or "-", one.status, one.slug, one.title) for one in found.entries]
        hidden = not (every or status)
        empty = (
            "nothing open or acknowledged; of any status: --all" if hidden else "nothing to list"
        )
        entries.show_listing(found, rows, ("DATE", "STATUS", "SLUG", "TITLE"), empty=empty)


@app.command()
def show(context: typer.Context, name: FindingName, *, as_json: AsJson = False) -> None:
    """Show a finding with its history, as it stands in its file.

    Example: cspace findings show 2026-04-14-sums-are-off
    """
    deps: Deps = context.obj
    store = deps.context_to_read()
    entries.show_entry(store, _name(store, name), as_json=as_json)


def _name(store: ContextStore, given: str) -> EntryName:
    from cspace.context.naming import get_entry_name  # noqa: PLC0415  as above

    return get_entry_name(store.root, given, (Kind.FINDING,))


@app.command()
def append(
    context: typer.Context,
    name: FindingName,
    note: Annotated[
        str | None,
        typer.Argument(
            metavar="[NOTE]", help="What is new; - reads it from stdin [an editor asks]."
        ),
    ] = None,
    *,
    status: Annotated[
        Status | None,
        typer.Option(metavar="STATUS", help="open, acknowledged, resolved or wontfix [as it was]."),
    ] = None,
    author: Annotated[str, typer.Option(metavar="NAME", help="Who signs it [you].")] = "",
    as_json: AsJson = False,
) -> None:
    """Add an update to a finding, and set its status if you like.

    Example: cspace findings append 2026-04-14-sums-are-off "Fixed." --status resolved
    """
    deps: Deps = context.obj
    read = deps.context_to_read()
    slug = _name(read, name).slug
    with _written(deps, read, slug, note) as text, deps.context_to_change() as store:
        done = store.append_to_finding(slug, text, status=status, author=author)
    if as_json:
        render.show_json(appended=done)
    else:
        render.show_lines([f"status  {done.status}", f"path    {done.path}"])


@contextlib.contextmanager
def _written(deps: Deps, store: ContextStore, slug: str, note: str | None) -> Iterator[str]:
    """Give a note; where there is none, a person's editor asks for it."""
    from cspace.context.draft import parse_note_draft, render_note_draft  # noqa: PLC0415  as above

    if note is not None:
        yield read_given("note", note)
        return
    if not on_terminal():
        raise UsageError(
            "NOTE is missing, and there is no terminal to ask on",
            hint="give it as text, or as - from stdin",
        )
    info = store.load_entry(Kind.FINDING, slug).info
    draft = render_note_draft(info.title, info.status).encode("utf-8")
    with edited(f"{slug}.md", draft, deps.environ) as after:
        if after == draft:
            raise UsageError(
                "nothing was added: no note was written",
                hint="call it again, and write below the line",
            )
        yield parse_note_draft(info.title, info.status, decode("the note", after))


findings_doctor.register(app)
