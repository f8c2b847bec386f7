"""`cspace notes status|reindex|verify`: what there is, and whether the index says what git says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cspace.cli import render
from cspace.cli.notes_elsewhere import (
    describe_empty,
    mend,
    name_restored,
    note_broken,
    note_restored,
    note_unreached,
    show_offer,
)
from cspace.cli.notes_show import ABBREVIATED, count_memories
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import CspaceError, Diagnosed, UsageError

if TYPE_CHECKING:
    from cspace.index.embedder import Embedder, Missing
    from cspace.notes.catalog import Catalog, CatalogState, Difference
    from cspace.notes.census import Tally
    from cspace.notes.namespaces import Namespace


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(status)
    app.command()(reindex)
    app.command()(verify)


def status(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Show how many memories there are, and what finds them.

    Counts come from git itself. Only the index, which is derived, is brought up to date. A memory
    is orphaned when history does not reach its commit any more. What a git fetch
    brought and no sync merged is named; where none is here at all, a remote is asked once.

    Example: cspace notes status --json
    """
    from cspace.notes.census import take_census  # noqa: PLC0415  only what it is needed for
    from cspace.notes.remote import find_offer  # noqa: PLC0415  only what it is needed for

    deps: Deps = context.obj
    catalog, embedder = deps.notes_catalog(), deps.embedder()
    tips, census = catalog.store.tips(), take_census(catalog.store)
    index, offer = catalog.refresh(), find_offer(catalog.store.repository)
    rows = [(str(one), each.memories, each.orphaned, tips[one]) for one, each in census.items()]
    if as_json:
        keys = ("namespace", "memories", "orphaned", "tip")
        named = [
            dict(zip(keys, row, strict=True)) | {"copies": each.copies}
            for each, row in zip(census.values(), rows, strict=True)
        ]
        told = _plain_embedder(embedder)
        render.show_json(namespaces=named, index=index, embedder=told, offer=offer)
        return
    if rows:
        cells = [(*map(str, row[:3]), row[3][:ABBREVIATED]) for row in rows]
        render.show_table(("NAMESPACE", "MEMORIES", "ORPHANED", "TIP"), cells)
    else:
        render.note(describe_empty(catalog.store))
    note_broken(catalog.store)
    show_offer(offer)
    note_unreached(census)
    _show_index(index, embedder)


def reindex(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Make the index of memories anew from git.

    The model that finds them by meaning is downloaded first where it is not here: 84 MB, once.
    Without it, and with CSPACE_OFFLINE=1, memories are found by words.

    Example: cspace notes reindex
    """
    from cspace.index.embedder import Missing  # noqa: PLC0415  only what it is needed for

    deps: Deps = context.obj
    catalog, (embedder, failure) = deps.notes_catalog(), _fetch(deps)
    restored = mend(catalog.store)
    index = catalog.reindex(deps.report, None if isinstance(embedder, Missing) else embedder)
    if as_json:
        told = _plain_embedder(embedder)
        render.show_json(index=index, embedder=told, restored=name_restored(restored))
    else:
        note_restored(restored)
        _show_index(index, embedder)
    if failure is not None:
        raise failure


def verify(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Compare the index of memories with what git holds.

    Memory by memory, after the index took over what is new, as it does for every recall. Where
    they differ the exit code is 8. Orphaned memories are counted, and no difference. What a plain
    git notes append took away, which ran at the same time as a capture, comes back first.

    Example: cspace notes verify
    """
    from cspace.notes.census import take_census  # noqa: PLC0415  only what it is needed for

    catalog = context.obj.notes_catalog()
    restored = mend(catalog.store)
    census, differences = take_census(catalog.store), _compare(catalog)
    if as_json:
        rows = [{"namespace": one, **render.plain(census[one])} for one in census]
        back = name_restored(restored)
        render.show_json(namespaces=rows, differences=differences, restored=back)
    else:
        note_restored(restored)
        note_broken(catalog.store)
        render.show_lines(_difference_line(one) for one in differences)
        for name, tally in census.items():
            _note_odd(name, tally)
        note_unreached(census)
    if differences:
        raise Diagnosed("the index differs from git", hint="cspace notes reindex")
    if broken := catalog.store.broken():
        raise Diagnosed(
            f"{broken[0].ref} is no commit of notes", hint=f"look at it: git show {broken[0].ref}"
        )
    if not as_json:
        many = sum(tally.memories for tally in census.values())
        render.show_lines([f"the index is what git says: {count_memories(many)}"])


def _show_index(index: CatalogState, embedder: Embedder | Missing) -> None:
    from cspace.index.embedder import Missing  # noqa: PLC0415  as above

    behind = 0 if isinstance(embedder, Missing) else index.without_vector
    parts = [count_memories(sum(index.counts.values()))]
    parts += [f"built anew: {index.rebuilt}"] if index.rebuilt else []
    parts += [f"{behind} not embedded"] if behind else []
    parts += ["in memory only: its directory can not be written"] if index.in_memory else []
    render.show_lines([f"index: {', '.join(parts)}"])
    if isinstance(embedder, Missing):
        render.show_lines([f"search: by words only: {embedder.reason}"])
        render.note(f"hint: {embedder.hint}")
    else:
        render.show_lines([f"search: by words and by meaning ({embedder.id})"])


def _compare(catalog: Catalog) -> tuple[Difference, ...]:
    from cspace.index.database import BrokenIndex  # noqa: PLC0415  it loads SQLite

    try:
        return catalog.verify()
    except BrokenIndex as error:
        raise Diagnosed(str(error), hint=error.hint) from error


def _note_odd(namespace: Namespace, tally: Tally) -> None:
    if tally.stray:
        many = render.count(tally.stray, "note")
        render.note(f"{namespace}: {many} with bytes that are no record; they are kept")
    if tally.edited:
        many = count_memories(tally.edited)
        render.note(f"{namespace}: {many} changed by hand after they were kept")


def _difference_line(one: Difference) -> str:
    missing = f", lacks {', '.join(one.missing)}" if one.missing else ""
    extra = f", has beside that {', '.join(one.extra)}" if one.extra else ""
    return f"{one.namespace}: {one.in_git} in git, {one.in_index} in the index{missing}{extra}"


def _plain_embedder(embedder: Embedder | Missing) -> dict[str, object]:
    from cspace.index.embedder import Missing  # noqa: PLC0415  as above

    missing = embedder if isinstance(embedder, Missing) else None
    return {
        "id": None if isinstance(embedder, Missing) else embedder.id,
        "reason": missing and missing.reason,
        "hint": missing and missing.hint,
    }


def _fetch(deps: Deps) -> tuple[Embedder | Missing, CspaceError | None]:
    """Return what embeds, after its download; and why that failed, which words do without."""
    try:
        return deps.fetch_embedder(), None
    except UsageError as error:  # offline, which somebody wants
        return _missing(error), None
    except CspaceError as error:
        return _missing(error), error


def _missing(error: CspaceError) -> Missing:
    from cspace.index.embedder import Missing  # noqa: PLC0415  as above

    return Missing(str(error), error.hint or "cspace notes reindex")
