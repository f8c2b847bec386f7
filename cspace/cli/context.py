"""`cspace context`: what a project's people and agents know together."""

from __future__ import annotations

from typing import Annotated

import typer

from cspace.cli import (
    context_change,
    context_git,
    context_history,
    context_log,
    context_playbook,
    entries,
    render,
)
from cspace.cli.doctor import show_diagnoses
from cspace.cli.entries import Limit, Since, Until
from cspace.cli.options import AsJson
from cspace.context.kinds import SECTIONS, Kind
from cspace.deps import Deps
from cspace.errors import NotFound, UsageError

app = typer.Typer()
app.add_typer(context_log.app, name="log")
EMPTY = (
    "no records yet; file one: cspace context log -h;"
    " if there were some, see: cspace context restore --dry-run"
)


@app.command()
def show(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SECTION...|ENTRY]",
            help="Sections (direction, principles, roadmap, decisions, discoveries, findings), or"
            " one entry: its slug, as much of it as tells it apart, or KIND/SLUG [every section].",
            autocompletion=entries.complete_shown,
        ),
    ] = None,
    *,
    since: Since = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Show what agents are told, or one entry as it stands.

    Sections are one page: people's files whole, decisions and discoveries newest first, of findings
    the open and acknowledged ones. An entry comes byte for byte.

    Examples: cspace context show · cspace context show decisions findings --since 2026-04-01
    """
    deps: Deps = context.obj
    sections = {*SECTIONS, *Kind}
    if sections.issuperset(names or ()):
        wanted = tuple(entries.parse_section(name) for name in names or ())
        _show_digest(deps, wanted, since, limit, as_json=as_json)
    elif names and len(names) == 1 and since is None and limit is None:
        _show_entry(deps, names[0], as_json=as_json)
    else:
        raise UsageError(
            "show takes sections, or one entry without --since and --limit",
            hint=f"the sections are {', '.join(SECTIONS)}",
        )


def _show_digest(
    deps: Deps, sections: tuple[str, ...], since: Since, limit: Limit, *, as_json: bool
) -> None:
    from cspace.context import digest, listing  # noqa: PLC0415  load YAML

    period = entries.period(since)
    store = deps.context_to_read()
    most = limit or listing.DEFAULT_LIMIT
    found = digest.read_context(store, sections, period=period, limit=most)
    if as_json:
        render.show_json(text=found.text, skipped=found.skipped)
    else:
        render.show_document(found.text.encode("utf-8"))
        render.note_skipped(found.skipped, entries.DOCTOR)


def _show_entry(deps: Deps, given: str, *, as_json: bool) -> None:
    from cspace.context.naming import get_entry_name  # noqa: PLC0415  as above

    store = deps.context_to_read()
    entries.show_entry(store, get_entry_name(store.root, given), as_json=as_json)


@app.command("list")
def list_entries(
    context: typer.Context,
    *,
    kind: Annotated[
        list[Kind] | None,
        typer.Option(
            metavar="KIND",
            help="decision, discovery or finding; may be repeated [all].",
            parser=entries.parse_kind,
            autocompletion=entries.complete_kind,
        ),
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List decisions, discoveries and findings, newest first.

    Example: cspace context list --kind decision --since 2026-04-01
    """
    from cspace.context import listing  # noqa: PLC0415  as above

    deps: Deps = context.obj
    found = listing.list_entries(
        deps.context_to_read(),
        tuple(kind or Kind),
        period=entries.period(since, until),
        limit=limit or listing.DEFAULT_LIMIT,
    )
    if as_json:
        render.show_json(entries=found.entries, left_out=found.left_out, skipped=found.skipped)
    else:
        rows = [(one.date or "-", one.kind, one.slug, one.title) for one in found.entries]
        filtered = kind or since or until
        empty = "nothing to list" if filtered else EMPTY
        entries.show_listing(found, rows, ("DATE", "KIND", "SLUG", "TITLE"), empty=empty)


@app.command()
def search(
    context: typer.Context,
    query: Annotated[
        list[str],
        typer.Argument(metavar="QUERY...", help="""Words; '"quoted words"' stand together."""),
    ],
    *,
    section: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SECTION",
            help=f"{', '.join(SECTIONS)}; may be repeated [all].",
            autocompletion=entries.complete_section,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most this many [10].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find entries by words, the best first.

    Case and accents do not matter. Where nothing is found the exit code is 3.

    Example: cspace context search float rounding --section findings
    """
    from cspace.context import search as core  # noqa: PLC0415  as above

    deps: Deps = context.obj
    words = " ".join(query)
    wanted = tuple(map(entries.parse_section, section or ()))
    most = limit or core.DEFAULT_LIMIT
    found = core.search_context(deps.context_to_read(), words, wanted, limit=most)
    if as_json:
        render.show_json(hits=found.entries, left_out=found.left_out, skipped=found.skipped)
    else:
        render.show_lines(
            line
            for hit in found.entries
            for line in (f"{hit.section}/{hit.slug}  {hit.title}", f"    {hit.snippet}")
        )
        entries.note_left_out(found)
    if not found.entries:
        raise NotFound(f"nothing holds a word of {words!r}", hint="cspace context list")


@app.command()
def doctor(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Say what is wrong in the context's files.

    Each with the command that repairs it.

    It changes nothing itself. Where something is found the exit code is 8.

    Example: cspace context doctor
    """
    from cspace.doctor.context_checks import examine_context  # noqa: PLC0415  as above

    deps: Deps = context.obj
    show_diagnoses(examine_context(deps.context_to_read()), as_json=as_json)


context_change.register(app)
context_git.register(app)
context_history.register(app)
context_playbook.register(app)
