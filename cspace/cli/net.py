"""`cspace net`: what instances may reach, and what they were refused."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

import typer

from cspace import git
from cspace.cli import render
from cspace.cli.options import AsJson, complete_name
from cspace.deps import Deps
from cspace.owner import find_owner

if TYPE_CHECKING:
    from cspace.egress.refusals import Refusal
    from cspace.lifecycle.allowing import Verdict

REFUSED = 1

app = typer.Typer()

Host = Annotated[str, typer.Argument(metavar="HOST", help="A name, like pypi.org.")]


@app.command()
def log(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One instance [all].", autocompletion=complete_name),
    ] = None,
    *,
    limit: Annotated[int, typer.Option(min=1, help="How many, the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show what this project's instances were refused, the newest last.

    The same request again is counted. Host names are what an agent asked for.

    Examples: cspace net log · cspace net log mercury --limit 10
    """
    from cspace.lifecycle.refused import list_refusals  # noqa: PLC0415  not for `--help`

    deps: Deps = context.obj
    found = list_refusals(deps.engine, deps.project.id, name=name)[-limit:]
    if as_json:
        render.show_json(refusals=found)
    elif found:
        head = ("LAST", "INSTANCE", "METHOD", "HOST", "TIMES", "WHY")
        render.show_table(head, [_row(each) for each in found])
    else:
        render.note("nothing was refused since the proxy was started")


@app.command()
def check(context: typer.Context, host: Host, *, as_json: AsJson = False) -> None:
    """Say whether instances may reach a host, by which rule, and what refuses it.

    Exits with 0 where they may, and with 1 where they may not.

    Example: cspace net check pypi.org
    """
    from cspace.lifecycle.allowing import check_host  # noqa: PLC0415  loads the settings

    deps: Deps = context.obj
    origin = git.remote_url(deps.project.root, "origin")
    found = check_host(host, deps.survey_settings(), origin)
    if as_json:
        render.show_json(verdict=found)
    else:
        render.show_lines([_describe(found)])
        if found.hint:
            render.note(f"hint: {found.hint}")
    if not found.allowed:
        raise typer.Exit(REFUSED)


@app.command()
def allow(context: typer.Context, host: Host, *, as_json: AsJson = False) -> None:
    """Let this project's instances reach a name, at once.

    Adds it to firewall.domains of .cspace.local.json. *.example.com is for all names below it too.

    Example: cspace net allow example.com
    """
    from cspace.lifecycle import allowing  # noqa: PLC0415  as above
    from cspace.lifecycle.egress import reload_proxy  # noqa: PLC0415
    from cspace.settings.local import add_domain  # noqa: PLC0415

    deps: Deps = context.obj
    root = deps.project.root
    doors = allowing.Doors(
        add=functools.partial(add_domain, deps.user, root, find_owner()),
        reload=lambda: reload_proxy(deps.host()),
    )
    done = allowing.allow(host, deps.survey_settings, git.remote_url(root, "origin"), doors)
    if as_json:
        render.show_json(allowed=done)
        return
    where = f"added to {done.file}" if done.file else "a rule allows it already"
    render.show_lines([f"{done.pattern} is allowed: {where}"])
    if not done.in_force:
        render.note("not in force: files of this project are not trusted; see: cspace trust")
    if not done.enabled:
        render.note("firewall.enabled is false: every name is allowed")


def _describe(found: Verdict) -> str:
    rule = f"{found.rule}, " if found.rule else ""
    return f"{found.host} is {'allowed' if found.allowed else 'refused'}: {rule}{found.reason}"


def _row(found: Refusal) -> tuple[str, ...]:
    port = "" if found.port is None else f":{found.port}"
    return (
        render.moment(found.last),
        found.instance or found.address,
        found.method,
        f"{found.host}{port}",
        str(found.times),
        found.why.words,
    )
