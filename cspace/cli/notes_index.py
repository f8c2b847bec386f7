"""`cspace notes status|reindex|verify`: what there is, and whether the index says what git says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cspace.cli import render
from cspace.cli.notes_read import EMPTY
from cspace.cli.notes_show import ABBREVIATED, count_memories
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import CspaceError, Diagnosed

if TYPE_CHECKING:
    from cspace.index.embedder import Embedder, Missing
    from cspace.notes.catalog import CatalogState, Difference
    from cspace.notes.namespaces import Namespace
    from cspace.notes.store import Tally


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command()(status)
    app.command()(reindex)
    app.command()(verify)


def status(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Show how many memories of commits there are, and what finds them.

    Counts come from git itself. Only the index, which is derived, is brought up to date.

    Example: cspace notes status --json
    """
    deps: Deps = context.obj
    catalog, embedder = deps.notes_catalog(), deps.embedder()
    counts, tips, index = catalog.store.counts(), catalog.store.tips(), catalog.refresh()
    if as_json:
        rows = [{"namespace": one, "memories": counts[one], "tip": tips[one]} for one in counts]
        render.show_json(namespaces=rows, index=index, embedder=_plain_embedder(embedder))
        return
    if counts:
        cells = [(str(one), str(counts[one]), tips[one][:ABBREVIATED]) for one in counts]
        render.show_table(("NAMESPACE", "MEMORIES", "TIP"), cells)
    else:
        render.note(EMPTY)
    render.show_lines([f"index: {_index_line(index)}"])
    _show_embedder(embedder)


def reindex(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Make the index of memories anew from git.

    The model that finds them by meaning is downloaded first where it is not here: 83 MB, once.
    Without it, and with CSPACE_OFFLINE=1, memories are found by words.

    Example: cspace notes reindex
    """
    from cspace.index.embedder import Missing  # noqa: PLC0415  only what it is needed for

    deps: Deps = context.obj
    catalog, embedder = deps.notes_catalog(), _fetch(deps)
    index = catalog.reindex(deps.report, None if isinstance(embedder, Missing) else embedder)
    if as_json:
        render.show_json(index=index, embedder=_plain_embedder(embedder))
    else:
        render.show_lines([f"index: {_index_line(index)}"])
        _show_embedder(embedder)


def verify(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Compare the index of memories with what git holds.

    Memory by memory, after the index took over what is new, as it does for every recall. Where
    they differ the exit code is 8.

    Example: cspace notes verify
    """
    catalog = context.obj.notes_catalog()
    tallies, differences = catalog.store.tallies(), catalog.verify()
    if as_json:
        rows = [{"namespace": one} | render.plain(tallies[one]) for one in tallies]
        render.show_json(namespaces=rows, differences=differences)
    else:
        render.show_lines(_difference_line(one) for one in differences)
        for name, tally in tallies.items():
            _note_odd(name, tally)
    if differences:
        raise Diagnosed("the index differs from git", hint="cspace notes reindex")
    if not as_json:
        many = sum(tally.memories for tally in tallies.values())
        render.show_lines([f"the index is what git says: {count_memories(many)}"])


def _index_line(index: CatalogState) -> str:
    parts = [count_memories(sum(index.counts.values()))]
    parts += [f"built anew: {index.rebuilt}"] if index.rebuilt else []
    parts += [f"{index.without_vector} not embedded"] if index.without_vector else []
    parts += ["in memory only: its directory can not be written"] if index.in_memory else []
    return ", ".join(parts)


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


def _show_embedder(embedder: Embedder | Missing) -> None:
    from cspace.index.embedder import Missing  # noqa: PLC0415  as above

    if isinstance(embedder, Missing):
        render.show_lines([f"search: by words only: {embedder.reason}"])
        render.note(f"hint: {embedder.hint}")
    else:
        render.show_lines([f"search: by words and by meaning ({embedder.id})"])


def _fetch(deps: Deps) -> Embedder | Missing:
    """Return what embeds, after its download; words are enough where that fails."""
    try:
        return deps.fetch_embedder()
    except CspaceError as error:
        render.show_error(error)
        return deps.embedder()
