"""`cspace memory write|edit|rm|mv`: what a person changes, each after its diff and a yes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.editor import edited
from cspace.cli.memory_desk import Desk
from cspace.cli.memory_scope import (
    PersonaName,
    ProjectName,
    ScopeName,
    Slug,
    complete_slug,
    complete_type,
)
from cspace.cli.options import AsJson, Yes
from cspace.cli.typed import STDIN, decode, read_named, read_stdin
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.memory.here import Wanted

if TYPE_CHECKING:  # they load YAML
    from cspace.memory.changes import Operation


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(write)
    app.command()(edit)
    app.command()(rm)
    app.command()(mv)


def write(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Slug,
    stdin: Annotated[
        str | None, typer.Argument(metavar="[-]", help="Read the body from stdin.")
    ] = None,
    *,
    body: Annotated[
        str | None, typer.Option("--body", metavar="TEXT", help="Markdown; - reads it from stdin.")
    ] = None,
    body_file: Annotated[
        Path | None, typer.Option("--body-file", metavar="FILE", help="A file with the body.")
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add to one that is there.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace one that is there.")] = False,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="feedback, project, user, reference or global [by the scope].",
            autocompletion=complete_type,
        ),
    ] = None,
    description: Annotated[
        str | None, typer.Option(metavar="TEXT", help="One line [the body's first].")
    ] = None,
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Write a memory, after its diff and your yes.

    One that is there needs --append, which keeps all but the time, or --force, which replaces the
    body and keeps unknown keys. Not inside instances, which propose.

    Example: cspace memory write integration-tests --body "They hit a real database." --yes
    """
    from cspace.memory.changes import Change  # noqa: PLC0415  loads YAML

    text = read_body(stdin, body, body_file)
    operation = choose_operation(append=append, force=force)
    desk = Desk.at(context.obj, Wanted(scope, project, persona), yes=yes, as_json=as_json)
    desk.change(Change(desk.scope, slug, operation, text, type_, description))


def edit(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Slug,
    *,
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Edit a memory, its front matter too.

    Your editor, VISUAL or EDITOR, gets a copy; then you see the diff. Where another changed the
    memory meanwhile nothing is written, the exit code is 4, and your copy is kept.

    Example: cspace memory edit integration-tests
    """
    from cspace.memory.changes import Change, Operation  # noqa: PLC0415  loads YAML
    from cspace.memory.editing import complete_edited, damage_of  # noqa: PLC0415  as above

    deps: Deps = context.obj
    desk = Desk.at(deps, Wanted(scope, project, persona), yes=yes, as_json=as_json)
    before = desk.store.read(desk.scope, slug)
    with edited(f"{slug}.md", before, deps.environ) as text:
        if text == before:
            render.note("nothing changed; an editor that returns at once has to wait: code --wait")
            return
        after = complete_edited(text, desk.store.now())
        if broken := damage_of(before, after):
            render.note(f"note: {broken}")
        desk.apply(Change(desk.scope, slug, Operation.OVERWRITE), before, after)


def rm(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Slug,
    *,
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove a memory, after its diff and your yes.

    Example: cspace memory rm integration-tests --yes
    """
    from cspace.memory.changes import Change, Operation  # noqa: PLC0415  loads YAML

    desk = Desk.at(context.obj, Wanted(scope, project, persona), yes=yes, as_json=as_json)
    before = desk.store.read(desk.scope, slug)
    desk.apply(Change(desk.scope, slug, Operation.REMOVE), before, None)


def mv(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Slug,
    target: Annotated[
        str,
        typer.Argument(
            metavar="[SCOPE/]NEW",
            help="Its new name, or scope and name.",
            autocompletion=complete_slug,
        ),
    ],
    *,
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give a memory another name or scope.

    What else it holds stays, byte for byte. A name that is taken is refused.

    Examples: cspace memory mv tests integration-tests · cspace memory mv tests user/tests
    """
    desk = Desk.at(context.obj, Wanted(scope, project, persona), yes=yes, as_json=as_json)
    place, _, new = target.rpartition("/")
    there = desk.beside(Wanted(scope=place)) if place else desk
    desk.move(slug, there, new)


def read_body(stdin: str | None, body: str | None, file: Path | None) -> str:
    """Return the body that one of the three names.

    Raises:
        UsageError: none does, or two do, or it is no text.
    """
    if stdin not in (None, STDIN):
        raise UsageError(
            f"{stdin!r} is not -", hint="a text goes after --body, a file's name after --body-file"
        )
    if sum(one is not None for one in (stdin, body, file)) != 1:
        raise UsageError(
            "the body has to come from one place",
            hint="one of: --body TEXT, --body-file FILE, or - for stdin",
        )
    if file is not None and str(file) != STDIN:
        return decode("--body-file", read_named("--body-file", file))
    if body is not None and body != STDIN:
        return body
    return decode("the body", read_stdin("the body"))


def choose_operation(*, append: bool, force: bool) -> Operation:
    """Return what is to be done to a memory.

    Raises:
        UsageError: two things are.
    """
    from cspace.memory.changes import Operation  # noqa: PLC0415  as above

    if append and force:
        raise UsageError("--append and --force say two things", hint="leave one of them out")
    if append:
        return Operation.APPEND
    return Operation.OVERWRITE if force else Operation.CREATE
