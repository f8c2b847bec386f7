"""Where the body of what a command writes comes from: its options, a file, or stdin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cspace.cli.typed import STDIN, decode, read_named, read_stdin
from cspace.errors import UsageError

Stdin = Annotated[str | None, typer.Argument(metavar="[-]", help="Read the body from stdin.")]
Body = Annotated[
    str | None, typer.Option("--body", metavar="TEXT", help="Markdown; - reads it from stdin.")
]
BodyFile = Annotated[
    Path | None, typer.Option("--body-file", metavar="FILE", help="A file with the body.")
]


def read_body(stdin: str | None, body: str | None, file: Path | None) -> str:
    """Return the body that one of the three names.

    Raises:
        UsageError: none does, or two do, or it is no text.
    """
    content = read_body_bytes(stdin, body, file)
    return decode("--body-file" if file is not None else "the body", content)


def read_body_bytes(stdin: str | None, body: str | None, file: Path | None) -> bytes:
    """Return the bytes that one of the three names, in whatever encoding.

    Raises:
        UsageError: none does, or two do, or they can not be read, or are too many.
    """
    if stdin not in (None, STDIN):
        raise UsageError(
            f"{stdin!r} is not -", hint="a text goes after --body, a file's name after --body-file"
        )
    if sum(one is not None for one in (stdin, body, file)) != 1:
        raise UsageError(
            "the body has to come from one place",
            hint="one of: --body TEXT, --body-file FILE, or - for stdin",
        )
    if file is not None and str(file) != STDIN:
        return read_named("--body-file", file)
    if body is not None and body != STDIN:
        return body.encode("utf-8", "surrogateescape")
    return read_stdin("the body", "--body TEXT, --body-file FILE, or a pipe that holds one")
