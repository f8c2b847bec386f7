"""`cspace memory list|show|search|recall|doctor`: reads Claude's memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from cspace.claude_memory.place import Place, Scope
from cspace.cli import render
from cspace.cli.doctor import show_diagnoses
from cspace.cli.options import AsJson
from cspace.clock import utc_now
from cspace.deps import Deps, make_deps
from cspace.errors import CspaceError, NotFound
from cspace.events import ignore

if TYPE_CHECKING:
    from cspace.claude_memory.listing import Memory

OneScope = Annotated[Scope, typer.Option("--scope", help="Whose memory.")]
Host = Annotated[
    bool,
    typer.Option("--host", help="The one that Claude Code keeps on this host, not the project's."),
]
Query = Annotated[
    list[str],
    typer.Argument(metavar="QUERY...", help="""Words; '"quoted words"' stand together."""),
]


def register(app: typer.Typer) -> None:
    """Add the commands to their group."""
    app.command("list")(list_all)
    app.command()(show)
    app.command()(search)
    app.command()(recall)
    app.command()(doctor)


def complete_memory(incomplete: str) -> list[str]:
    """Complete a file of the project's memory."""
    from cspace.claude_memory.tree import Walk  # noqa: PLC0415  only when a shell asks

    names: list[str] = []
    with contextlib.suppress(CspaceError):
        walk = Walk(make_deps(ignore).claude_memory())
        names = [str(one.path) for one in walk.found() if one.document]
    return [name for name in names if name.startswith(incomplete)]


def list_all(
    context: typer.Context,
    *,
    scope: OneScope = Scope.CLAUDE,
    host: Host = False,
    as_json: AsJson = False,
) -> None:
    """List what Claude Code remembers of this project.

    The last changed comes first. Reads only the beginning of each file.

    Examples: cspace memory list · cspace memory list --host --json
    """
    from cspace.claude_memory.listing import list_memories  # noqa: PLC0415  loads YAML

    deps: Deps = context.obj
    place = deps.claude_memory(host=host)
    found = list_memories(place)
    if as_json:
        render.show_json(place=_told(place), **render.plain(found))
        return
    _note_place(place)
    rows = [(one.type or "-", _age(one), one.path, one.description) for one in found.memories]
    if rows:
        render.show_table(("TYPE", "AGE", "FILE", "DESCRIPTION"), rows)
    else:
        render.note(f"no memories yet; Claude Code writes them: {place.writer}")
    render.note_skipped(found.skipped, place.command("doctor"))


def show(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A file, with or without .md, or as much of it as tells it apart; MEMORY is the"
            " index.",
            autocompletion=complete_memory,
        ),
    ],
    *,
    scope: OneScope = Scope.CLAUDE,
    host: Host = False,
    as_json: AsJson = False,
) -> None:
    """Show one file of the memory as it stands.

    Byte for byte, but on a terminal with control characters as escapes.

    Example: cspace memory show MEMORY
    """
    from cspace.claude_memory.listing import get_memory  # noqa: PLC0415  as above

    deps: Deps = context.obj
    path, content, memory = get_memory(deps.claude_memory(host=host), name)
    if as_json:
        text = content.decode("utf-8", "backslashreplace")
        render.show_json(path=str(path), memory=memory, text=text)
    else:
        render.show_document(content)


def search(
    context: typer.Context,
    query: Query,
    *,
    scope: OneScope = Scope.CLAUDE,
    host: Host = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="At most this many [10].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find files of the memory by words, the best first.

    Each with its best line. Case and accents do not matter.
    Where nothing is found the exit code is 3.

    Example: cspace memory search float rounding
    """
    from cspace.claude_memory import search as core  # noqa: PLC0415  as above

    deps: Deps = context.obj
    words = " ".join(query)
    place = deps.claude_memory(host=host)
    found = core.search_memories(place, words, limit=limit or core.DEFAULT_LIMIT)
    if as_json:
        render.show_json(place=_told(place), **render.plain(found))
    else:
        render.show_lines(
            line
            for hit in found.hits
            for line in (f"{hit.path}:{hit.line}  {hit.name}", f"    {hit.snippet}")
        )
        if found.left_out:
            render.note(f"{found.left_out} more left out: raise --limit")
        render.note_skipped(found.skipped, place.command("doctor"))
    if not found.hits:
        raise _nothing(place, words)


def recall(
    context: typer.Context,
    query: Query,
    *,
    scope: OneScope = Scope.CLAUDE,
    host: Host = False,
    bodies: Annotated[bool, typer.Option("--bodies", help="Print the files as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pick the few files that a task most likely needs: at most 5.

    By their first 30 lines, where front matter and the index's line weigh more. No model is asked.
    Where nothing fits the exit code is 3.

    Example: cspace memory recall "how are releases made" --bodies
    """
    from cspace.claude_memory import search as core  # noqa: PLC0415  as above

    deps: Deps = context.obj
    place = deps.claude_memory(host=host)
    words = " ".join(query)
    found = core.recall(place, words)
    texts = core.load_bodies(place, found) if bodies else ()
    if as_json:
        parts = {"bodies": [text.decode("utf-8", "backslashreplace") for text in texts]}
        told = [render.plain(one) | {"age": _age(one)} for one in found.memories]
        render.show_json(
            place=_told(place), memories=told, skipped=found.skipped, **(parts if bodies else {})
        )
    else:
        render.show_lines(line for one in found.memories for line in _summary(place, one))
        for one, text in zip(found.memories, texts, strict=bodies):
            render.show_lines(["", f"== {one.path}: this memory is {_age(one)}", ""])
            render.show_document(text)
        render.note_skipped(found.skipped, place.command("doctor"))
    if not found.memories:
        raise _nothing(place, words)


def doctor(
    context: typer.Context,
    *,
    scope: OneScope = Scope.CLAUDE,
    host: Host = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong in the memory, each with what to do about it.

    An index of which Claude Code loads only a part, entries without a file and files without an
    entry, front matter, days like "yesterday" in project memories, what is more than 90 days old.
    It changes nothing itself. Where something is found the exit code is 8.

    Example: cspace memory doctor
    """
    from cspace.doctor.claude_memory_checks import examine_memory  # noqa: PLC0415  as above

    deps: Deps = context.obj
    place = deps.claude_memory(host=host)
    found = examine_memory(place, utc_now)
    if not as_json:
        _note_place(place)
    show_diagnoses(found, as_json=as_json, said="memory doctor found", place=_told(place))


def _told(place: Place) -> dict[str, object]:
    return {
        "directory": str(place.directory),
        "reason": place.reason,
        "off": place.off or None,
        "notes": place.notes,
    }


def _note_place(place: Place) -> None:
    render.note(f"{place.directory}: {place.reason}")
    if place.off:
        render.note(f"Claude Code does not use it at present: {place.off}")
    for note in place.notes:
        render.note(f"note: {note}")


def _age(memory: Memory) -> str:
    from cspace.claude_memory.listing import age_of  # noqa: PLC0415  as above

    return age_of(memory.modified, utc_now())


def _summary(place: Place, memory: Memory) -> tuple[str, ...]:
    return (
        f"{memory.name}  ({memory.type or 'no type'}; this memory is {_age(memory)})",
        *([f"    {memory.description}"] if memory.description else []),
        f"    {place.directory / memory.path}",
    )


def _nothing(place: Place, words: str) -> NotFound:
    return NotFound(f"nothing holds a word of {words!r}", hint=place.command("list"))
