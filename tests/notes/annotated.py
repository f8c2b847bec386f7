"""A repository of many commits with memories, written in one go."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cspace import proc
from cspace.git_import import find_place
from cspace.notes.catalog import Catalog
from cspace.notes.draft import Draft
from cspace.notes.namespaces import Namespace
from cspace.notes.record import Record, dump_record, identity
from cspace.notes.store import NotesStore

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def open_catalog(repository: Path) -> Catalog:
    return Catalog(NotesStore(repository, find_place(repository)))


def draft(summary: str, body: str = "A reason.\n", **fields: object) -> Draft:
    """Return a decision, or what `namespace` says."""
    return Draft(**{"namespace": Namespace.DECISIONS, "summary": summary, "body": body} | fields)  # type: ignore[arg-type]


def make_record(number: int, summary: str, body: str) -> Record:
    spec = f"spec-{number % 7}"
    return Record(
        namespace=Namespace.DECISIONS,
        id=identity("decisions", "decision", spec, summary, body),
        type="decision",
        timestamp=BEGIN + timedelta(hours=number),
        summary=summary,
        body=body,
        spec=spec,
        tags=("even",) if number % 2 == 0 else ("odd",),
    )


def annotate(repository: Path, texts: Iterable[tuple[str, str]]) -> int:
    """Add a commit for each summary and body, and a decision to it; return how many.

    Git itself chooses the fan-out of the notes tree.
    """
    stream = bytearray()
    marks = 0
    notes = bytearray()
    for number, (summary, body) in enumerate(texts):
        when = f"Test Person <test@example.com> {1767225600 + number} +0000\n"
        start = b"from refs/heads/main^0\n" if number == 0 else b""
        content = dump_record(make_record(number, summary, body))
        stream += f"blob\nmark :{2 * number + 1}\ndata {len(content)}\n".encode() + content + b"\n"
        stream += f"commit refs/heads/main\nmark :{2 * number + 2}\ncommitter {when}".encode()
        stream += b"data 2\nx\n" + start
        stream += f"M 100644 :{2 * number + 1} src/file{number % 10}.py\n".encode()
        notes += f"N :{2 * number + 1} :{2 * number + 2}\n".encode()
        marks += 1
    stream += b"commit refs/notes/cs/decisions\ncommitter T <t@e> 1767225600 +0000\ndata 2\nx\n"
    # What stood there before stays.
    proc.run(
        "git", "-C", repository, "fast-import", "--quiet", "--force", stdin=bytes(stream + notes)
    )
    return marks


def listed_by_git(repository: Path, namespace: str = "decisions") -> int:
    """Count the annotated objects as git's own notes command does."""
    said = proc.run("git", "-C", repository, "notes", f"--ref=refs/notes/cs/{namespace}", "list")
    return said.stdout.count(b"\n")
