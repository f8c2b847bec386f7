"""The commands that look at instances and work inside them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from cspace import proc
from cspace.cli import render
from cspace.cli.options import AsJson, Name, complete_name
from cspace.deps import Deps
from cspace.errors import CommandFailed, Conflict, NotFound, UsageError

if TYPE_CHECKING:  # 30 ms of modules that `cspace --help` has no use for
    from cspace.engine.model import Container, Port
    from cspace.lifecycle.describe import Description

_PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("list")(list_instances)
    app.command()(status)
    app.command("exec", context_settings=_PASS_ON)(execute)
    app.command()(shell)
    app.command(context_settings=_PASS_ON)(attach)
    app.command()(logs)
    app.command()(ports)


def list_instances(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List this project's instances.

    Example: cspace list --json
    """
    from cspace.lifecycle.describe import list_rows  # noqa: PLC0415  see above

    deps: Deps = context.obj
    rows = list_rows(deps.engine, deps.user, deps.project)
    if as_json:
        render.show_json(instances=rows)
    elif rows:
        cells = [(r.name, r.status, r.branch or "-", _published(r.ports) or "-") for r in rows]
        render.show_table(("NAME", "STATUS", "BRANCH", "PORTS"), cells)
    else:
        render.note("no instances in this project; make one: cspace up mercury")


def status(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One instance [all].", autocompletion=complete_name),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show everything about one instance, or about all.

    Example: cspace status mercury
    """
    from cspace.lifecycle.describe import describe, describe_all  # noqa: PLC0415  see above

    deps: Deps = context.obj
    place = (deps.engine, deps.user, deps.project)
    found = (describe(*place, name),) if name else describe_all(*place)
    if as_json:
        render.show_json(instances=found)
    for each in () if as_json else found:
        render.show_lines(_status_lines(each))


def execute(
    context: typer.Context,
    name: Name,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="A program and its arguments, after --."),
    ],
) -> None:
    """Run a program inside an instance.

    Its exit code is passed on.

    Example: cspace exec mercury -- git status
    """
    _enter(context.obj, name, _without_dashes(command))


def shell(context: typer.Context, name: Name) -> None:
    """Open a shell inside an instance.

    Example: cspace shell mercury
    """
    _enter(context.obj, name, ["bash", "-l"])


def attach(
    context: typer.Context,
    name: Name,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARGUMENTS]...", help="Arguments for claude, after --."),
    ] = None,
) -> None:
    """Work with Claude Code inside an instance.

    Examples: cspace attach mercury · cspace attach mercury -- --continue
    """
    words = _without_dashes(arguments or [])
    if not words and not on_terminal():
        raise UsageError(
            "attach needs a terminal", hint=f'cspace attach {name} -- --print "What is this?"'
        )
    _enter(context.obj, name, ["claude", *words])


def logs(
    context: typer.Context,
    name: Name,
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on as it is written.")] = False,
    tail: Annotated[int, typer.Option(min=1, help="How many of the last lines.")] = 200,
) -> None:
    """Show what an instance's start-up and main process wrote.

    Example: cspace logs mercury --tail 50
    """
    container = _container(context.obj, name, running=False)
    following = ["--follow"] if follow else []
    # Line by line through the renderer: an agent can write what would move the cursor.
    proc.stream(
        *("docker", "logs", *following, f"--tail={tail}", container.name),
        on_line=lambda line: render.show_lines((line,)),
    )


def ports(context: typer.Context, name: Name, *, as_json: AsJson = False) -> None:
    """Show where an instance's ports are published.

    Example: cspace ports mercury
    """
    from cspace.lifecycle.describe import list_ports  # noqa: PLC0415  see above

    deps: Deps = context.obj
    found = list_ports(deps.engine, deps.user, deps.project, name)
    if as_json:
        render.show_json(ports=found)
    elif found:
        rows = [(str(port.container), f"{port.host}:{port.host_port}") for port in found]
        render.show_table(("CONTAINER", "HOST"), rows)
    else:
        render.note('no ports are published; set "ports": [3000] in .cspace.json')


def _published(ports_: tuple[Port, ...]) -> str:
    return " ".join(f"{port.host}:{port.host_port}->{port.container}" for port in ports_)


def _status_lines(found: Description) -> list[str]:
    pairs = (
        ("status", found.status),
        ("branch", found.branch),
        ("base", found.base),
        ("created", found.created and render.moment(found.created)),
        ("workspace", found.workspace),
        ("container", found.container),
        ("image", found.image),
        ("cspace", found.version),
        ("ports", _published(found.ports) or None),
        ("secrets", " ".join(found.secrets) or None),
        ("egress", found.egress),
        ("problem", found.problem),
    )
    lines = [f"  {key:<10} {value}" for key, value in pairs if value is not None]
    mounts = [
        f"  {'mount':<10} {m.target} <- {m.source}{' (read-only)' if m.read_only else ''}"
        for m in found.mounts
    ]
    return [found.name, *lines, *mounts]


def _container(deps: Deps, name: str, *, running: bool) -> Container:
    """Find an instance's container.

    Raises:
        NotFound: there is no such instance, or it has no container.
        Conflict: it does not run, and must.
    """
    from cspace.engine.model import State  # noqa: PLC0415  see above
    from cspace.instance.names import check_name  # noqa: PLC0415
    from cspace.instance.observe import get_instance  # noqa: PLC0415

    observed = get_instance(deps.engine, deps.user, deps.project.id, check_name(name))
    if observed.container is None:
        raise NotFound(
            f"{name} has no container: it is {observed.status}", hint=f"cspace up {name}"
        )
    if running and observed.container.state in (State.CREATED, State.STOPPED):
        raise Conflict(f"{name} does not run: it is {observed.status}", hint=f"cspace start {name}")
    return observed.container


def _enter(deps: Deps, name: str, command: Sequence[str]) -> NoReturn:
    """Become a program inside an instance, with a terminal where we have one."""
    from cspace.engine.model import State  # noqa: PLC0415  see above

    container = _container(deps, name, running=True)
    if container.state is not State.RUNNING:
        from cspace.lifecycle.seal import ensure_seal  # noqa: PLC0415

        # Somebody may have started it past cspace: nothing that we let in goes ahead of the seal.
        ensure_seal(deps.host(), name)
    terminal = ["--tty"] if on_terminal() else []
    _become("docker", "exec", "--interactive", *terminal, container.name, *command)


def on_terminal() -> bool:
    """Tell whether a person sits in front of us: both ends are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _without_dashes(words: list[str]) -> list[str]:
    """Drop the `--` that ends our own options; any further one is the program's."""
    return words[1:] if words[:1] == ["--"] else words


def _become(*argv: str) -> NoReturn:
    """Replace this process, so that signals and the exit code pass through untouched."""
    sys.stdout.flush()
    try:
        os.execvp(argv[0], argv)  # noqa: S606  no shell is wanted
    except FileNotFoundError:
        raise CommandFailed(
            f"{argv[0]}: program not found on PATH", hint=f"install {argv[0]}, then try again"
        ) from None
