"""`cspace notes sync`: the same memories in every clone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import render
from cspace.cli.notes_elsewhere import name_restored, note_restored
from cspace.cli.notes_options import AllowSecret, Remote
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import PartialFailure

if TYPE_CHECKING:  # `cspace --help` has no use for what git and records need
    from cspace.notes.sync import Synced


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(sync)


def sync(
    context: typer.Context,
    remote: Remote = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Fetch, say what would change, and do nothing else.")
    ] = False,
    allow_secret: AllowSecret = False,
    as_json: AsJson = False,
) -> None:
    """Bring memories of commits together with those of a remote.

    Fetches, merges by set, pushes; what either side forgot is forgotten on both. Where a memory
    looks like it has a secret its namespace is not pushed: then the exit code is 7.

    Examples: cspace notes sync · cspace notes sync upstream --dry-run
    """
    from cspace.notes.remote import find_remote  # noqa: PLC0415  only what it is needed for
    from cspace.notes.sync import Sync  # noqa: PLC0415

    deps: Deps = context.obj
    store = deps.notes()
    found = find_remote(store.repository, remote, deps.report)
    asked = Sync(store, found, allow_secret)
    done = asked.plan() if dry_run else asked.run()
    if as_json:
        render.show_json(
            remote=found.name, namespaces=list(map(_plain, done)), dry_run=dry_run,
            restored=name_restored(asked.restored),
        )  # fmt: skip
    else:
        note_restored(asked.restored)
        render.show_lines(_lines(done, found.name, dry_run=dry_run))
    refuse_partial(done, found.name)


def _plain(one: Synced) -> dict[str, object]:
    blocked = [
        {"reference": each.reference, "rule": each.leak.rule, "line": each.leak.line}
        for each in one.blocked
    ]
    return {
        "namespace": str(one.namespace),
        "received": one.received,
        "sent": one.sent,
        "blocked": blocked,
        "refused": one.refused,
    }


def _lines(done: Iterable[Synced], remote: str, *, dry_run: bool) -> Iterator[str]:
    moved = [one for one in done if one.received or one.sent]
    would = "would be " if dry_run else ""
    for one in moved:
        yield f"{one.namespace}: {one.received} {would}received, {one.sent} {would}sent"
    if not moved:
        yield f"nothing to do: {remote} and this repository hold the same"


def refuse_partial(done: Iterable[Synced], remote: str) -> None:
    """End with an error where a namespace was left out, and name why.

    Raises:
        PartialFailure: one was.
    """
    left = [one for one in done if not one.is_whole]
    if not left:
        return
    reasons = [
        f"{one.namespace} of {remote} was left out: {one.refused}" for one in left if one.refused
    ]
    leaks = [f"{one.namespace} was not pushed: it looks like a secret: {leak}"
             for one in left for leak in one.blocked]  # fmt: skip
    hint = (
        "take it out: cspace notes forget REFERENCE; if it is none: --allow-secret"
        if leaks
        else f"see what it holds: git ls-remote {remote} 'refs/notes/cs/*'"
    )
    raise PartialFailure("; ".join((*reasons, *leaks[:10])), hint=hint)
