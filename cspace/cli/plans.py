"""What the commands that bring files home share: their flags, and how a plan is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cspace.cli import render
from cspace.deps import Deps, make_deps
from cspace.errors import Conflict, CspaceError, UsageError
from cspace.events import ignore

if TYPE_CHECKING:
    from cspace.lifecycle.bring_home import Brought
    from cspace.lifecycle.legacy_volumes import Candidate
    from cspace.migration.model import Planned, Policy

Theirs = Annotated[
    bool,
    typer.Option(
        "--theirs", help="Of a conflict take the other side; ours stays beside it, renamed."
    ),
]
KeepBoth = Annotated[
    bool, typer.Option("--keep-both", help="Of a conflict keep ours, and the other one beside it.")
]
ListVolumes = Annotated[
    bool, typer.Option("--list", help="List the volumes that may hold what is to come home.")
]


def complete_volume(incomplete: str) -> list[str]:
    """Complete a volume's name, where the engine answers at once."""
    from cspace.lifecycle.legacy_volumes import list_names  # noqa: PLC0415  only when a shell asks

    try:
        names = list_names(make_deps(ignore).engine)
    except CspaceError:
        return []
    return [name for name in names if name.startswith(incomplete)]


VolumeName = Annotated[
    str | None,
    typer.Option(
        "--volume",
        metavar="NAME",
        help="The volume's name [as this project is named].",
        autocompletion=complete_volume,
    ),
]
MergeIndex = Annotated[
    bool,
    typer.Option("--merge-index", help="Add the lines that MEMORY.md lacks; goes before the rest."),
]


def parse_policy(*, theirs: bool, keep_both: bool, merge_index: bool = False) -> Policy:
    """Read what happens to conflicts.

    Raises:
        UsageError: the flags contradict each other.
    """
    from cspace.migration.model import Choice, Policy  # noqa: PLC0415  not for `--help`

    if theirs and keep_both:
        raise UsageError("--theirs and --keep-both contradict each other", hint="give one of them")
    choice = Choice.THEIRS if theirs else Choice.BOTH if keep_both else Choice.OURS
    return Policy(choice, merge_index)


def refuse_beside_list(flags: Mapping[str, object]) -> None:
    """Refuse what has no meaning beside `--list`.

    Raises:
        UsageError: names the first such flag that was given.
    """
    for flag, value in flags.items():
        if value:
            raise UsageError(f"--list and {flag} contradict each other", hint="give one of them")


def show_candidates(deps: Deps, *, homes_only: bool = False, as_json: bool) -> None:
    """Print the volumes that may hold what is to come home, each with its command."""
    from cspace.lifecycle.legacy_volumes import list_candidates  # noqa: PLC0415  not for `--help`

    found = list_candidates(deps.engine, deps.home_of_files)
    if homes_only:
        found = tuple(one for one in found if one.kind == "claude-home")
    if as_json:
        render.show_json(volumes=found)
    elif found:
        rows = [(one.volume, one.kind, one.why, *_counted(one), one.command) for one in found]
        head = ("VOLUME", "KIND", "FOUND BY", "FILES", "SIZE", "COMMAND")
        render.show_table(head, rows)
    else:
        render.note("no volume holds a memory or transcripts")
    for one in found:
        if one.problem:
            render.note(f"{one.volume}: {one.problem}")


def _counted(one: Candidate) -> tuple[str, str]:
    if one.files is None or one.size is None:
        return "-", "-"
    more = "" if one.whole else "+"
    return f"{one.files}{more}", f"{render.size(one.size)}{more}"


def document(brought: Brought) -> dict[str, Any]:
    """Return what `--json` says of one source."""
    shown: dict[str, Any] = render.plain(brought)
    # The paths alone: `files` tells the rest.
    return shown | {
        part: [one["path"] for one in shown[part]] for part in ("written", "refused", "left")
    }


def show_brought(brought: Brought) -> None:
    """Print a line for each file, and how many there are of each fate."""
    if brought.files:
        rows = [_row(one, dry_run=brought.dry_run) for one in brought.files]
        render.show_table(("FATE", "PATH", "SIZE", "WHAT HAPPENS"), rows)
    fates = Counter(one.fate for one in brought.files)
    counted = ", ".join(f"{number} {fate}" for fate, number in sorted(fates.items()))
    render.show_lines([f"{render.count(len(brought.files), 'file')}: {counted or 'nothing there'}"])
    render.show_lines([_conclusion(brought)])


def _row(one: Planned, *, dry_run: bool) -> tuple[str, str, str, str]:
    size = "-" if one.size is None else render.size(one.size)
    return str(one.fate), str(one.path), size, _said(one, dry_run=dry_run)


def _said(one: Planned, *, dry_run: bool) -> str:
    if one.lands is None:
        return one.reason or ("is here" if one.fate == "same" else "stays where it is")
    verb = "will be copied" if dry_run else "copied"
    place = verb if one.lands == one.path else f"{verb} to {one.lands}"
    if one.result != one.digest:  # merged with ours
        return one.reason
    return f"{place}: {one.reason}" if one.reason else place


def _conclusion(brought: Brought) -> str:
    pending = [one for one in brought.files if one.lands is not None]
    if brought.dry_run:
        return (
            f"{render.count(len(pending), 'file')} would be written"
            if pending
            else "nothing is left to do"
        )
    if brought.written or brought.refused:
        return f"{render.count(len(brought.written), 'file')} written"
    return "nothing is left to do"


def note_left(brought: Brought) -> None:
    """Say on stderr what only the source holds, and what changed meanwhile."""
    refused = {one.path for one in brought.refused}
    left = [one for one in brought.left if one.path not in refused]
    if left:
        render.note(
            f"note: {render.count(len(left), 'file')} of {brought.source} not taken{_choice(left)}"
        )
    for one in brought.refused:
        render.note(f"{one.path}: {one.reason}")


def _choice(left: Sequence[Planned]) -> str:
    """Write how conflicts among what was left can be taken too; nothing where there are none."""
    from cspace.paths import INDEX  # noqa: PLC0415  not for `--help`

    conflicts = [one.path for one in left if one.fate == "conflict"]
    if not conflicts:
        return ""
    flags = "--theirs or --keep-both" + (", or --merge-index" if INDEX in conflicts else "")
    number = render.count(len(conflicts), "conflict")
    return f", {number} among them; to take conflicts too: {flags}"


def refuse_changed(*brought: Brought) -> None:
    """End with an error where something was not taken because it changed.

    Raises:
        Conflict: it was, and can be taken by another call.
    """
    refused = sum(len(one.refused) for one in brought)
    if refused:
        raise Conflict(
            f"{render.count(refused, 'file')} changed meanwhile, and stayed as it was",
            hint="the same command again",
        )
