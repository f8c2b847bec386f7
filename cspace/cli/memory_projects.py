"""`cspace memory projects` and `persona`: whose memory this repository and you at work have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.memory_scope import complete_persona, complete_project
from cspace.cli.options import AsJson
from cspace.deps import Deps

if TYPE_CHECKING:
    from cspace.memory.projects import Known

projects = typer.Typer(help="List, choose and forget names of projects.")
persona = typer.Typer(help="Show and choose the active persona.")
Project = Annotated[
    str, typer.Argument(metavar="NAME", help="A project.", autocompletion=complete_project)
]


def register(app: typer.Typer) -> None:
    """Add the groups to their group."""
    app.add_typer(projects, name="projects")
    app.add_typer(persona, name="persona")


@projects.callback(invoke_without_command=True)
def _list_by_default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_projects(context)


@persona.callback(invoke_without_command=True)
def _show_by_default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show_persona(context)


@projects.command("list")
def list_projects(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List which repository has which project's memory.

    Example: cspace memory projects list
    """
    deps: Deps = context.obj
    found = deps.here.projects.list()
    if as_json:
        render.show_json(projects=found)
    elif found:
        render.show_table(("NAME", "REPOSITORY"), [(one.name, _where(one)) for one in found])
    else:
        render.note("no project has a name yet; the first cspace memory write gives it one")


@projects.command()
def use(context: typer.Context, name: Project, *, as_json: AsJson = False) -> None:
    """Let this repository have the memory of a project.

    For one that was moved, or that shares a memory with another clone. Every worktree follows.

    Example: cspace memory projects use web
    """
    deps: Deps = context.obj
    known = deps.use_project(name)
    if as_json:
        render.show_json(project=known)
    else:
        render.show_lines([f"{known.directory} has projects/{name}"])


@projects.command()
def forget(context: typer.Context, name: Project, *, as_json: AsJson = False) -> None:
    """Take a name from its repositories; the memories stay.

    Example: cspace memory projects forget web
    """
    deps: Deps = context.obj
    deps.memory_to_change()
    gone = deps.here.projects.forget(name)
    if as_json:
        render.show_json(forgotten=gone)
    else:
        render.show_lines(f"{one.directory} has projects/{name} no longer" for one in gone)


@persona.command("use")
def use_persona(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A persona.", autocompletion=complete_persona)
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Make a persona the active one; instances get it at their next up.

    Example: cspace memory persona use reviewer
    """
    deps: Deps = context.obj
    deps.memory_to_change()
    deps.here.personas.use(name)
    if as_json:
        render.show_json(persona=name)
    else:
        render.show_lines([name])
    if name not in deps.here.personas.names():
        render.note(f"note: nothing is remembered for it yet: cspace memory write --persona {name}")


@persona.command()
def clear(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Let no persona be active.

    Example: cspace memory persona clear
    """
    deps: Deps = context.obj
    deps.memory_to_change()
    deps.here.personas.clear()
    if as_json:
        render.show_json(persona=None)
    else:
        render.note("no persona is active")


@persona.command("show")
def show_persona(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Print the active persona.

    Example: cspace memory persona show
    """
    deps: Deps = context.obj
    name = deps.here.persona()
    if as_json:
        render.show_json(persona=name, personas=deps.here.personas.names())
    elif name:
        render.show_lines([name])
    else:
        render.note("no persona is active; choose one: cspace memory persona use NAME")


def _where(known: Known) -> str:
    if known.directory is None:
        return "none here: cspace memory projects use it, in its repository"
    return str(known.directory) + ("" if known.present else "  (gone)")
