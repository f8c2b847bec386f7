"""`cspace memory path|reindex|doctor|adopt`: the directories that hold memories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import memory_claude, render
from cspace.cli.doctor import show_diagnoses
from cspace.cli.memory_scope import (
    AllScopes,
    Host,
    PersonaName,
    ProjectName,
    Reading,
    ReadScope,
    ScopeName,
)
from cspace.cli.options import AsJson
from cspace.clock import utc_now
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.memory.here import Wanted

if TYPE_CHECKING:
    from cspace.memory.scopes import Scope


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(path)
    app.command()(reindex)
    app.command()(doctor)
    app.command()(adopt)


def path(
    context: typer.Context,
    *,
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    as_json: AsJson = False,
) -> None:
    """Print the directory of a scope, which need not exist.

    Examples: cspace memory path · cspace memory path --scope user
    """
    deps: Deps = context.obj
    wanted = Wanted(scope, project, persona)
    if Reading(wanted).is_claudes:
        name, directory = "claude", deps.claude_memory().directory
    else:
        found = deps.here.get(wanted)
        name, directory = str(found), deps.memory().directory(found)
    if as_json:
        render.show_json(scope=name, path=directory, exists=directory.is_dir())
    else:
        render.show_lines([str(directory)])


def reindex(
    context: typer.Context,
    *,
    scope: ScopeName = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    every: AllScopes = False,
    as_json: AsJson = False,
) -> None:
    """Make the lines of MEMORY.md anew from the memories.

    Only those between cspace's two markers; every other line stays.

    Example: cspace memory reindex --all
    """
    deps: Deps = context.obj
    store, wanted = deps.memory_to_change(), Wanted(scope, project, persona)
    lines = {str(one): store.reindex(one) for one in _chosen(deps, wanted, every=every)}
    if as_json:
        render.show_json(lines=lines)
    else:
        render.show_lines(f"{name}  {render.count(many, 'line')}" for name, many in lines.items())


def doctor(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    *,
    scope: ReadScope = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    every: AllScopes = False,
    host: Host = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong in memories, each with what to do about it.

    It changes nothing itself. Where something is found the exit code is 8.

    Examples: cspace memory doctor · cspace memory doctor --all
    """
    deps: Deps = context.obj
    reading = Reading(Wanted(scope, project, persona), every, host)
    if reading.is_claudes:
        memory_claude.examine(deps, host=host, as_json=as_json)
        return
    from cspace.doctor.memory_checks import examine_memories  # noqa: PLC0415  loads YAML

    scopes = reading.scopes(deps)
    found = examine_memories(deps.memory(), scopes, utc_now)
    named = list(map(str, scopes))
    show_diagnoses(found, as_json=as_json, said="memory doctor found", scopes=named)


def adopt(
    context: typer.Context,
    workspace: Annotated[
        Path | None,
        typer.Argument(metavar="[DIRECTORY]", help="The orchestrator's workspace [this one]."),
    ] = None,
    *,
    memory: Annotated[
        Path, typer.Option(metavar="DIRECTORY", help="Where its memories lie, from there.")
    ] = Path("memory"),
    undo: Annotated[
        bool, typer.Option("--undo", help="Take it back; its memories stay where they are.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an orchestrator's own directory the scope orchestrator.

    It stays where it is, and is linked. Inside the workspace it is the scope where you are.

    Example: mkdir -p ~/orchestrator/memory && cspace memory adopt ~/orchestrator
    """
    deps: Deps = context.obj
    if undo:
        _release(deps, workspace, as_json=as_json)
        return
    adopted = deps.adopt(workspace or Path(), memory)
    if as_json:
        render.show_json(adopted=adopted)
    else:
        render.show_lines([f"workspace  {adopted.workspace}", f"memory     {adopted.memory}"])


def _release(deps: Deps, workspace: Path | None, *, as_json: bool) -> None:
    from cspace.memory.orchestrator import release  # noqa: PLC0415  only to take it back

    if workspace is not None:
        raise UsageError("--undo takes no directory", hint="cspace memory adopt --undo")
    released = release(deps.memory_to_change().root)
    if as_json:
        render.show_json(released=released)
    else:
        render.show_lines([f"{released.memory} is no scope any more; what is in it stays"])


def _chosen(deps: Deps, wanted: Wanted, *, every: bool) -> tuple[Scope, ...]:
    if every and not wanted.named:
        return deps.memory().scopes()
    if every or wanted.named:
        return Reading(wanted, every).scopes(deps)
    return (deps.here.get(wanted),)
