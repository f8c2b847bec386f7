"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cspace.cli import render
from cspace.deps import Deps, make_deps
from cspace.errors import CspaceError, UsageError
from cspace.events import ignore


def complete_name(incomplete: str) -> list[str]:
    """Complete an instance's name from the state directories, without asking the engine."""
    from cspace.instance.observe import state_names  # noqa: PLC0415  only when a shell asks

    deps = make_deps(ignore)
    try:
        names = state_names(deps.user, deps.project.id)
    except CspaceError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_archive(incomplete: str) -> list[str]:
    """Complete an archive: by its instance's name, after a slash by its time."""
    from cspace.instance.archive import list_archives  # noqa: PLC0415  only when a shell asks

    try:
        archives = list_archives(make_deps(ignore).project.root)
    except CspaceError:
        return []
    words = [each.reference if "/" in incomplete else each.name for each in archives]
    return [word for word in dict.fromkeys(words) if word.startswith(incomplete)]


Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The instance.", autocompletion=complete_name)
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="The instances.", autocompletion=complete_name),
]
ArchiveName = Annotated[
    str,
    typer.Argument(
        metavar="NAME[/TIME]",
        help="Which one; without its time the newest.",
        autocompletion=complete_archive,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
AsJsonLines = Annotated[
    bool,
    typer.Option("--json", help="Print JSON documents, one a line: events, results, the end."),
]
All = Annotated[bool, typer.Option("--all", help="Every instance of this project.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and do nothing.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting for this call: --set ports=[3000]"),
]

GivenSecrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME=FILE",
        help="A secret for these instances, before all other sources; an empty FILE takes it back.",
    ),
]


def parse_flags(assignments: list[str] | None) -> dict[str, object]:
    """Split `key=value` pairs; the settings read the text as they read a variable's.

    Raises:
        UsageError: a pair has no "=".
    """
    flags: dict[str, object] = {}
    for assignment in assignments or ():
        key, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set {assignment!r} is not KEY=VALUE", hint="--set ports=[3000]")
        flags[key] = value
    return flags


def parse_secrets(assignments: list[str] | None) -> dict[str, Path]:
    """Split `NAME=FILE` pairs; what is said is never the secret itself, which argv would show.

    Raises:
        UsageError: a pair has no "=", or the name can not be a file's.
    """
    from cspace.instance.secret_sources import is_name  # noqa: PLC0415  only what makes instances

    found = {}
    for assignment in assignments or ():
        name, equals, file = assignment.partition("=")
        if not (equals and file and is_name(name)):
            # Not what was given: somebody may have put the secret itself there.
            raise UsageError(
                "--secret needs NAME=FILE, with a NAME of letters, digits, '.', '_' and '-'",
                hint="--secret github_token=./token; what a command prints: NAME=<(command)",
            )
        found[name] = Path(file).expanduser().absolute()
    return found


def choose_instances(
    deps: Deps, names: Sequence[str] | None, *, every: bool, others: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the instances that are meant; all of them only when that is said.

    Args:
        others: named by an option that goes with `--all` too.

    Raises:
        UsageError: none is, or both names and all.
    """
    from cspace.instance.observe import list_instances  # noqa: PLC0415  pulls in the engine's model

    if names and every:
        hint = "leave one of them out; cspace list shows the instances"
        raise UsageError(f"--all and {' '.join(names)} say two things", hint=hint)
    wanted = [*(names or ()), *others]
    if every:
        found = list_instances(deps.engine, deps.user, deps.project.id)
        wanted = [*(each.name for each in found), *wanted]
        if not wanted:
            render.note("no instances in this project")
    elif not wanted:
        raise UsageError("no instance named", hint="name one, or say --all; cspace list shows them")
    return tuple(dict.fromkeys(wanted))
