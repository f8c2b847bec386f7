"""`cspace init` and `cspace trust`: prepare a repository, and allow what its settings ask for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.ask import confirm
from cspace.cli.inside import on_terminal
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.owner import find_owner

if TYPE_CHECKING:  # pulls in the settings
    from cspace.settings.trust import Ask, Request


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(init)
    app.command()(trust)


def init(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Prepare this repository for cspace.

    Makes .cspace.json, .mcp.json and .cspace/, and adds a line to .gitignore. What is there
    already keeps its content, so it can be run again.

    Example: cspace init && git add -A && git commit -m "Use cspace"
    """
    from cspace.lifecycle.init import init_project  # noqa: PLC0415  loads the context store

    deps: Deps = context.obj
    result = init_project(deps.project.root, find_owner(), deps.report)
    if as_json:
        render.show_json(root=result.root, changed=result.changed, quarantined=result.quarantined)
    elif result.changed:
        render.show_lines([*(f"created or changed {name}" for name in result.changed)])
        render.note("next: git add -A && git commit, then: cspace up mercury")
    else:
        render.show_lines(["nothing to do: this project is prepared"])


def trust(
    context: typer.Context,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Allow it without being asked.")] = False,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Take back all that this project was allowed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Allow what this project's settings ask for.

    Shows what of it widens access, and asks once: again only when those settings change.

    Examples: cspace trust · cspace trust --yes · cspace trust --revoke
    """
    from cspace.settings import trust as core  # noqa: PLC0415  pulls in the settings

    deps: Deps = context.obj
    root = deps.project.root
    if revoke:
        _show_revoked(changed=core.revoke(deps.user, root), as_json=as_json)
        return
    requests = core.list_requests(deps.user, root)
    waiting = [request for request in requests if not request.trusted]
    if not as_json:
        render.show_lines(line for request in requests for line in _describe(request))
    agreed = bool(waiting) and (yes or (not as_json and _agrees()))
    if agreed:
        requests = core.approve(deps.user, root, requests)
    if as_json:
        render.show_json(requests=requests, changed=agreed)
    elif agreed or not waiting:
        render.show_lines(["trusted" if agreed else "nothing to do: nothing waits for trust"])
    if waiting and not agreed:
        raise UsageError(
            "nothing was allowed", hint="to agree without a question: cspace trust --yes"
        )


def _agrees() -> bool:
    """Ask the person in front of us; nobody there is a no."""
    return on_terminal() and confirm("Allow all of this?")


def _show_revoked(*, changed: bool, as_json: bool) -> None:
    if as_json:
        render.show_json(changed=changed)
    else:
        done = "this project is not trusted any more; instances that run keep what they have"
        render.show_lines([done if changed else "nothing to do: this project is not trusted"])


def _describe(request: Request) -> Iterator[str]:
    yield f"{request.path} {'is trusted with' if request.trusted else 'asks for'}"
    for ask in request.asks:
        yield f"  {ask.key}: {ask.allows}"
        yield from (f"    {line}" for line in _values(ask))


def _values(ask: Ask) -> Iterator[str]:
    """Write every value whole and in ASCII: nothing can hide in what a person agrees to."""
    if isinstance(ask.value, dict):
        yield from (f"{name} = {json.dumps(value)}" for name, value in ask.value.items())
    else:
        yield json.dumps(ask.value)
