"""`cspace plugin install|status|uninstall`: commands and hooks for Claude Code on this host."""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import typer

from cspace.cli import plugin_log, render
from cspace.cli.ask import agree
from cspace.cli.options import AsJson, Yes
from cspace.deps import Deps
from cspace.errors import UsageError
from cspace.owner import find_owner
from cspace.paths import plugin_directory

if TYPE_CHECKING:
    from cspace.hooks.plugin_install import Installation

app = typer.Typer()
app.add_typer(plugin_log.app, name="log")


@app.command()
def install(context: typer.Context, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Give Claude Code the commands /cs:p, /cs:i, /cs:c and more.

    Writes a plugin below ~/.cspace and has the program claude read it there, in your settings. It
    keeps memories with commits, and says in one line how many there are. Again after an update.

    Example: cspace plugin install
    """
    installation = _find(context.obj)
    before = installation.state()
    if before.is_whole:
        _done(installation, "nothing to do: it is so already", changed=False, as_json=as_json)
        return
    if not as_json:
        render.show_lines(installation.plan(before))
    if not yes:
        agree("Install the plugin?", "nothing was changed", as_json=as_json)
    installation.install(find_owner())
    said = "installed; sessions that start from now on have /cs:p, /cs:i, /cs:c"
    _done(installation, said, changed=True, as_json=as_json)


@app.command()
def uninstall(context: typer.Context, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Take the plugin out of Claude Code again, and remove it.

    Memories stay where they are, in the repositories.

    Example: cspace plugin uninstall
    """
    installation = _find(context.obj)
    if not yes:
        where = installation.directory
        agree(f"Remove the plugin and {where}?", "nothing was changed", as_json=as_json)
    changed = installation.uninstall()
    said = "uninstalled" if changed else "nothing to do: it is not installed"
    _done(installation, said, changed=changed, as_json=as_json)


@app.command()
def status(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Say whether the plugin is installed.

    Example: cspace plugin status
    """
    installation = _find(context.obj)
    found = installation.state()
    if as_json:
        render.show_json(
            state=found.word,
            path=str(installation.directory),
            files=found.files,
            registered=found.registered,
            enabled=found.enabled,
        )
        return
    render.show_lines([f"{found.word}: {installation.directory}"])
    if not found.is_whole:
        render.note("to install it: cspace plugin install")


def _find(deps: Deps) -> Installation:
    from cspace.hooks.claude_program import find_claude  # noqa: PLC0415  few commands do
    from cspace.hooks.plugin import plugin_files  # noqa: PLC0415
    from cspace.hooks.plugin_install import Installation  # noqa: PLC0415

    if deps.inside:
        raise UsageError(
            "an instance has the plugin from its start", hint="on the host: cspace plugin install"
        )
    files: dict[PurePosixPath, str] = plugin_files(sys.executable)
    directory: Path = plugin_directory(deps.user)
    return Installation(directory, files, find_claude(deps.environ))


def _done(installation: Installation, said: str, *, changed: bool, as_json: bool) -> None:
    if as_json:
        render.show_json(path=str(installation.directory), changed=changed)
    else:
        render.note(said)
