"""`cspace sessions list|show|update|doctor`: session notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.doctor import show_diagnoses
from cspace.cli.options import AsJson
from cspace.cli.typed import decode, read_given
from cspace.deps import Deps, make_deps
from cspace.errors import CspaceError, UsageError
from cspace.events import ignore

if TYPE_CHECKING:
    from cspace.sessions.place import Place, Session


def complete_instance(incomplete: str) -> list[str]:
    """Complete an instance that left sessions."""
    try:
        places = _places(make_deps(ignore), None)
    except CspaceError:
        return []
    return [place.instance for place in places if place.instance.startswith(incomplete)]


def complete_session(incomplete: str) -> list[str]:
    """Complete a session's id."""
    try:
        sessions = _sessions(_places(make_deps(ignore), None))
    except CspaceError:
        return []
    return [session.id for session in sessions if session.id.startswith(incomplete)]


def complete_section(incomplete: str) -> list[str]:
    """Complete a section of notes."""
    from cspace.sessions.sections import NAMES  # noqa: PLC0415  only when a shell asks

    return [name for name in NAMES if name.lower().startswith(incomplete.lower())]


Instance = Annotated[
    str | None,
    typer.Argument(
        metavar="[INSTANCE]",
        help="Whose; of every instance by default. Not inside an instance.",
        autocompletion=complete_instance,
    ),
]
SessionId = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="A session's id, or its beginning [the newest; inside a session its own].",
        autocompletion=complete_session,
    ),
]


def _section_option(help_text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        "--section", metavar="NAME", help=help_text, autocompletion=complete_section
    )
    return option


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("list")(list_sessions)
    app.command()(show)
    app.command()(update)
    app.command("doctor")(sessions_doctor)


def list_sessions(
    context: typer.Context, instance: Instance = None, *, as_json: AsJson = False
) -> None:
    """List sessions of this project's instances, newest first.

    Example: cspace sessions list mercury
    """
    from cspace.sessions.store import load_title  # noqa: PLC0415  only this group

    places = _places(context.obj, instance)
    titled = [
        (one, load_title(place, one))
        for one in _sessions(places)
        for place in places
        if place.instance == one.instance
    ]
    if as_json:
        rows = [render.plain(one) | {"title": title} for one, title in titled]
        render.show_json(sessions=rows)
    elif titled:
        head = ("INSTANCE", "SESSION", "CHANGED", "TRANSCRIPT", "NOTES", "TITLE")
        render.show_table(head, [_row(one, title) for one, title in titled])
    else:
        render.note("no sessions yet; agents start them: cspace attach NAME")


def _row(one: Session, title: str) -> tuple[str, ...]:
    size = "-" if one.size is None else render.size(one.size)
    notes = "-" if one.notes is None else render.size(one.notes)
    return (one.instance, one.id, render.moment(one.changed), size, notes, title or "-")


def show(
    context: typer.Context,
    instance: Instance = None,
    *,
    session: SessionId = None,
    section: Annotated[
        str | None, _section_option("Only this section, as its author gave it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the notes of a session, the newest by default.

    Example: cspace sessions show mercury --section "Current State"
    """
    from cspace.sessions import budget, sections, store  # noqa: PLC0415  only this group

    name = _section_name(section) if section else None
    place, found = _find(context.obj, instance, session)
    notes = store.load_notes(place, found)
    names = [name] if name else [one.name for one in sections.find_sections(notes)]
    texts = {one: sections.read_section(notes, one) or "" for one in names}
    if as_json:
        render.show_json(
            session=found,
            path=store.notes_path(place, found),
            tokens=budget.estimate_tokens(notes),
            excess=budget.list_excess(notes),
            sections=texts,
        )
    else:
        text = f"{texts[name]}\n" if name else notes
        render.show_document(text.encode("utf-8", "surrogateescape"))


def update(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    instance: Instance = None,
    *,
    section: Annotated[str, _section_option("Which one to replace; case does not matter.")],
    session: SessionId = None,
    body: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Its new text; - reads it from stdin.")
    ] = None,
    body_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file that holds its new text.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replace one section of a session's notes.

    All else in the file stays. It is made where there is none.
    What exceeds the budget is written, and said.

    Example: cspace sessions update --section "Current State" --body "Parser done, tests red."
    """
    from cspace.owner import find_owner  # noqa: PLC0415  only this command
    from cspace.sessions.store import update_section  # noqa: PLC0415

    name, text = _section_name(section), _body(body, body_file)
    place, found = _find(context.obj, instance, session)
    done = update_section(place, found, name, text, owner=find_owner())
    for excess in done.excess:
        render.note(f"note: {excess}; nothing was cut, please shorten it")
    if done.twice:
        render.note(f"note: {name} stands there more than once, and the first was replaced")
    if as_json:
        render.show_json(updated=done)
    else:
        render.show_lines([f"section  {done.section}", f"path     {done.path}"])


def _body(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise UsageError(
            "give the text either as --body or as --body-file",
            hint="--body TEXT; --body - reads stdin",
        )
    if file is None:
        return read_given("--body", text or "")
    return decode("--body-file", file.read_bytes()).removesuffix("\n").removesuffix("\r")


def sessions_doctor(
    context: typer.Context, instance: Instance = None, *, as_json: AsJson = False
) -> None:
    """Say what is wrong with session notes, and what repairs it.

    Sections over 2,000 tokens or 12,000 in all, by an estimate of four bytes a token; sections that
    are missing, there twice or out of order; notes without transcript; files that do not belong
    there. Changes nothing.

    Example: cspace sessions doctor
    """
    from cspace.doctor.session_checks import examine_sessions  # noqa: PLC0415  only this command

    found = examine_sessions(_places(context.obj, instance))
    show_diagnoses(found, as_json=as_json, said="sessions doctor found")


def _places(deps: Deps, instance: str | None) -> tuple[Place, ...]:
    from cspace.instance.names import check_name  # noqa: PLC0415  only this group
    from cspace.sessions import place  # noqa: PLC0415

    inside = deps.environ.get("CSPACE_INSTANCE")
    if inside and instance:
        raise UsageError(
            f"INSTANCE {instance!r} can not be given inside an instance, which sees its own",
            hint="cspace sessions list",
        )
    if inside:
        return (place.inside_place(inside),)
    only = check_name(instance) if instance else None
    return place.list_places(deps.user, deps.project.id, only)


def _sessions(places: tuple[Place, ...]) -> tuple[Session, ...]:
    from cspace.sessions.place import list_sessions  # noqa: PLC0415  only this group

    found = [session for place in places for session in list_sessions(place)]
    return tuple(sorted(found, key=lambda one: one.changed, reverse=True))


def _find(deps: Deps, instance: str | None, wanted: str | None) -> tuple[Place, Session]:
    from cspace.sessions.place import get_session  # noqa: PLC0415  only this group

    places = _places(deps, instance)
    if deps.environ.get("CSPACE_INSTANCE"):
        # Claude Code sets it for the programs that it starts.
        wanted = wanted or deps.environ.get("CLAUDE_CODE_SESSION_ID")
    found = get_session(_sessions(places), wanted)
    return next(place for place in places if place.instance == found.instance), found


def _section_name(text: str) -> str:
    from cspace.sessions.sections import NAMES  # noqa: PLC0415  only this group

    found = complete_section(text)
    exact = [name for name in found if name.lower() == text.lower()]
    if not text or len(exact or found) != 1:
        raise UsageError(
            f"--section {text!r} is none of the ten", hint=f"one of {', '.join(NAMES)}"
        )
    return (exact or found)[0]
