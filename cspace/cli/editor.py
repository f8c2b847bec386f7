"""Lets a person edit a copy of a text, and never loses what they typed."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from cspace import proc
from cspace.cli.inside import on_terminal
from cspace.cli.render import note
from cspace.errors import CommandFailed, UsageError

FALLBACK = "vi"
MAX_NAME = 100


@contextlib.contextmanager
def edited(name: str, content: bytes, environ: Mapping[str, str]) -> Iterator[bytes]:
    """Open a copy in the person's editor, and give what they made of it.

    Where the editor or the block fails, a changed copy is kept, and a note says where.

    Args:
        name: of the copy, for the editor's title; its end says what kind of text it is.

    Raises:
        UsageError: no editor is set and there is no terminal for the usual one.
        CommandFailed: the editor failed.
    """
    command = editor_command(environ)
    directory = Path(tempfile.mkdtemp(prefix="cspace-edit-"))
    copy = directory / name[-MAX_NAME:]
    try:
        copy.write_bytes(content)
        yield _converse(command, copy)
    except BaseException:
        if _holds_work(copy, content):
            note(f"note: your text is kept in {copy}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
        raise
    shutil.rmtree(directory, ignore_errors=True)


def editor_command(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the editor and its arguments, from VISUAL, else EDITOR, else vi; no shell reads them.

    Raises:
        UsageError: the variable can not be split into words, or there is no terminal for vi.
    """
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(variable, ""))
        except ValueError as error:
            raise UsageError(
                f"{variable} is not a command: {error}", hint=f"export {variable}=nano"
            ) from None
        if words:
            return tuple(words)
    if not on_terminal():
        raise UsageError(
            "there is no terminal to edit on, and neither VISUAL nor EDITOR is set",
            hint="export EDITOR=nano, on a terminal",
        )
    return (FALLBACK,)


def _converse(command: tuple[str, ...], copy: Path) -> bytes:
    code = proc.converse(*command, copy)
    if code:
        raise CommandFailed(
            f"the editor {shlex.join(command)} ended with code {code}; nothing was written",
            hint="choose another one: export EDITOR=nano",
        )
    try:
        return copy.read_bytes()
    except FileNotFoundError:
        raise CommandFailed("the editor removed the copy; nothing was written") from None


def _holds_work(copy: Path, content: bytes) -> bool:
    """Tell whether an editor left anything beside what it was given: a changed copy, or its own."""
    if {path.name for path in copy.parent.iterdir()} - {copy.name}:
        return True
    try:
        return copy.read_bytes() != content
    except FileNotFoundError:
        return False
    except OSError:
        return True
