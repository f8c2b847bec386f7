"""What the commands of the context share: names of records, days, and how lists are shown."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cspace.cli import render
from cspace.context.kinds import HUMAN, SECTIONS, Kind
from cspace.deps import make_deps
from cspace.errors import CspaceError, UsageError
from cspace.events import ignore

if TYPE_CHECKING:
    from cspace.context.listing import Period
    from cspace.context.naming import EntryName
    from cspace.context.records import Listing
    from cspace.context.store import ContextStore

DOCTOR = "cspace context doctor"


def parse_section(text: str) -> str:
    """Read the name of a section, which a kind's own name stands for as well.

    Raises:
        UsageError: there is none.
    """
    section = next((kind.plural for kind in Kind if text == kind.value), text)
    if section not in SECTIONS:
        raise UsageError(f"there is no section {text!r}", hint=f"one of {', '.join(SECTIONS)}")
    return section


def parse_kind(text: str) -> Kind:
    """Read a kind, also by the name of its section.

    Raises:
        BadParameter: there is none.
    """
    for kind in Kind:
        if text in (kind.value, kind.plural):
            return kind
    raise typer.BadParameter(f"{text!r} is not one of {', '.join(Kind)}.")


def _complete(incomplete: str, kinds: tuple[Kind, ...], others: Sequence[str] = ()) -> list[str]:
    """Complete a record by the names in the directories; with a slash, after its kind."""
    from cspace.context.naming import list_names  # noqa: PLC0415  only when a shell asks
    from cspace.context.place import store_root  # noqa: PLC0415

    names: list[str] = list(others)
    with contextlib.suppress(CspaceError):
        found = list_names(store_root(make_deps(ignore).project.root), kinds)
        names += [_written(name, incomplete) for name in reversed(found)]
    return [name for name in names if name.startswith(incomplete)]


def _written(name: EntryName, incomplete: str) -> str:
    """Write a record's name the way it was begun."""
    if "/" not in incomplete:
        return name.slug
    plural = f"{name.kind.plural}/"
    return plural + name.slug if incomplete.startswith(plural) else str(name)


def complete_kind(incomplete: str) -> list[str]:
    """Complete a kind."""
    return [kind.value for kind in Kind if kind.startswith(incomplete)]


def complete_section(incomplete: str) -> list[str]:
    """Complete a section."""
    return [name for name in SECTIONS if name.startswith(incomplete)]


def complete_shown(incomplete: str) -> list[str]:
    """Complete a section or a record."""
    return _complete(incomplete, tuple(Kind), SECTIONS)


def complete_entry(incomplete: str) -> list[str]:
    """Complete a record."""
    return _complete(incomplete, tuple(Kind))


def complete_editable(incomplete: str) -> list[str]:
    """Complete a human-owned file or a record."""
    return _complete(incomplete, tuple(Kind), HUMAN)


def complete_finding(incomplete: str) -> list[str]:
    """Complete a finding."""
    return _complete(incomplete, (Kind.FINDING,))


def complete_recorded(incomplete: str) -> list[str]:
    """Complete an entry that was recorded, also one that is gone."""
    from cspace.lifecycle.context_restore import list_entries  # noqa: PLC0415  only when asked

    names: tuple[str, ...] = ()
    with contextlib.suppress(CspaceError):
        names = list_entries(make_deps(ignore).project)
    return [name for name in names if name.startswith(incomplete)]


def _day_option(help_text: str) -> Any:
    return typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help=help_text)


Since = Annotated[datetime | None, _day_option("Only of this day and later, or updated then.")]
Until = Annotated[datetime | None, _day_option("Only of this day and earlier.")]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="At most this many [20].")]
FindingName = Annotated[
    str,
    typer.Argument(
        metavar="SLUG",
        help="A finding: its slug, or as much of it as tells it apart.",
        autocompletion=complete_finding,
    ),
]


def period(since: datetime | None, until: datetime | None = None) -> Period:
    """Return the days that two options name."""
    from cspace.context.listing import Period  # noqa: PLC0415  loads YAML

    return Period(since.date() if since else None, until.date() if until else None)


def show_listing(
    found: Listing[Any],
    rows: Sequence[tuple[str, ...]],
    head: Sequence[str],
    *,
    empty: str = "nothing to list",
) -> None:
    """Print a list as a table; what it lacks is said on stderr.

    Args:
        empty: said instead of a list without entries.
    """
    if rows:
        render.show_table(head, rows)
    else:
        render.note(empty)
    note_left_out(found)


def note_left_out(found: Listing[Any]) -> None:
    """Say on stderr how many more there are, and what could not be read."""
    if found.left_out:
        render.note(f"{found.left_out} more left out: raise --limit")
    render.note_skipped(found.skipped, DOCTOR)


def show_entry(store: ContextStore, name: EntryName, *, as_json: bool) -> None:
    """Print a record: its file as it is, or what it holds as JSON."""
    if not as_json:
        render.show_document(store.folder(name.kind).read(name.slug))
        return
    entry = store.load_entry(name.kind, name.slug)
    texts = {"sections": entry.sections, "updates": entry.updates, "text": entry.text}
    render.show_json(entry=render.plain(entry.info) | texts)
