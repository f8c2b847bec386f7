"""`cspace memory export|import`: a memory that moves between machines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Annotated

import typer

from cspace.cli import plans, render
from cspace.cli.options import AsJson, DryRun
from cspace.cli.plans import KeepBoth, MergeIndex, Theirs
from cspace.cli.typed import STDIN
from cspace.deps import Deps
from cspace.errors import UsageError

File = Annotated[str, typer.Argument(metavar="FILE.tar", help="A file, or - for a pipe.")]


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("export")(export_memory)
    app.command("import")(import_memory)


def export_memory(
    context: typer.Context,
    file: File,
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write Claude's memory of this project into one file.

    With the hash of everything in it. Regular files only: what is left out is said.

    Example: cspace memory export ../memory.tar
    """
    from cspace.lifecycle.memory_transfer import export_to  # noqa: PLC0415  not for `--help`

    deps: Deps = context.obj
    if file == STDIN and as_json:
        raise UsageError("- and --json both want stdout", hint="name a file")
    exported = export_to(deps.home_of_files, _out(file), force=force)
    for one in exported.left_out:
        render.note(f"left out {one.path}: {one.reason}")
    listed = exported.manifest
    if as_json:
        render.show_json(file=file, manifest=listed, size=listed.size, left_out=exported.left_out)
    elif file != STDIN:
        counted = f"{render.count(len(listed.files), 'file')}, {render.size(listed.size)}"
        render.show_lines([f"{counted}: {file}", f"to import it: cspace memory import {file}"])


def import_memory(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    file: File,
    *,
    dry_run: DryRun = False,
    theirs: Theirs = False,
    keep_both: KeepBoth = False,
    merge_index: MergeIndex = False,
    as_json: AsJson = False,
) -> None:
    """Bring an exported memory into this project.

    All of the file is checked before anything is written. Of a conflict ours stays, unless a flag
    says otherwise.

    Examples: cspace memory import ../memory.tar --dry-run · cspace memory import ../memory.tar
    """
    from cspace.lifecycle.memory_transfer import import_from  # noqa: PLC0415  as above

    deps: Deps = context.obj
    policy = plans.parse_policy(theirs=theirs, keep_both=keep_both, merge_index=merge_index)
    brought = import_from(deps.home_of_files, _in(file), policy, dry_run=dry_run)
    if as_json:
        render.show_json(**plans.document(brought))
    else:
        plans.show_brought(brought)
    plans.note_left(brought)
    plans.refuse_changed(brought)


def _out(file: str) -> Path | IO[bytes]:
    if file != STDIN:
        return Path(file).absolute()
    if sys.stdout.isatty():
        raise UsageError("a tar file is nothing for a terminal", hint="name a file, or use a pipe")
    return sys.stdout.buffer


def _in(file: str) -> Path | IO[bytes]:
    if file != STDIN:
        return Path(file).absolute()
    if sys.stdin.isatty():
        raise UsageError("- is for a pipe: stdin is a terminal", hint="name a file")
    return sys.stdin.buffer
