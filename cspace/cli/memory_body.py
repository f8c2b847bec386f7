"""What a command does to a memory, and the header that it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli.memory_scope import complete_type
from cspace.errors import UsageError

if TYPE_CHECKING:  # it loads YAML
    from cspace.memory.changes import Operation

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
