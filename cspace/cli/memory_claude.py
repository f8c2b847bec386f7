"""Claude Code's own memory, which cspace only reads: `--scope claude`, `--host`, and `recall`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cspace.claude_memory.place import Place
from cspace.cli import render
from cspace.cli.doctor import show_diagnoses
from cspace.cli.memory_scope import Host
from cspace.cli.options import AsJson
from cspace.clock import utc_now
from cspace.deps import Deps
from cspace.errors import NotFound

if TYPE_CHECKING:
    from cspace.claude_memory.listing import Memory

Query = Annotated[
    list[str],
    typer.Argument(metavar="QUERY...", help="""Words; '"quoted words"' stand together."""),
]


def register(app: typer.Typer) -> None:
    """Add the command that is of Claude's memory alone."""
    app.command()(recall)


def list_files(deps: Deps, *, host: bool, as_json: bool) -> None:
    """List what Claude Code remembers, the last changed first."""
    from cspace.claude_memory.listing import list_memories  # noqa: PLC0415  loads YAML

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


def show_file(deps: Deps, name: str, *, host: bool, as_json: bool) -> None:
    """Show one file, by its path or as much of it as tells it apart."""
    from cspace.claude_memory.listing import get_memory  # noqa: PLC0415  as above

    path, content, memory = get_memory(deps.claude_memory(host=host), name)
    if as_json:
        text = content.decode("utf-8", "backslashreplace")
        render.show_json(path=str(path), memory=memory, text=text)
    else:
        render.show_document(content)


def search_files(deps: Deps, words: str, *, limit: int | None, host: bool, as_json: bool) -> None:
    """Find files by words, each with its best line.

    Raises:
        NotFound: none holds a word.
    """
    from cspace.claude_memory import search as core  # noqa: PLC0415  as above

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


def examine(deps: Deps, *, host: bool, as_json: bool) -> None:
    """Say what is wrong in it.

    Raises:
        Diagnosed: something is.
    """
    from cspace.doctor.claude_memory_checks import examine_memory  # noqa: PLC0415  as above

    place = deps.claude_memory(host=host)
    found = examine_memory(place, utc_now)
    if not as_json:
        _note_place(place)
    show_diagnoses(found, as_json=as_json, said="memory doctor found", place=_told(place))


def recall(
    context: typer.Context,
    query: Query,
    *,
    host: Host = False,
    bodies: Annotated[bool, typer.Option("--bodies", help="Print the files as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pick the few files of Claude's own memory that a task needs.

    At most 5, by their first 30 lines, where front matter and the index's line weigh more. No model
    is asked. Where nothing fits the exit code is 3.

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
