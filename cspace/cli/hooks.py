"""`cspace hooks install|status|uninstall`: what Claude Code on this host is told of memories."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from cspace.cli import render
from cspace.cli.ask import agree
from cspace.cli.options import AsJson, Yes
from cspace.deps import Deps
from cspace.errors import CspaceError, UsageError
from cspace.owner import find_owner

if TYPE_CHECKING:
    from cspace.hooks.settings_file import SettingsFile

app = typer.Typer()
T = TypeVar("T")


@app.command()
def install(context: typer.Context, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Have Claude Code on this host told what memories there are.

    Adds one SessionStart hook to your own settings.json and leaves every other byte of it alone;
    shows the difference and asks. The hook reads names only, and its answer has no memory in it.

    Example: cspace hooks install
    """
    from cspace.hooks import installation as core  # noqa: PLC0415  few commands do

    settings = _load(context.obj)
    after = _said(settings, lambda text: core.install(text, _command()))
    _apply(settings, after, yes=yes, as_json=as_json)
    if _said(settings, core.is_disabled):
        render.note(f"note: {settings.path} says disableAllHooks, so Claude Code runs no hook")


@app.command()
def uninstall(context: typer.Context, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Take the hook out of Claude Code's settings, and nothing else.

    Example: cspace hooks uninstall
    """
    from cspace.hooks import installation as core  # noqa: PLC0415  few commands do

    settings = _load(context.obj)
    _apply(settings, _said(settings, core.uninstall), yes=yes, as_json=as_json)


@app.command()
def status(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Say whether the hook is in Claude Code's settings.

    Example: cspace hooks status
    """
    from cspace.hooks import installation as core  # noqa: PLC0415  few commands do

    settings = _load(context.obj)
    state = _said(settings, lambda text: core.installed(text, _command()))
    disabled = _said(settings, core.is_disabled)
    if as_json:
        render.show_json(path=str(settings.path), state=state, command=_command(), off=disabled)
        return
    render.show_lines([f"{state} in {settings.path}"])
    if state is not core.Installed.YES:
        render.note("to install it: cspace hooks install")
    if disabled:
        render.note("note: disableAllHooks is set there, so Claude Code runs no hook")


def _command() -> str:
    from cspace.hooks.installation import hook_command  # noqa: PLC0415  few commands do

    return hook_command(sys.executable)


def _load(deps: Deps) -> SettingsFile:
    from cspace.hooks.settings_file import find_settings, load_settings  # noqa: PLC0415

    if deps.inside:
        raise UsageError(
            "an instance has its hooks from its start", hint="on the host: cspace hooks install"
        )
    return load_settings(find_settings(deps.home, deps.environ), deps.user)


def _said(settings: SettingsFile, ask: Callable[[str], T]) -> T:
    """Ask about the text, and name the file where it is broken."""
    from cspace.hooks.installation import BrokenSettings  # noqa: PLC0415  few commands do

    try:
        return ask(settings.text)
    except BrokenSettings as error:
        raise CspaceError(
            f"{settings.path}: {error}", hint=f"mend it first; nothing was changed: {settings.path}"
        ) from None


def _apply(settings: SettingsFile, after: str, *, yes: bool, as_json: bool) -> None:
    changed = after != settings.text
    if not as_json:
        _show(settings, after)
    if changed:
        if not yes:
            agree(f"Write {settings.target}?", "nothing was written", as_json=as_json)
        settings.write(after, find_owner())
    if as_json:
        render.show_json(path=str(settings.path), target=str(settings.target), changed=changed)
    else:
        render.note(f"wrote {settings.target}" if changed else "nothing to do: it is so already")


def _show(settings: SettingsFile, after: str) -> None:
    if settings.target != settings.path:
        render.note(f"note: {settings.path} is a link; the change goes to {settings.target}")
    name = str(settings.target)
    before = settings.text.splitlines()
    render.show_lines(difflib.unified_diff(before, after.splitlines(), name, name, lineterm=""))
