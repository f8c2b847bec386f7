"""`cspace notes configure`: what git itself does with notes, where a person asks for it."""

from __future__ import annotations

from typing import Annotated

import typer

from cspace.cli.git_settings import show_changes
from cspace.cli.notes_options import Remote
from cspace.cli.options import AsJson, DryRun
from cspace.deps import Deps


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(configure)


def configure(
    context: typer.Context,
    remote: Remote = None,
    *,
    undo: Annotated[bool, typer.Option("--undo", help="Take it back, and only that.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Have git fetch notes, and carry them along.

    git fetch then brings the remote's notes beside yours, for the next sync, and git commit --amend
    and git rebase copy a commit's notes to the new one. Changes this repository's own git
    configuration and shows how; what is pushed stays as it is.

    Examples: cspace notes configure · cspace notes configure --undo
    """
    from cspace.notes.configure import configure as apply  # noqa: PLC0415  as needed

    deps: Deps = context.obj
    store = deps.notes()
    done = apply(store.repository, store.place, remote, undo=undo, dry_run=dry_run)
    show_changes(done.changes, done.notices, dry_run=dry_run, as_json=as_json)
