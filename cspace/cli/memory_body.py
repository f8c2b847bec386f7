"""What a command writes into a memory: its body, from wherever it comes, and its header."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli.memory_scope import complete_type
from cspace.cli.typed import STDIN, decode, read_named, read_stdin
from cspace.errors import UsageError

if TYPE_CHECKING:  # it loads YAML
    from cspace.memory.changes import Operation

Stdin = Annotated[str | None, typer.Argument(metavar="[-]", help="Read the body from stdin.")]
Body = Annotated[
    str | None, typer.Option("--body", metavar="TEXT", help="Markdown; - reads it from stdin.")
]
BodyFile = Annotated[
    Path | None, typer.Option("--body-file", metavar="FILE", help="A file with the body.")
]
Append = Annotated[bool, typer.Option("--append", help="Add to one that is there.")]
Force = Annotated[bool, typer.Option("--force", help="Replace one that is there.")]
TypeName = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="feedback, project, user, reference or global [by the scope].",
        autocompletion=complete_type,
    ),
]
Description = Annotated[
    str | None, typer.Option(metavar="TEXT", help="One line [the body's first].")
]


def read_body(stdin: str | None, body: str | None, file: Path | None) -> str:
    """Return the body that one of the three names.

    Raises:
        UsageError: none does, or two do, or it is no text.
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
        return decode("--body-file", read_named("--body-file", file))
    if body is not None and body != STDIN:
        return body
    return decode("the body", read_stdin("the body"))


def choose_operation(*, append: bool, force: bool) -> Operation:
    """Return what is to be done to a memory.

    Raises:
        UsageError: two things are.
    """
    from cspace.memory.changes import Operation  # noqa: PLC0415  as above

    if append and force:
        raise UsageError("--append and --force say two things", hint="leave one of them out")
    if append:
        return Operation.APPEND
    return Operation.OVERWRITE if force else Operation.CREATE
