"""How memories of commits look: as lines for a person, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cspace.cli import render
from cspace.notes.memory import Memory

if TYPE_CHECKING:
    from cspace.notes.files_then import FileThen

ABBREVIATED = 12


def plain_memory(memory: Memory, *, body: bool = False) -> dict[str, Any]:
    """Return what JSON says of a memory; its body only where that is asked for."""
    record = memory.record
    told = {
        "reference": memory.reference,
        "id": record.id,
        "namespace": str(record.namespace),
        "commit": memory.commit,
        "type": record.type,
        "timestamp": record.timestamp,
        "summary": record.summary,
        "spec": record.spec,
        "phase": record.phase,
        "tags": record.tags,
        "severity": record.severity,
        "category": record.category,
        "file": record.file,
        "line": record.line,
        "status": memory.status,
        "resolution": memory.resolution,
        "resolved_at": memory.resolved_at,
    }
    return told | ({"body": record.body} if body else {})


def count_memories(many: int) -> str:
    """Write how many memories there are."""
    return f"{many} {'memory' if many == 1 else 'memories'}"


def head_lines(memory: Memory) -> Iterator[str]:
    """Yield what stands above a memory's body: its reference and summary, then what is known."""
    record = memory.record
    yield f"{memory.reference}  {record.summary}"
    for name, value in _facts(memory):
        if value:
            yield f"    {name:<10}  {value}"


def _facts(memory: Memory) -> Iterator[tuple[str, str | None]]:
    record = memory.record
    yield "commit", memory.commit[:ABBREVIATED]
    yield "type", record.type
    yield "time", render.moment(record.timestamp)
    yield "spec", record.spec
    yield "phase", record.phase
    yield "tags", ", ".join(record.tags)
    yield "severity", record.severity
    yield "category", record.category
    yield "file", f"{record.file}:{record.line}" if record.file and record.line else record.file
    yield "status", memory.status
    yield "resolution", memory.resolution
    yield "resolved", render.moment(memory.resolved_at) if memory.resolved_at else None


def show_body(memory: Memory) -> None:
    """Print a body as it was given, but on a terminal with control characters as escapes."""
    render.show_document(memory.record.body.encode("utf-8", "surrogateescape"))


def show_memory(memory: Memory, *, first: bool) -> None:
    """Print a memory whole."""
    render.show_lines([*(() if first else ("",)), *head_lines(memory), ""])
    body = memory.record.body
    show_body(memory)
    if body and not body.endswith("\n"):
        render.show_lines([""])


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """What a commit changed.

    Attributes:
        left_out: how many more files it changed.
    """

    commit: str
    files: tuple[FileThen, ...]
    left_out: int


def files_of(repository: Path, memories: Iterable[Memory]) -> tuple[CommitFiles, ...]:
    """Return what the commits of memories changed, each commit once; say of which nobody knows."""
    from cspace.notes.files_then import files_where_known  # noqa: PLC0415  few commands do

    found, missing = files_where_known(repository, (memory.commit for memory in memories))
    for reason in missing:
        render.note(f"{reason}: no files")
    return tuple(CommitFiles(commit, then.files, then.left_out) for commit, then in found.items())


def show_files(commits: Iterable[CommitFiles]) -> None:
    """Print what commits changed."""
    for one in commits:
        for file in one.files:
            said = f" ({file.note})" if file.note else ""
            render.show_lines(["", f"== {one.commit[:ABBREVIATED]}:{file.path}{said}", ""])
            if file.text is not None:
                render.show_lines(file.text.removesuffix("\n").split("\n"))
        if one.left_out:
            render.note(f"{one.left_out} more files of {one.commit[:ABBREVIATED]} left out")
