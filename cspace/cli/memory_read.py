"""`cspace memory list|show|search`: curated memories of all scopes that concern one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.cli import memory_claude, render
from cspace.cli.memory_scope import (
    AllScopes,
    Host,
    PersonaName,
    ProjectName,
    Reading,
    ReadScope,
    complete_slug,
    complete_type,
)
from cspace.cli.options import AsJson
from cspace.deps import Deps
from cspace.errors import NotFound
from cspace.memory.here import Wanted
from cspace.memory.scopes import Scope
from cspace.paths import INDEX

if TYPE_CHECKING:
    from cspace.memory.entries import Entry
    from cspace.memory.store import MemoryStore

DOCTOR = "cspace memory doctor --all"
EMPTY = 'no memories yet; write one: cspace memory write SLUG --body "# Rule ..."'
Query = Annotated[
    list[str],
    typer.Argument(metavar="QUERY...", help="""Words; '"quoted words"' stand together."""),
]


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("list")(list_all)
    app.command()(show)
    app.command()(search)


def list_all(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    *,
    scope: ReadScope = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    every: AllScopes = False,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Only feedback, project, user, reference or global.",
            autocompletion=complete_type,
        ),
    ] = None,
    host: Host = False,
    as_json: AsJson = False,
) -> None:
    """List memories, the most specific scope first.

    Reads only the beginning of each file. With --scope claude: what Claude Code itself remembers.

    Examples: cspace memory list · cspace memory list --scope user --type feedback
    """
    deps: Deps = context.obj
    reading = Reading(Wanted(scope, project, persona), every, host)
    if reading.is_claudes:
        memory_claude.list_files(deps, host=host, as_json=as_json)
        return
    from cspace.memory.entries import check_type  # noqa: PLC0415  loads YAML
    from cspace.memory.several import list_several, names_of  # noqa: PLC0415

    scopes = reading.scopes(deps)
    wanted = None if type_ is None else check_type(type_)
    found = list_several(deps.memory(), scopes, type=wanted)
    if as_json:
        told = [plain_entry(entry) for entry in found.entries]
        render.show_json(scopes=list(map(str, scopes)), entries=told, skipped=found.skipped)
        return
    rows = [
        (str(one.scope), one.type or "-", str(one.updated.date()), one.slug, one.description)
        for one in found.entries
    ]
    if rows:
        render.show_table(("SCOPE", "TYPE", "UPDATED", "SLUG", "DESCRIPTION"), rows)
    elif wanted is not None:
        render.note(f"nothing of type {wanted} in {names_of(scopes)}")
    else:
        render.note(f"nothing in {names_of(scopes)}: {EMPTY}")
    render.note_skipped(found.skipped, DOCTOR)


def show(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    slug: Annotated[
        str,
        typer.Argument(
            metavar="SLUG",
            help="The memory's name; MEMORY is the index.",
            autocompletion=complete_slug,
        ),
    ],
    *,
    scope: ReadScope = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    every: AllScopes = False,
    host: Host = False,
    as_json: AsJson = False,
) -> None:
    """Show a memory as it stands, from each scope that has it.

    Byte for byte, but on a terminal with control characters as escapes. With --scope claude: a file
    of Claude's own memory, by its name or as much of it as tells it apart.

    Examples: cspace memory show integration-tests · cspace memory show MEMORY --scope user
    """
    deps: Deps = context.obj
    reading = Reading(Wanted(scope, project, persona), every, host)
    if reading.is_claudes:
        memory_claude.show_file(deps, slug, host=host, as_json=as_json)
    elif slug in (INDEX.stem, INDEX.name):
        scopes = reading.scopes(deps)
        _show_indexes(deps.memory(), scopes, top=not reading.wanted.named, as_json=as_json)
    else:
        _show_memories(deps.memory(), reading.scopes(deps), slug, as_json=as_json)


def search(  # noqa: PLR0913  one parameter an option
    context: typer.Context,
    query: Query,
    *,
    scope: ReadScope = None,
    project: ProjectName = None,
    persona: PersonaName = None,
    every: AllScopes = False,
    host: Host = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most this many [10].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find memories by words, the best first.

    Each with every line that holds one of them. Case and accents do not matter. Where nothing is
    found the exit code is 3.

    Examples: cspace memory search database · cspace memory search "real database" --all
    """
    deps: Deps = context.obj
    words = " ".join(query)
    reading = Reading(Wanted(scope, project, persona), every, host)
    if reading.is_claudes:
        memory_claude.search_files(deps, words, limit=limit, host=host, as_json=as_json)
    else:
        _search(deps.memory(), reading.scopes(deps), words, limit, as_json=as_json)


def plain_entry(entry: Entry) -> dict[str, object]:
    """Return what JSON says of a memory."""
    return {**render.plain(entry), "scope": str(entry.scope)}


def _show_memories(
    store: MemoryStore, scopes: Sequence[Scope], slug: str, *, as_json: bool
) -> None:
    from cspace.memory.several import read_several  # noqa: PLC0415  loads YAML

    found = read_several(store, scopes, slug)
    if as_json:
        told = [
            plain_entry(store.entry(scope, slug))
            | {"frame": scope.frame, "text": content.decode("utf-8", "backslashreplace")}
            for scope, content in found.memories
        ]
        render.show_json(memories=told, skipped=found.skipped)
        return
    for number, (scope, content) in enumerate(found.memories):
        if scope.frame:
            render.note(f"{scope}: {scope.frame}")
        if len(found.memories) > 1:
            render.show_lines([*([""] if number else []), f"== {scope}/{slug}", ""])
        render.show_document(content)
    render.note_skipped(found.skipped, DOCTOR)


def _show_indexes(store: MemoryStore, scopes: Sequence[Scope], *, top: bool, as_json: bool) -> None:
    from cspace.memory.several import read_indexes  # noqa: PLC0415  loads YAML

    found = read_indexes(store, scopes, top=top)
    if as_json:
        files = {name: text.decode("utf-8", "backslashreplace") for name, text in found.files}
        render.show_json(files=files, skipped=found.skipped)
        return
    for number, (name, content) in enumerate(found.files):
        if len(scopes) > 1:
            render.show_lines([*([""] if number else []), f"== {name}", ""])
        render.show_document(content)
    render.note_skipped(found.skipped, DOCTOR)


def _search(
    store: MemoryStore, scopes: Sequence[Scope], words: str, limit: int | None, *, as_json: bool
) -> None:
    from cspace.memory import search as core  # noqa: PLC0415  not for `--help`
    from cspace.memory.several import names_of  # noqa: PLC0415

    found = core.search_memory(store, scopes, words, limit=limit or core.DEFAULT_LIMIT)
    if as_json:
        hits = [render.plain(hit) | {"scope": str(hit.scope)} for hit in found.hits]
        render.show_json(hits=hits, left_out=found.left_out, skipped=found.skipped)
    else:
        for hit in found.hits:
            render.show_lines([f"{hit.scope}/{hit.slug}  {hit.description}"])
            render.show_lines(f"    {number}: {text}" for number, text in hit.lines)
        if found.left_out:
            render.note(f"{found.left_out} more left out: raise --limit")
        render.note_skipped(found.skipped, DOCTOR)
    if not found.hits:
        raise NotFound(
            f"nothing in {names_of(scopes)} holds a word of {words!r}",
            hint="in every scope: cspace memory search --all; what there is: cspace memory list",
        )
