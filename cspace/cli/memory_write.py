"""`cspace memory write|edit|rm|mv`: what a person changes, each after its diff and a yes."""

from __future__ import annotations

from typing import Annotated

import typer

from cspace.cli import render
from cspace.cli.body import Body, BodyFile, Stdin, read_body
from cspace.cli.editor import edited
from cspace.cli.memory_body import Append, Description, Force, TypeName, choose_operation
from cspace.cli.memory_desk import Desk
from cspace.cli.memory_scope import (
    PersonaName,
    ProjectName,
    ScopeName,
    Slug,
    complete_slug,
)
from cspace.cli.options import AsJson, Yes
from cspace.deps import Deps
from cspace.memory.here import Wanted


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(write)
    app.command()(edit)
    app.command()(rm)
    app.command()(mv)


def write(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Slug,
    stdin: Stdin = None,
    *,
    body: Body = None,
    body_file: BodyFile = None,
    append: Append = False,
    force: Force = False,
    type_: TypeName = None,
    description: Description = None,
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
