"""`cspace notes export|import`: memories as lines of JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from cspace.cli import render
from cspace.cli.notes_options import AllowSecret, Namespaces, get_namespaces
from cspace.cli.options import AsJson, DryRun
from cspace.cli.typed import STDIN
from cspace.deps import Deps
from cspace.errors import CspaceError, UsageError
from cspace.files import write_atomic

File = Annotated[str, typer.Argument(metavar="[FILE]", help="A file, or - for a pipe.")]


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("export")(export_all)
    app.command("import")(import_all)


def export_all(
    context: typer.Context,
    file: File = STDIN,
    *,
    namespace: Namespaces = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write memories of commits as lines of JSON.

    All that the notes hold, byte for byte. The commits themselves are not in it.

    Examples: cspace notes export ../notes.jsonl · cspace notes export | jq -r .summary
    """
    from cspace.notes.transfer import export_notes  # noqa: PLC0415  only what it is needed for

    deps: Deps = context.obj
    lines = export_notes(deps.notes(), get_namespaces(namespace) or None)
    if file == STDIN:
        sys.stdout.buffer.writelines(lines)
        return
    path = deps.directory / file
    if path.exists() and not force:
        raise UsageError(f"{path} is there already", hint="another name, or --force")
    write_atomic(path, b"".join(lines), mode=0o600)
    render.note(f"to bring them into a clone: cspace notes import {file}")


def import_all(
    context: typer.Context,
    file: File = STDIN,
    *,
    dry_run: DryRun = False,
    allow_secret: AllowSecret = False,
    as_json: AsJson = False,
) -> None:
    """Bring exported memories into this repository.

    By set: what is here stays, and twice is once. All of the file is read before anything is
    written.

    Examples: cspace notes import ../notes.jsonl --dry-run · cspace notes import ../notes.jsonl
    """
    from cspace.notes.transfer import import_notes  # noqa: PLC0415  only what it is needed for

    deps: Deps = context.obj
    with _opened(deps, file) as lines:
        done = import_notes(deps.notes(), lines, allow_secret=allow_secret, dry_run=dry_run)
    if as_json:
        render.show_json(**render.plain(done), dry_run=dry_run)
        return
    would = "would be " if dry_run else ""
    render.show_lines([f"{render.count(done.new, 'record')} {would}new, of {done.records}"])
    if done.absent:
        many = render.count(len(done.absent), "commit")
        render.note(f"note: {many} of these are not here, so what stands on them is orphaned")


@contextmanager
def _opened(deps: Deps, file: str) -> Iterator[IO[bytes]]:
    if file == STDIN:
        if sys.stdin.isatty():
            raise UsageError("- is for a pipe: stdin is a terminal", hint="name a file")
        yield sys.stdin.buffer
        return
    path: Path = deps.directory / file
    try:
        stream = path.open("rb")
    except OSError as error:
        raise CspaceError(f"{path}: {error.strerror}", hint="name a file of an export") from error
    with stream:
        yield stream
